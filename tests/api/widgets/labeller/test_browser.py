"""A person labels in JupyterLab: judgements, a mark by mouse and one by keyboard, undo, and a reload that finds everything."""

import getpass
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from tests.lab_browser import write_notebook
from workbench.people.labelling.label_file import LabelFile

pytestmark = pytest.mark.browser

# Beyond the basic plane, composed of two code points, and hostile.
FERRY = "🚢⛴️ The ferry to Å̱land costs nine euros. <b>Bold</b> claims & 🧑‍🚀 astronauts travel free.\n\nIt leaves at seven, and at eight on Sundays."
PAGES = {
    "ferry": FERRY,
    "ferry-old": "The old ferry cost five euros and left at six. It no longer runs.",
    "harbour": "The harbour master sells tickets for the ferry. <img src=x onerror='window.hacked = 1'>",
    "bread": "Let the dough rest for fourteen hours in a cool cellar.",
}


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A working directory with a notebook that labels two questions."""
    (tmp_path / "data" / "documents").mkdir(parents=True)
    for name, text in PAGES.items():
        (tmp_path / "data" / "documents" / f"{name}.md").write_text(text, "utf-8")
    rows = [
        {"query_id": "q1", "query": "What does the ferry cost?", "synthetic": True, "accepted_by": "", "provenance": {}},
        {"query_id": "q2", "query": "How long does the dough rest?"},
    ]
    (tmp_path / "data" / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    write_notebook(tmp_path / "label.ipynb", "name = 1", "import workbench as wb", CALL)
    return tmp_path


CALL = "labeller = wb.label(wb.load_dataset('data', unlabelled=True), annotator='ann', file='labels.jsonl')\nlabeller"


def labels(folder: Path) -> list[tuple[str, str, object]]:
    return [(action.kind, action.doc_id or action.query_id, action.value) for action in LabelFile(folder / "labels.jsonl").actions]


def open_document(page, name: str) -> None:
    page.locator(".wbl-document", has_text=name).filter(has_text=name).first.click()
    page.wait_for_function("name => document.querySelector('.wbl-title')?.textContent.startsWith(name + ' ')", arg=name)


def saved(page, text: str) -> None:
    page.wait_for_function("text => document.querySelector('.wbl-status')?.textContent.includes(text)", arg=text, timeout=20_000)


def select(page, words: str) -> None:
    """Drag the mouse over words of the text, as a person does."""
    place = """words => {
        const walker = document.createTreeWalker(document.querySelector(".wbl-pane"), NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            const at = walker.currentNode.data.indexOf(words);
            if (at < 0) continue;
            const range = document.createRange();
            range.setStart(walker.currentNode, at);
            range.setEnd(walker.currentNode, at + words.length);
            range.startContainer.parentElement.scrollIntoView({ block: "center" });
            const boxes = [...range.getClientRects()];
            const [first, last] = [boxes[0], boxes[boxes.length - 1]];
            return [first.left + 0.5, first.top + first.height / 2, last.right - 0.5, last.top + last.height / 2];
        }
    }"""
    left, top, right, bottom = page.evaluate(place, words)
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move((left + right) / 2, (top + bottom) / 2, steps=4)
    page.mouse.move(right, bottom, steps=4)
    page.mouse.up()


def test_three_documents_a_mark_by_mouse_an_undo_and_a_reload(start_lab, open_notebook, workplace):
    notebook = open_notebook(start_lab(workplace), "label.ipynb")
    notebook.run_all()
    page = notebook.page
    page.wait_for_selector(".wbl-document")
    notebook.show_cell(2)
    assert "What does the ferry cost?" in page.inner_text(".wbl-asked")
    open_document(page, "ferry")
    notebook.screenshot("labeller-opened")
    page.get_by_role("button", name="relevant (2)", exact=True).click()
    saved(page, "1 label of ann")
    select(page, "Å̱land costs nine euros. <b>Bold</b> claims & 🧑‍🚀 astronauts")
    page.keyboard.press("e")
    saved(page, "2 labels of ann")
    notebook.screenshot("labeller-marked")
    mark = LabelFile(workplace / "labels.jsonl").actions[-1]
    assert mark.text == "Å̱land costs nine euros. <b>Bold</b> claims & 🧑‍🚀 astronauts" == FERRY[mark.start : mark.end]
    open_document(page, "ferry-old")
    page.locator(".wbl-pane").focus()
    page.keyboard.press("0")
    saved(page, "3 labels of ann")
    open_document(page, "harbour")
    page.locator(".wbl-pane").focus()
    page.keyboard.press("1")
    saved(page, "4 labels of ann")
    page.keyboard.press("x")
    saved(page, "Saved: 4 labels of ann")
    page.wait_for_selector("[data-key='document-harbour'] >> text=misleading")
    page.keyboard.press("u")
    saved(page, "Undone: relevance of question q1")
    expected = [("relevance", "ferry", 2), ("span", "ferry", 1), ("relevance", "ferry-old", 0), ("relevance", "harbour", 1)]
    assert labels(workplace) == [*expected, ("relevance", "harbour", -1), ("undo", "q1", None)]
    cells = len(notebook.cells())
    page.keyboard.press("d")
    page.keyboard.press("d")
    page.keyboard.press("b")
    assert len(notebook.cells()) == cells
    notebook.save()
    notebook.reload()
    notebook.show_cell(2)
    page.wait_for_selector(".wbl-document")
    found = page.locator(".wbl-document").all_inner_texts()
    assert {name for text in found for name in PAGES if text.split("\n")[0].endswith(f" {name}") and "not judged" not in text} == {
        "ferry",
        "ferry-old",
        "harbour",
    }
    assert "Å̱land costs nine euros" in page.inner_text(".wbl-evidence")
    page.get_by_role("button", name="Undo (u)").click()
    saved(page, "3 labels of ann")
    assert page.evaluate("window.hacked") is None
    assert notebook.serious() == []
    assert notebook.traffic.complaints == []


def test_evidence_is_marked_by_keyboard_and_a_new_kernel_finds_the_labels(start_lab, open_notebook, workplace):
    notebook = open_notebook(start_lab(workplace), "label.ipynb")
    notebook.run_all()
    page = notebook.page
    page.wait_for_selector(".wbl-document")
    notebook.show_cell(2)
    open_document(page, "ferry")
    page.locator(".wbl-pane").focus()
    page.keyboard.press("ArrowRight")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("e")
    saved(page, "1 label of ann")
    (mark,) = LabelFile(workplace / "labels.jsonl").actions
    assert mark.text == "ferry to Å̱land costs" == FERRY[mark.start : mark.end]
    page.keyboard.press("y")
    saved(page, "2 labels of ann")
    page.locator(".wbl-answer textarea").fill("Nine euros 💶")
    page.get_by_role("button", name="Save answer").click()
    saved(page, "3 labels of ann")
    page.evaluate(
        "() => { window.restarted = false; void notebook.context.sessionContext.session.kernel.restart().then(() => { window.restarted = true; }); }"
    )
    page.wait_for_function("window.restarted && notebook.context.sessionContext.session.kernel.status === 'idle'", timeout=60_000)
    notebook.run_all()
    notebook.show_cell(2)
    page.wait_for_selector(".wbl-document")
    # The accepted draft is reviewed, so the labeller goes on with the next question.
    assert "dough" in page.inner_text(".wbl-asked")
    page.locator(".wbl-pane").focus()
    page.keyboard.press("p")
    page.wait_for_function("document.querySelector('.wbl-asked').textContent.includes('ferry')")
    assert page.locator(".wbl-answer textarea").input_value() == "Nine euros 💶"
    assert page.get_by_role("button", name="Accept (y)").get_attribute("aria-pressed") == "true"
    assert "ferry to Å̱land costs" in page.inner_text(".wbl-evidence")
    notebook.screenshot("labeller-new-kernel")
    assert notebook.traffic.complaints == []


@pytest.fixture
def placeholders(tmp_path: Path) -> Path:
    """A working directory with an experiment on three files, whose questions nobody has written."""
    guide = tmp_path / "guide" / "notes"
    guide.mkdir(parents=True)
    for name, thing in (("openssl-engines-and-providers", "engine"), ("heat-pumps", "pump"), ("cargo-bikes", "bike")):
        text = f"# About the {thing}\n\n## Lending a {thing}\n\nMembers can borrow a {thing} for up to three days. A deposit of 80 euros is paid for every {thing}.\n"
        (guide / f"{name}.md").write_text(text, "utf-8")
    command = [str(Path(sys.executable).parent / "workbench"), "init", "guide"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr
    return tmp_path


@pytest.fixture
def drafts(placeholders: Path) -> Path:
    """The same experiment with questions that a model has drafted."""
    file = placeholders / "experiments" / "guide" / "questions.jsonl"
    file.write_text(file.read_text("utf-8").replace('{"part": "placeholder"}', '{"model": "qwen3-4b"}'), "utf-8")
    return placeholders


def rewriting(page):
    return page.get_by_label("Question in your words")


def test_a_draft_is_rewritten_by_keyboard_undone_and_found_after_a_reload(start_lab, open_notebook, drafts):
    lab = start_lab(drafts, "experiments/guide.yaml", "--notebook", "label")
    notebook = open_notebook(lab, "notebooks/label-guide.ipynb")
    notebook.run_all()
    page, pane = notebook.page, notebook.page.locator(".wbl-pane")
    place = next(number for number, cell in enumerate(notebook.cells()) if "wb.label(" in cell.source)
    notebook.show_cell(place)
    page.wait_for_selector(".wbl-document")
    total = int(page.locator(".wbl-head input").get_attribute("max"))
    assert f"0 of {total} drafts reviewed; this one is to review, 1 of 3 documents judged (optional)" in page.inner_text(".wbl-head")
    assert f"labels of {getpass.getuser()} in labels/guide.jsonl" in page.inner_text(".wbl-head")
    assert "is a draft (qwen3-4b); nobody has accepted it." in page.inner_text(".wbl-synthetic")
    assert "in the dataset: relevant" in page.locator(".wbl-document[aria-current]").inner_text()
    assert page.locator(".wbl-pane mark").count() == 1
    notebook.screenshot("labeller-draft")
    before = page.inner_text(".wbl-asked")
    pane.focus()
    page.keyboard.press("w")
    assert rewriting(page).input_value() == before
    page.keyboard.press("Enter")
    saved(page, "Not saved: the question already has this text; change it, or accept it as it is")
    page.keyboard.type("yn? Was <b>kostet</b> es 🚲")
    notebook.screenshot("labeller-rewriting")
    page.keyboard.press("Enter")
    saved(page, "1 label of")
    assert page.inner_text(".wbl-asked") == "yn? Was <b>kostet</b> es 🚲"
    assert before in page.inner_text(".wbl-original")
    assert "is a draft (qwen3-4b); you have rewritten it." in page.inner_text(".wbl-synthetic")
    assert f"1 of {total} drafts reviewed; this one is accepted" in page.inner_text(".wbl-head")
    (action,) = LabelFile(drafts / "labels" / "guide.jsonl").actions
    assert (action.kind, action.by, action.value) == ("rewrite", getpass.getuser(), "yn? Was <b>kostet</b> es 🚲")
    assert page.evaluate("document.activeElement.dataset.key") == "pane"
    page.keyboard.press("u")
    saved(page, "Undone: rewrite")
    assert page.inner_text(".wbl-asked") == before
    page.get_by_role("button", name="Rewrite (w)").click()
    rewriting(page).fill("given up")
    page.keyboard.press("Escape")
    assert page.inner_text(".wbl-asked") == before
    page.get_by_role("button", name="Rewrite (w)").click()
    rewriting(page).fill("How dear is it?")
    page.get_by_role("button", name="Save (Enter)").click()
    saved(page, "1 label of")
    page.keyboard.press("2")
    saved(page, "2 labels of")
    assert "relevant, confirmed" in page.locator(".wbl-document[aria-current]").inner_text()
    notebook.screenshot("labeller-rewritten")
    notebook.save()
    notebook.reload()
    notebook.show_cell(place)
    page.wait_for_selector(".wbl-document")
    assert page.inner_text(".wbl-asked") == "How dear is it?"
    assert [action.kind for action in LabelFile(drafts / "labels" / "guide.jsonl").actions] == ["rewrite", "undo", "rewrite", "relevance"]
    assert notebook.serious() == []
    assert notebook.traffic.complaints == []


def test_the_question_that_a_passage_answers_is_written_in_place_of_its_heading(start_lab, open_notebook, placeholders):
    notebook = open_notebook(start_lab(placeholders, "experiments/guide.yaml", "--notebook", "label"), "notebooks/label-guide.ipynb")
    notebook.run_all()
    page = notebook.page
    place = next(number for number, cell in enumerate(notebook.cells()) if "wb.label(" in cell.source)
    notebook.show_cell(place)
    page.wait_for_selector(".wbl-document")
    heading = page.inner_text(".wbl-asked")
    assert re.fullmatch(r"About the (\w+): Lending a \1", heading)
    assert "A heading is in place of the question. Write the question that the marked passage answers" in page.inner_text(".wbl-synthetic")
    passage = page.locator(".wbl-pane mark").inner_text()
    assert passage.startswith("Members can borrow")
    notebook.screenshot("labeller-placeholder")
    page.get_by_role("button", name="Write the question (w)").click()
    assert rewriting(page).input_value() == ""
    page.keyboard.type("How long may I keep it?")
    notebook.screenshot("labeller-writing")
    page.keyboard.press("Enter")
    saved(page, "1 label of")
    assert page.inner_text(".wbl-asked") == "How long may I keep it?"
    dataset = wb.load_dataset(placeholders / "experiments" / "guide")
    applied = wb.apply_labels(dataset, placeholders / "labels" / "guide.jsonl").dataset
    (query,), (need,) = applied.queries, applied.needs
    (span,) = need.alternatives
    text = next(document.text for document in dataset.documents if document.doc_id == span.doc_id)
    assert (query.text, query.accepted_by) == ("How long may I keep it?", getpass.getuser())
    assert text[span.start : span.end] == passage
    assert notebook.serious() == []
    assert notebook.traffic.complaints == []


def test_a_saved_notebook_shows_the_labels_without_a_kernel(start_lab, open_notebook, workplace):
    notebook = open_notebook(start_lab(workplace), "label.ipynb")
    notebook.run_all()
    page = notebook.page
    notebook.show_cell(2)
    page.wait_for_selector(".wbl-document")
    open_document(page, "ferry")
    page.locator(".wbl-pane").focus()
    page.keyboard.press("2")
    saved(page, "1 label of ann")
    assert not page.get_by_text("1 label in labels.jsonl").is_visible()
    page.wait_for_function("JSON.stringify(notebook.content.model.toJSON()).includes('1 label in labels.jsonl')")
    notebook.save()
    page.goto("about:blank")
    notebook.lab.end_kernel("label.ipynb")
    other = open_notebook(notebook.lab, "label.ipynb")
    other.show_cell(2)
    other.screenshot("labeller-without-kernel")
    other.page.get_by_text("1 label in labels.jsonl").wait_for(timeout=20_000)
    assert "Loading widget" not in other.page.inner_text(".jp-Notebook")


def test_the_dark_theme_is_readable(start_lab, open_notebook, workplace):
    notebook = open_notebook(start_lab(workplace), "label.ipynb")
    notebook.page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })")
    notebook.run_all()
    notebook.show_cell(2)
    notebook.page.wait_for_selector(".wbl-document")
    open_document(notebook.page, "ferry")
    select(notebook.page, "nine euros")
    notebook.page.keyboard.press("e")
    saved(notebook.page, "1 label of ann")
    notebook.screenshot("labeller-dark")
    assert notebook.serious() == []


def test_the_list_stays_at_the_judged_document_in_a_narrow_window(start_lab, open_notebook, workplace):
    for number in range(40):
        (workplace / "data" / "documents" / f"ferry-timetable-{number:02d}.md").write_text(
            f"The ferry of pier {number} does cost.", "utf-8"
        )
    write_notebook(workplace / "label.ipynb", "import workbench as wb", CALL.replace("annotator", "k=40, annotator"))
    notebook = open_notebook(start_lab(workplace), "label.ipynb", width=800, height=1400)
    notebook.page.evaluate("jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })")
    notebook.run_all()
    notebook.show_cell(1)
    page = notebook.page
    page.wait_for_selector(".wbl-document")
    page.locator(".wbl-document").nth(30).click()
    page.wait_for_function("document.querySelectorAll('.wbl-document')[30].hasAttribute('aria-current')")
    page.keyboard.press("1")
    saved(page, "1 label of ann")
    list_, current = (page.locator(name).first.bounding_box() for name in (".wbl-documents ol", ".wbl-document[aria-current]"))
    assert list_["y"] <= current["y"]
    assert current["y"] + current["height"] <= list_["y"] + list_["height"] + 1
    page.keyboard.press("0")
    page.wait_for_function("document.querySelectorAll('.wbl-document')[31].hasAttribute('aria-current')")
    assert page.locator(".wbl-documents ol").evaluate("list => list.scrollTop") > 0
    assert page.locator(".wbl-reader").bounding_box()["y"] > list_["y"] + list_["height"]
    notebook.screenshot("labeller-many-narrow")
    page.locator(".wbl-document").nth(30).click()
    page.wait_for_function("document.querySelector('[aria-pressed=true]') !== null")
    assert notebook.serious() == []
    assert notebook.traffic.complaints == []
