"""A person adds questions in JupyterLab: from a passage, with a mouse that cuts words, and from documents alone."""

import pytest

from tests.api.widgets.labeller.test_browser import saved, select, workplace
from tests.lab_browser import write_notebook
from workbench.people.labelling.label_file import LabelFile

__all__ = ["workplace"]
pytestmark = pytest.mark.browser


def test_a_question_is_added_from_a_passage_kept_while_it_is_typed_and_removed(start_lab, open_notebook, workplace) -> None:
    notebook = open_notebook(start_lab(workplace), "label.ipynb")
    notebook.run_all()
    page, field = notebook.page, notebook.page.get_by_label("New question", exact=True).locator("textarea")
    page.wait_for_selector(".wbl-document")
    page.locator(".wbl-document", has_text="harbour").first.click()
    page.wait_for_function("document.querySelector('.wbl-title').textContent.startsWith('harbour')")
    select(page, "arbour master sells tick")
    page.keyboard.press("q")
    assert "arbour master sells tick" in page.inner_text(".wbl-adding")
    page.keyboard.type("Who sells tickets?")
    notebook.screenshot("labeller-adding")
    assert notebook.serious() == []
    page.get_by_role("button", name="Next", exact=True).click()
    page.wait_for_function("document.querySelector('.wbl').textContent.includes('q2. Why now')")
    assert field.input_value() == "Who sells tickets?"
    field.focus()
    page.keyboard.press("Enter")
    saved(page, "Added as question a-")
    question, mark = LabelFile(workplace / "labels.jsonl").actions
    assert (question.kind, question.value) == ("question", "Who sells tickets?")
    assert (mark.text, mark.query_id) == ("harbour master sells tickets", question.query_id)
    assert page.inner_text(".wbl-asked") == "Who sells tickets?"
    assert page.inner_text(".wbl-pane mark") == "harbour master sells tickets"
    assert page.locator(".wbl-adding").is_hidden()
    notebook.screenshot("labeller-added")
    assert notebook.serious() == []
    page.keyboard.press("q")
    page.keyboard.press("Enter")
    saved(page, "Not saved: the question is empty")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Remove this question").click()
    saved(page, f"Removed: question {question.query_id}")
    page.keyboard.press("u")
    saved(page, f"Undone: adding question {question.query_id}")
    assert page.inner_text(".wbl-asked") == "Who sells tickets?"
    assert notebook.traffic.complaints == []


def test_documents_without_questions_are_labelled_by_their_passages(start_lab, open_notebook, workplace) -> None:
    rows = [{"doc_id": path.stem, "text": path.read_text("utf-8")} for path in sorted((workplace / "data" / "documents").iterdir())]
    documents = f"tuple(wb.Document(row['doc_id'], row['text']) for row in {rows!r})"
    call = f"labeller = wb.label(wb.Dataset('sea', {documents}, (), (), ()), annotator='ann', file='labels.jsonl')\nlabeller"
    write_notebook(workplace / "bare.ipynb", "name = 1", "import workbench as wb", call)
    notebook = open_notebook(start_lab(workplace), "bare.ipynb")
    notebook.run_all()
    page = notebook.page
    page.get_by_text("There is no question yet").wait_for()
    page.locator(".wbl-document", has_text="harbour").first.click()
    page.wait_for_function("document.querySelector('.wbl-title').textContent.startsWith('harbour')")
    page.locator(".wbl-document", has_text="bread").first.click()
    page.wait_for_function("document.querySelector('.wbl-title').textContent.startsWith('bread')")
    notebook.screenshot("labeller-no-question")
    select(page, "fourteen hours")
    page.get_by_role("button", name="Add a question (q)").click()
    page.keyboard.type("How long does the dough rest?")
    page.get_by_role("button", name="Add (Enter)").click()
    saved(page, "Added as question a-")
    assert page.inner_text(".wbl-asked") == "How long does the dough rest?"
    assert [action.kind for action in LabelFile(workplace / "labels.jsonl").actions] == ["question", "span"]
    assert notebook.serious() == []
    assert notebook.traffic.complaints == []
