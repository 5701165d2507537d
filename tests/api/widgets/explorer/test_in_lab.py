"""The explorer in a real JupyterLab: a person types, picks and switches, saves, and opens the notebook again."""

import shutil
from pathlib import Path

import nbformat
import pytest

pytestmark = pytest.mark.browser
NOTEBOOK = Path(__file__).parents[4] / "notebooks" / "explore.ipynb"
WIDGET = "application/vnd.jupyter.widget-view+json"
# What is visible of the explorer's two outputs.
SEEN = """() => [...document.querySelectorAll(".jp-OutputArea-output")]
    .filter((output) => output.checkVisibility()).map((output) => output.innerText).join("\\n")"""
WAIT = 240_000


@pytest.fixture(scope="module")
def root(few, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(few.run.workspace.outputs, folder / "outputs")
    (folder / "notebooks").mkdir()
    (folder / "notebooks" / "explore.ipynb").write_text(NOTEBOOK.read_text("utf-8").replace("outputs/quickstart", "outputs/few"), "utf-8")
    return folder


@pytest.fixture
def opened(start_lab, open_notebook, root):
    """The explorer in light colours at 1280 pixels or in dark ones at 800."""

    def open_explorer(path="notebooks/explore.ipynb", **settings):
        notebook = open_notebook(start_lab(root), path, **settings)
        notebook.page.evaluate("jupyterapp.commands.execute('application:toggle-left-area')")
        return notebook

    return open_explorer


@pytest.mark.parametrize(("theme", "width"), [("JupyterLab Light", 1280), ("JupyterLab Dark", 800)])
def test_a_person_types_switches_and_asks_by_keyboard(opened, theme, width):
    notebook = opened(width=width, height=1100)
    page = notebook.page
    page.evaluate("(theme) => jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    notebook.run_all()
    notebook.show_cell(4)
    question = page.get_by_label("Question", exact=True)
    question.focus(timeout=WAIT)
    page.keyboard.type("leave")
    page.get_by_text(" of 9 questions").wait_for(timeout=WAIT)
    page.keyboard.press("Tab")
    page.get_by_label("Second").focus()
    page.keyboard.press("End")
    page.get_by_text("Second: hierarchical-64-256").wait_for(timeout=WAIT)
    notebook.screenshot(f"explorer-{width}")
    cut_off = page.evaluate(
        "() => [...document.querySelectorAll('.jp-OutputArea .widget-html-content')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert cut_off == 0
    question.focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("who pays for the taxi?")
    page.keyboard.press("Enter")
    page.get_by_text("asked both configurations: who pays for the taxi?").wait_for(timeout=WAIT)
    notebook.screenshot(f"explorer-asked-{width}")
    assert notebook.traffic.complaints == []


def test_a_saved_explorer_is_a_static_table_without_a_kernel_and_in_an_untrusted_copy(opened, root):
    notebook = opened(width=1280, height=1100)
    notebook.run_all()
    notebook.show_cell(4)
    notebook.page.get_by_label("Questions").wait_for(timeout=WAIT)
    assert notebook.page.evaluate(SEEN).count("Both configurations") == 0
    notebook.page.get_by_label("Second").select_option("hierarchical-64-256")
    notebook.page.get_by_text("Second: hierarchical-64-256").wait_for(timeout=WAIT)
    saved = nbformat.read(notebook.save(), as_version=4)
    view, table = [output for cell in saved.cells if "wb.explore" in cell.source for output in cell.outputs]
    assert (set(view.data), view.data["text/html"]) == ({WIDGET, "text/html", "text/plain"}, "")
    assert "hierarchical-64-256" in table.data["text/html"]
    assert "widgets" not in saved.metadata
    notebook.close()
    for output in (view, table):
        output.metadata["changed"] = True
    nbformat.write(saved, root / "notebooks" / "copy.ipynb")
    for path, trusted in (("notebooks/explore.ipynb", True), ("notebooks/copy.ipynb", False)):
        again = opened(path, width=1280, height=1100)
        again.page.evaluate("window.notebook.context.sessionContext.shutdown()")
        again.show_cell(4)
        again.page.get_by_text("Both configurations", exact=True).wait_for(timeout=WAIT)
        assert again.page.evaluate("notebook.content.widgets[4].model.trusted") is trusted
        shown = again.page.evaluate(SEEN)
        assert shown.count("Both configurations") == 1
        assert "rank 1" in shown
        assert "Loading widget" not in shown
        assert "Error displaying widget" not in shown
        again.screenshot(f"explorer-saved-{'trusted' if trusted else 'untrusted'}")
