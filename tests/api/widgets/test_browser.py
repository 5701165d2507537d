"""Both panels in JupyterLab: a slider moves boundaries, a choice re-ranks, and a saved notebook stays readable."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from tests.lab_browser import write_notebook
from workbench.runner.execution.local import Outcome

pytestmark = pytest.mark.browser
SCHEMES = ("light", "dark")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, few: Outcome, handbook_corner: Path) -> Path:
    folder = tmp_path_factory.mktemp("root")
    sources = [
        f"import workbench as wb\ndataset = wb.load_dataset({str(handbook_corner)!r})\nresults = wb.load({str(few.folder)!r})",
        "panel = wb.try_chunking(dataset, wb.FixedChunker(size=64, overlap=16))\npanel",
        "ranking = wb.what_if(results, 'recall@3')\nranking",
    ]
    # One for each test: what JupyterLab saves by itself of a closed notebook has widgets whose kernel is gone.
    for scheme in SCHEMES:
        write_notebook(folder / f"{scheme}.ipynb", *sources)
    return folder


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_panels_follow_their_controls_and_leave_html(start_lab: Callable, open_notebook: Callable, root: Path, scheme: str) -> None:
    notebook = open_notebook(start_lab(root), f"{scheme}.ipynb", color_scheme=scheme)
    page = notebook.page
    if scheme == "dark":
        page.evaluate("jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })")
    notebook.run_all()
    page.get_by_text("fixed-64-16:").first.wait_for()
    notebook.show_cell(1)
    notebook.screenshot(f"boundaries-{scheme}")
    slider = page.get_by_role("slider").first
    slider.focus()
    slider.press("ArrowRight")
    page.get_by_text("fixed-65-16:").first.wait_for()
    notebook.show_cell(2)
    page.get_by_label("Metric", exact=True).select_option("complete")
    page.get_by_text("complete@3 on all").first.wait_for()
    notebook.screenshot(f"what-if-{scheme}")
    # The handle of an IntSlider has no name, whatever its description: a fault of ipywidgets.
    assert {rule for rule, _ in notebook.serious()} <= {"aria-input-field-name"}
    page.wait_for_function("JSON.stringify(notebook.content.model.toJSON()).includes('complete@3 on all')")
    saved = nbformat.read(notebook.save(), as_version=4)
    kept = "".join(output.get("data", {}).get("text/html", "") for cell in saved.cells for output in cell.get("outputs", []))
    assert "fixed-65-16:" in kept
    assert notebook.traffic.complaints == []
    notebook.reload()
    notebook.show_cell(2)
    # JupyterLab draws the saved outputs after the notebook is ready.
    page.locator(".jp-Notebook").get_by_text("complete@3 on all").first.wait_for()
    page.wait_for_function("!document.querySelector('.jp-Notebook').innerText.includes('Loading widget')")
    notebook.screenshot(f"reloaded-{scheme}")
    # On a busy machine, JupyterLab sometimes looks for the models of a loaded page before the kernel has named them.
    assert [complaint for complaint in notebook.traffic.complaints if "widget model not found" not in complaint] == []
