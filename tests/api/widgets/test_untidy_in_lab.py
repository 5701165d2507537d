"""The displays in JupyterLab with long names in a narrow window, by keyboard."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab_browser import write_notebook
from tests.made_runs import Made
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import experiment_of

pytestmark = pytest.mark.browser

LONG = "paraphrase-multilingual-mpnet-base-v2-fixed-chunks-with-title-and-headings-n{:05d}"
DOCUMENT = "a-very-long-folder-name-for-regulations/of-the-year-two-thousand-and-twenty-five/use-of-harbour-cranes"
WAIT = 60_000
# Menus and captions of which a part is outside of the window or of what scrolls.
CUT_OFF = """() => [...document.querySelectorAll(".jp-OutputArea-output :is(select, caption, .widget-box)")].filter((part) => {
    const box = part.getBoundingClientRect(), output = part.closest(".jp-OutputArea-output").getBoundingClientRect();
    const scrolls = part.classList.contains("widget-box") && part.scrollWidth > part.clientWidth + 1;
    return part.checkVisibility() && (box.right > output.right + 1 || scrolls);
}).map((part) => `${part.className} ${Math.round(part.getBoundingClientRect().right)} ${part.scrollWidth}>${part.clientWidth} ${part.textContent.slice(0, 40)}`)"""


@pytest.fixture(scope="module")
def results(made: Made) -> Path:
    experiment = experiment_of(made.experiment(3, documents=2, name="long-names"), "here")
    named = tuple(replace(each, name=LONG.format(number)) for number, each in enumerate(experiment.configurations))
    outcome = run_experiment(replace(experiment, configurations=named), made.folder / "outputs", lambda _: None)
    outcome.failures[LONG.format(3)] = "no such file or directory; " * 12
    write_outputs(outcome)
    return outcome.folder


@pytest.fixture
def root(tmp_path: Path, made: Made, results: Path) -> Path:
    """A folder with a notebook that was never saved with outputs."""
    sources = [
        f"import workbench as wb\nresults = wb.load({str(results)!r})\ndata = wb.load_dataset({str(made.data(2))!r})\n"
        f"dataset = wb.Dataset('long', (wb.Document({DOCUMENT!r}, 'The ferry leaves. ' * 50),), data.queries, (), ())",
        "wb.explore(results)",
        "wb.what_if(results)",
        "wb.try_chunking(dataset, embedding=wb.StaticEmbedder())",
    ]
    write_notebook(tmp_path / "untidy.ipynb", *sources)
    return tmp_path


def test_nothing_is_cut_off_and_keys_of_a_menu_leave_the_notebook_alone(start_lab, open_notebook, root):
    notebook = open_notebook(start_lab(root), "untidy.ipynb", width=800, height=1400)
    page = notebook.page
    page.evaluate("jupyterapp.commands.execute('application:toggle-left-area')")
    notebook.run_all()
    for cell in (2, 3, 1):
        notebook.show_cell(cell)
        page.wait_for_timeout(300)
        notebook.screenshot(f"untidy-{cell}")
        assert page.evaluate(CUT_OFF) == []
    second = page.get_by_label("Second", exact=True)
    second.focus(timeout=WAIT)
    # The names that the menu offers from the chosen one on.
    chosen = [LONG.format(number) for number in range(3)][second.evaluate("(menu) => menu.selectedIndex") :]
    for key in ("a", "b", "d", "d", "x", "ArrowDown"):
        page.keyboard.press(key)
    page.locator(".widget-html-content").get_by_text(chosen[1]).last.wait_for(timeout=WAIT)
    assert len(notebook.cells()) == 4
    assert page.evaluate("notebook.content.activeCellIndex") == 1
    assert page.evaluate("notebook.context.model.dirty")
    page.keyboard.press("Control+s")
    page.wait_for_function("!notebook.context.model.dirty", timeout=WAIT)
    assert notebook.traffic.complaints == []


def test_after_a_click_on_the_text_of_a_display_the_notebook_gets_no_key(start_lab, open_notebook, root):
    notebook = open_notebook(start_lab(root), "untidy.ipynb", width=800, height=1400)
    page = notebook.page
    notebook.run_all()
    before = [(cell.cell_type, cell.source, cell.execution_count) for cell in notebook.cells()]
    for cell, text in ((1, ".widget-html-content"), (2, "caption"), (3, ".widget-html-content")):
        notebook.show_cell(cell)
        shown = page.locator(".jp-Cell").nth(cell).locator(f".jp-OutputArea-output :is({text}):visible").first
        shown.click(timeout=WAIT, position={"x": 3, "y": 3})
        for key in ("x", "d", "d", "y", "m", "b", "Enter", "Shift+Enter", "Control+Enter", "Control+a", "Control+Shift+ArrowUp"):
            page.keyboard.press(key)
        assert [(each.cell_type, each.source, each.execution_count) for each in notebook.cells()] == before
        assert page.evaluate("notebook.content.activeCellIndex") == cell
    assert notebook.traffic.complaints == []
