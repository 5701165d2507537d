"""Keys of the labeller in JupyterLab: after a click anywhere they label, and the notebook gets none of them. It is in view after Run All."""

import json

import pytest

from tests.api.widgets.labeller.test_browser import CALL, labels, select, workplace
from tests.lab_browser import write_notebook
from workbench.people.labelling.label_file import LabelFile

__all__ = ["workplace"]
pytestmark = pytest.mark.browser

# Texts that no control contains, from the first to the last line of the labeller.
TEXTS = (".wbl-asked", ".wbl-reason", ".wbl-progress", ".wbl-title", ".wbl-piece", ".wbl-status", ".wbl-evidence h4", ".wbl-foot .wbl-note")
# What cuts, moves, copies, runs, splits, merges and inserts cells.
HARMFUL = [
    "x",
    "d",
    "d",
    "c",
    "v",
    "a",
    "b",
    "m",
    "z",
    "Enter",
    "Shift+Enter",
    "Control+Enter",
    "Alt+Enter",
    "Control+a",
    "Control+Shift+ArrowDown",
    "Control+Backspace",
    "Shift+M",
    "Escape",
]


@pytest.fixture
def notebook(start_lab, open_notebook, workplace):
    """A notebook in which cells follow the labeller, the last of them after two seconds and longer than the window."""
    rest = ["1", "import time\ntime.sleep(2)\nprint('line\\n' * 300)"]
    write_notebook(workplace / "label.ipynb", "name = 1", "import workbench as wb", CALL, *rest)
    opened = open_notebook(start_lab(workplace), "label.ipynb", permissions=["clipboard-read", "clipboard-write"])
    opened.run_all()
    opened.page.wait_for_selector(".wbl-document")
    return opened


def sources(notebook) -> list[tuple[str, str, int | None]]:
    return [(cell.cell_type, cell.source, cell.get("execution_count")) for cell in notebook.cells()]


def test_run_all_ends_with_the_labeller_in_view(notebook) -> None:
    page = notebook.page
    page.wait_for_timeout(1500)
    notebook.screenshot("labeller-after-run-all")
    inside = """() => {
        const [frame, box] = [".jp-WindowedPanel-outer", ".wbl"].map((name) => document.querySelector(name).getBoundingClientRect());
        return [box.top - frame.top, Math.min(frame.bottom, frame.top + box.height) - Math.min(box.bottom, frame.bottom)];
    }"""
    above, below = page.evaluate(inside)
    assert above >= -1
    assert below <= 1
    # Afterwards the notebook scrolls as ever, also to other cells.
    notebook.show_cell(4)
    page.wait_for_function("document.querySelector('.wbl').getBoundingClientRect().top < 0")


def test_after_a_click_on_any_text_keys_label_and_the_notebook_gets_none_of_them(notebook, workplace) -> None:
    page, before = notebook.page, sources(notebook)
    for number, text in enumerate(TEXTS, 1):
        page.locator(text).first.click()
        assert page.evaluate("document.querySelector('.wbl').contains(document.activeElement)"), text
        for key in HARMFUL:
            page.keyboard.press(key)
        page.keyboard.press("y")
        page.wait_for_timeout(500)
        assert [kind for kind, _, _ in labels(workplace)].count("acceptance") == number, text
    assert sources(notebook) == before
    assert LabelFile(workplace / "labels.jsonl").damaged == ()
    assert notebook.traffic.complaints == []


def test_a_selection_is_copied_and_the_notebook_is_saved(notebook, workplace) -> None:
    page, before = notebook.page, sources(notebook)
    page.locator(".wbl-find input").fill("bread")
    page.locator(".wbl-find input").press("Enter")
    page.locator(".wbl-found button").first.click()
    page.wait_for_function("document.querySelector('.wbl-title').textContent.startsWith('bread')")
    select(page, "fourteen hours")
    page.keyboard.press("Control+c")
    assert page.evaluate("navigator.clipboard.readText()") == "fourteen hours"
    # A click on a button of the text must keep the selection, and still give the labeller the focus.
    page.evaluate("document.activeElement.blur()")
    page.get_by_role("button", name="Mark as evidence (e)").click()
    page.wait_for_function("document.querySelector('.wbl-status').textContent.includes('Marked \"fourteen hours\"')")
    page.keyboard.press("x")
    page.wait_for_function("document.querySelector('.wbl-status').textContent.includes('Saved: 2 labels')")
    page.keyboard.press("Control+s")
    page.wait_for_function("!notebook.context.model.dirty")
    assert json.loads((workplace / "label.ipynb").read_text("utf-8"))["cells"][2]["outputs"] != []
    assert sources(notebook) == before
