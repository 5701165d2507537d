"""What a person can lose in JupyterLab: typed text, the place in the text, and the kernel."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.lab_browser import NotebookPage, write_notebook
from workbench.people.labelling.label_file import LabelFile

pytestmark = pytest.mark.browser

FILLER = "".join(f"Pier {number} has a bench. Nobody sits on it in winter.\n\n" for number in range(60))
# A heading without a full stop ends like a sentence.
FERRY = f"{FILLER}## The price\n\nThe ferry costs nine euros. Children travel free.\n\n{FILLER}"
CALL = "labeller = wb.label(wb.load_dataset('data', unlabelled=True), annotator='ann', file='labels.jsonl')\nlabeller"
EVIDENCE = "The ferry costs nine euros."


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A working directory with a notebook that labels two drafts, whose evidence is far down in a long document."""
    (tmp_path / "data").mkdir()
    documents = [{"doc_id": "ferry", "title": "Ferry", "text": FERRY}, {"doc_id": "bread", "title": "Bread", "text": "Rest the dough."}]
    start = FERRY.index(EVIDENCE)
    evidence = [[{"doc_id": "ferry", "start": start, "end": start + len(EVIDENCE)}]]
    rows = [
        {"query_id": f"q{number}", "query": text, "relevant_doc_ids": ["ferry"], "evidence": evidence, "synthetic": True, "accepted_by": ""}
        for number, text in enumerate(("What does the ferry cost?", "Who travels free?"), 1)
    ]
    (tmp_path / "data" / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents), "utf-8")
    (tmp_path / "data" / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    write_notebook(tmp_path / "label.ipynb", "name = 1", "import workbench as wb", CALL)
    return tmp_path


@pytest.fixture
def notebook(start_lab, open_notebook, workplace) -> NotebookPage:
    opened = open_notebook(start_lab(workplace), "label.ipynb", width=1366)
    opened.run_all()
    opened.show_cell(2)
    opened.page.wait_for_selector(".wbl-document")
    return opened


def shown(page, question: str) -> None:
    page.wait_for_function("text => document.querySelector('.wbl').textContent.includes(text)", arg=f"{question}. Why now")


def said(page, text: str, seconds: int = 20) -> None:
    page.wait_for_function("text => document.querySelector('.wbl-status')?.textContent.includes(text)", arg=text, timeout=seconds * 1000)


def turn(page, name: str, question: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()
    shown(page, question)


def test_typed_text_is_kept_for_its_question_until_it_is_saved_also_after_a_reload(notebook, workplace) -> None:
    page = notebook.page
    field, rewrite = page.locator(".wbl-answer textarea"), page.get_by_label("Question in your words")
    field.press_sequentially("Nine euros")
    assert "not saved yet" in page.inner_text(".wbl-answer")
    page.locator(".wbl-pane").focus()
    page.keyboard.press("w")
    rewrite.press_sequentially("How dear?")
    assert "not saved yet" in page.inner_text(".wbl-question")
    notebook.screenshot("labeller-unsaved")
    turn(page, "Next", "q2")
    assert field.input_value() == ""
    assert page.get_by_role("button", name="Rewrite (w)").count() == 1
    assert rewrite.count() == 0
    assert "Not saved yet: text that you typed for q1." in page.inner_text(".wbl")
    turn(page, "Previous", "q1")
    assert (field.input_value(), rewrite.input_value()) == ("Nine euros", "How dear?")
    notebook.save()
    notebook.reload()
    notebook.show_cell(2)
    page.wait_for_selector(".wbl-document")
    assert (field.input_value(), rewrite.input_value()) == ("Nine euros", "How dear?")
    page.get_by_role("button", name="Save answer").click()
    said(page, "1 label of ann")
    assert "not saved yet" not in page.inner_text(".wbl-answer")
    rewrite.press("Enter")
    said(page, "2 labels of ann")
    assert page.inner_text(".wbl-asked") == "How dear?"
    assert "not saved yet" not in page.inner_text(".wbl")
    field.fill("Ten")
    assert "not saved yet; saved: Nine euros" in page.inner_text(".wbl-answer")
    page.get_by_role("button", name="Discard").click()
    assert field.input_value() == "Nine euros"
    assert [action.value for action in LabelFile(workplace / "labels.jsonl").actions] == ["Nine euros", "How dear?"]
    assert notebook.serious() == []


def evidence_in_view(page) -> bool:
    return page.evaluate(
        """() => {
            const [pane, mark] = [".wbl-pane", ".wbl-pane mark"].map((name) => document.querySelector(name).getBoundingClientRect());
            return mark.top >= pane.top && mark.bottom <= pane.bottom;
        }"""
    )


def test_the_evidence_is_in_view_when_the_labeller_opens_and_after_a_reload(notebook) -> None:
    page = notebook.page
    assert evidence_in_view(page)
    notebook.save()
    notebook.reload()
    notebook.show_cell(2)
    page.wait_for_selector(".wbl-document")
    page.wait_for_function("document.querySelector('.wbl-pane').scrollTop > 0")
    assert evidence_in_view(page)


def selection(page) -> str:
    return page.evaluate("document.getSelection().toString()")


def test_the_keyboard_begins_at_what_is_in_view_and_takes_whole_sentences(notebook, workplace) -> None:
    page = notebook.page
    page.locator(".wbl-pane").focus()
    page.keyboard.press("ArrowDown")
    assert selection(page) == "The"
    assert evidence_in_view(page)
    page.keyboard.press("Shift+ArrowDown")
    assert selection(page) == EVIDENCE
    page.keyboard.press("Shift+ArrowDown")
    assert selection(page) == f"{EVIDENCE} Children travel free."
    page.keyboard.press("Shift+ArrowUp")
    assert selection(page) == EVIDENCE
    page.keyboard.press("ArrowDown")
    assert selection(page) == "Children"
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("e")
    said(page, '"Children travel free."')
    assert LabelFile(workplace / "labels.jsonl").actions[-1].text == "Children travel free."
    page.keyboard.press("Shift+ArrowDown")
    assert selection(page) == "Pier 0 has a bench."
    page.locator(".wbl-pane").evaluate("pane => { pane.scrollTop = 0; }")
    page.get_by_role("button", name="Next", exact=True).click()
    shown(page, "q2")
    first = page.locator(".wbl-piece").first.inner_text().split(".")[0] + "."
    page.locator(".wbl-pane").evaluate("pane => { pane.scrollTop = pane.scrollHeight; }")
    page.locator(".wbl-pane").focus()
    page.keyboard.press("Shift+ArrowDown")
    # A whole sentence of what is in view, and not the first of the text.
    assert selection(page) in FERRY
    assert selection(page).endswith((" has a bench.", " in winter."))
    assert selection(page) != first
    assert page.locator(".wbl-pane").evaluate("pane => pane.scrollTop > 0")


def test_a_restarted_kernel_is_said_at_once_and_a_silent_one_after_a_while(notebook, workplace) -> None:
    page = notebook.page
    # A kernel that runs a cell can still answer, in a thread (a subshell). A process that is stopped cannot.
    code = "import os; open('kernel.pid', 'w').write(str(os.getpid()))"
    page.evaluate("code => notebook.context.sessionContext.session.kernel.requestExecute({ code }).done", code)
    kernel = int((workplace / "kernel.pid").read_text())
    page.locator(".wbl-pane").focus()
    os.kill(kernel, signal.SIGSTOP)
    try:
        page.keyboard.press("2")
        said(page, "Saving…")
        said(page, "Not saved yet: the kernel does not answer.")
    finally:
        os.kill(kernel, signal.SIGCONT)
    said(page, "Saved: 1 label of ann.")
    page.evaluate(
        "() => { window.restarted = false; void notebook.context.sessionContext.session.kernel.restart().then(() => { window.restarted = true; }); }"
    )
    page.wait_for_function("window.restarted && notebook.context.sessionContext.session.kernel.status === 'idle'", timeout=60_000)
    said(page, "Not connected to the kernel, so nothing is saved: run the cell again.")
    page.keyboard.press("0")
    said(page, "Not connected to the kernel, so nothing is saved: run the cell again.", 1)
    notebook.screenshot("labeller-restarted")


def test_the_parts_of_a_long_document_stay_on_one_line(start_lab, open_notebook, workplace) -> None:
    path = workplace / "data" / "documents.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows[0]["text"] += FILLER * 1000
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    notebook = open_notebook(start_lab(workplace), "label.ipynb", width=1366)
    notebook.run_all()
    notebook.show_cell(2)
    page = notebook.page
    page.get_by_role("button", name="Whole document (d)").click()
    page.wait_for_selector("text=part 1 of")
    notebook.screenshot("labeller-parts")
    places = page.locator(".wbl-reader").evaluate(
        """reader => ["[data-key=back]", "[data-key=on]"].map((name) => reader.querySelector(name).getBoundingClientRect().top)"""
    )
    assert places[0] == places[1]
