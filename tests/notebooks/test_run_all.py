"""Every notebook runs where it is found: by papermill in its own folder, and by Run All in JupyterLab."""

import shutil
from pathlib import Path

import nbformat
import papermill
import pytest

from tests.monitor.service_log import write_service_log
from tests.page_checks import Traffic, serious
from workbench.monitor.passes import monitor
from workbench.monitor.settings import MonitorSettings
from workbench.report.render.notebook_page import write_notebook_page

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def place(workplace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the working directory, in which notebooks are changed and labels are written."""
    folder = tmp_path_factory.mktemp("notebooks")
    for name in ("experiments", "notebooks"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copytree(workplace / "outputs", folder / "outputs")
    monitor(write_service_log(folder / "logs"), folder / "outputs" / "monitoring", MonitorSettings(budget=12))
    return folder


@pytest.fixture
def parameters(handbook_few: Path) -> dict[str, dict[str, str]]:
    """Parameters of notebooks that would compute for minutes with their own."""
    return {"start.ipynb": {"data": str(handbook_few), "split": "", "name": "mine"}}


# tests/notebooks/test_start.py runs start.ipynb.
@pytest.mark.parametrize("name", [name for name in NOTEBOOKS if name != "start.ipynb"])
def test_it_runs_by_papermill_in_its_own_folder(place: Path, tmp_path: Path, name: str) -> None:
    folder = place / "notebooks"
    papermill.execute_notebook(folder / name, tmp_path / name, kernel_name="python3", progress_bar=False, cwd=folder)
    cells = [cell for cell in nbformat.read(tmp_path / name, as_version=4).cells if cell.cell_type == "code"]
    assert all(cell.metadata.papermill.status == "completed" for cell in cells)
    assert [output for cell in cells for output in cell.outputs if output.get("name") == "stderr"] == []
    assert sum(bool(cell.outputs) for cell in cells) >= len(cells) / 2


@pytest.mark.browser
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_runs_by_run_all_in_jupyterlab_and_its_export_is_accessible(start_lab, open_notebook, chromium, place, parameters, name) -> None:
    notebook = open_notebook(start_lab(place), f"notebooks/{name}")
    notebook.set_parameters(**parameters.get(name, {}))
    notebook.run_all()
    notebook.show_cell(0)
    notebook.screenshot(Path(name).stem, height=2400)
    saved = notebook.save()
    shown = notebook.outputs()
    notebook.reload()
    assert notebook.outputs() == shown
    assert notebook.traffic.complaints == []
    with chromium.new_context(color_scheme="dark") as context:
        page, traffic = context.new_page(), Traffic()
        traffic.watch(page)
        page.goto(write_notebook_page(saved).as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert serious(page) == []
        assert traffic.complaints == []
