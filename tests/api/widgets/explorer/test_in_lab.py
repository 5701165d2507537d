"""The explorer in a real JupyterLab: a person types, picks and switches, saves, and opens the notebook again."""

import shutil
from pathlib import Path

import nbformat
import pytest

pytestmark = pytest.mark.browser
NOTEBOOK = Path(__file__).parents[4] / "notebooks" / "work.ipynb"
WIDGET = "application/vnd.jupyter.widget-view+json"
# What is visible of the explorer's two outputs.
SEEN = """() => [...document.querySelectorAll(".jp-OutputArea-output")]
    .filter((output) => output.checkVisibility()).map((output) => output.innerText).join("\\n")"""
WAIT = 240_000
# The places of the panels among the cells.
EXPLORER, RANKING, BOUNDARIES = 4, 6, 8


@pytest.fixture(scope="module")
def root(few, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(few.run.workspace.outputs, folder / "outputs")
    (folder / "notebooks").mkdir()
    return folder


@pytest.fixture
def opened(start_lab, open_notebook, root):
    """The notebook without outputs, in light colours at 1280 pixels or in dark ones at 800."""
    # JupyterLab saves by itself what a slow test before left, whose widgets are gone.
    (root / "notebooks" / "work.ipynb").write_text(NOTEBOOK.read_text("utf-8").replace("outputs/quickstart", "outputs/few"), "utf-8")

    def open_explorer(path="notebooks/work.ipynb", **settings):
        notebook = open_notebook(start_lab(root), path, **settings)
        notebook.page.evaluate("jupyterapp.commands.execute('application:toggle-left-area')")
        return notebook

    return open_explorer


@pytest.mark.parametrize(("theme", "width"), [("JupyterLab Light", 1280), ("JupyterLab Dark", 800)])
def test_a_person_filters_switches_and_asks_by_keyboard(opened, theme, width):
    notebook = opened(width=width, height=1100)
    page = notebook.page
    page.evaluate("(theme) => jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    notebook.run_all()
    notebook.show_cell(EXPLORER)
    words = page.get_by_label("Filter", exact=True).first
    words.focus(timeout=WAIT)
    page.keyboard.type("leave")
    # The list of all questions is "9 of 9": a key pressed before the filter is applied may go to what the notebook draws anew.
    page.get_by_text("1 of 9 questions").first.wait_for(timeout=WAIT)
    page.keyboard.press("Tab")
    page.get_by_label("Second", exact=True).press("End")
    page.locator(".widget-html-content").get_by_text("Second: hierarchical 64 in 256").first.wait_for(timeout=WAIT)
    notebook.screenshot(f"explorer-{width}")
    cut_off = page.evaluate(
        "() => [...document.querySelectorAll('.jp-OutputArea .widget-html-content')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert cut_off == 0
    page.get_by_label("Ask", exact=True).focus()
    page.keyboard.type("who pays for the taxi?")
    page.keyboard.press("Enter")
    page.get_by_text("asked both configurations: who pays for the taxi?").wait_for(timeout=WAIT)
    assert words.input_value() == "leave"
    notebook.screenshot(f"explorer-asked-{width}")
    assert notebook.traffic.complaints == []


def test_all_panels_follow_what_a_person_chooses_in_one_of_them(opened):
    notebook = opened(width=1280, height=1100)
    page = notebook.page
    notebook.run_all()
    notebook.show_cell(RANKING)
    page.get_by_label("Cut", exact=True).fill("200")
    page.keyboard.press("Enter")
    page.get_by_text("span_recall@200t on all").first.wait_for(timeout=WAIT)
    notebook.screenshot("work-ranking")
    notebook.show_cell(EXPLORER)
    assert page.get_by_label("Metric", exact=True).first.locator("option:checked").inner_text() == "span_recall@200t"
    listed = page.get_by_label("Questions", exact=True)
    chosen = listed.locator("option").nth(1).inner_text().split()[1]
    listed.select_option(index=1)
    page.get_by_label("First", exact=True).select_option("hierarchical 64 in 256")
    notebook.show_cell(BOUNDARIES)
    page.get_by_text(f"Evidence of {chosen}: chunk").first.wait_for(timeout=WAIT)
    page.get_by_text("hierarchical-64-256: ").first.wait_for(timeout=WAIT)
    assert page.get_by_label("Chunking", exact=True).locator("option:checked").inner_text() == "hierarchical"
    notebook.screenshot("work-boundaries")
    # The handle of an IntSlider has no name, whatever its description: a fault of ipywidgets.
    assert {rule for rule, _ in notebook.serious()} <= {"aria-input-field-name"}
    assert notebook.traffic.complaints == []


def test_a_saved_explorer_is_a_static_table_without_a_kernel_and_in_an_untrusted_copy(opened, root):
    notebook = opened(width=1280, height=1100)
    notebook.run_all()
    notebook.show_cell(EXPLORER)
    notebook.page.get_by_label("Questions", exact=True).wait_for(timeout=WAIT)
    assert notebook.page.evaluate(SEEN).count("Both configurations") == 0
    notebook.page.get_by_label("Second").select_option("hierarchical 64 in 256")
    notebook.page.locator(".widget-html-content").get_by_text("Second: hierarchical 64 in 256").first.wait_for(timeout=WAIT)
    saved = nbformat.read(notebook.save(), as_version=4)
    view, table = [output for cell in saved.cells if "wb.explore" in cell.source for output in cell.outputs]
    assert (set(view.data), view.data["text/html"]) == ({WIDGET, "text/html", "text/plain"}, "")
    assert "hierarchical 64 in 256" in table.data["text/html"]
    assert "widgets" not in saved.metadata
    notebook.close()
    for output in (view, table):
        output.metadata["changed"] = True
    nbformat.write(saved, root / "notebooks" / "copy.ipynb")
    for path, trusted in (("notebooks/work.ipynb", True), ("notebooks/copy.ipynb", False)):
        again = opened(path, width=1280, height=1100)
        again.page.evaluate("window.notebook.context.sessionContext.shutdown()")
        again.show_cell(EXPLORER)
        again.page.get_by_text("Both configurations", exact=True).wait_for(timeout=WAIT)
        assert again.page.evaluate("notebook.content.widgets[4].model.trusted") is trusted
        shown = again.page.evaluate(SEEN)
        assert shown.count("Both configurations") == 1
        assert "rank 1" in shown
        assert "Loading widget" not in shown
        assert "Error displaying widget" not in shown
        again.screenshot(f"explorer-saved-{'trusted' if trusted else 'untrusted'}")
