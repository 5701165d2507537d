"""The notebook to start from runs on its own dataset and on that of a reader."""

import json
from pathlib import Path

import nbformat
import papermill
import pytest

pytestmark = pytest.mark.slow

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "start.ipynb"


@pytest.fixture(scope="module")
def executed(handbook_few, tmp_path_factory):
    """The notebook as papermill ran it twice, on a reader's documents in the place of the handbook."""
    folder = tmp_path_factory.mktemp("start")
    parameters = {"data": str(handbook_few), "split": "", "name": "mine", "outputs": str(folder / "outputs")}
    for _ in range(2):
        papermill.execute_notebook(
            NOTEBOOK, folder / "run.ipynb", parameters, kernel_name="python3", progress_bar=False, cwd=NOTEBOOK.parent
        )
    return folder


def shown(executed):
    """The outputs of each code cell by its first line."""
    cells = [cell for cell in nbformat.read(executed / "run.ipynb", as_version=4).cells if cell.cell_type == "code"]
    return {cell.source.splitlines()[0]: cell.outputs for cell in cells}


def test_it_runs_again_and_leaves_a_report_and_an_export(executed):
    output = executed / "outputs" / "mine"
    assert (output / "summary.html").stat().st_size > 10_000
    (export,) = (output / "export").iterdir()
    assert json.loads((export / "settings.json").read_text("utf-8"))["configuration"] == export.name


def test_every_value_has_a_display_of_its_own(executed):
    for source, outputs in shown(executed).items():
        for output in outputs:
            assert output.output_type in ("display_data", "execute_result", "stream"), source
            assert output.get("name") != "stderr", (source, output)
            assert " object at 0x" not in json.dumps(output), source


def test_the_sweep_prints_a_line_for_each_configuration(executed):
    outputs = shown(executed)["results = wb.sweep(experiment, outputs)"]
    lines = "".join(output.text for output in outputs if output.output_type == "stream").split("\n")
    numbered = [line for line in lines if line.startswith("[")]
    assert [line[:6] for line in numbered] == [f"[{number}/6] " for number in range(1, 7)]
    sizes, report, *_ = (line for line in lines if line not in numbered)
    assert ": 6 configurations, " in sizes
    assert report.startswith("report: ")
