"""The notebook of the labeller runs by papermill, and leaves a table where nobody can label."""

from pathlib import Path

import nbformat
import papermill

ROOT = Path(__file__).parents[2]


def test_the_label_notebook_runs_on_the_handbook_and_leaves_a_table(handbook_few: Path, tmp_path: Path) -> None:
    parameters = {"data": str(handbook_few), "split": "", "annotator": "ann", "file": str(tmp_path / "labels.jsonl"), "k": 3}
    made = tmp_path / "label.ipynb"
    papermill.execute_notebook(
        str(ROOT / "notebooks" / "label.ipynb"), str(made), parameters, cwd=str(ROOT / "notebooks"), progress_bar=False
    )
    outputs = [output for cell in nbformat.read(made, as_version=4).cells for output in cell.get("outputs", [])]
    pages = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs]
    assert any("0 labels in " in page and "finished by ann" in page for page in pages)
    assert not any("application/vnd.jupyter.widget-view+json" in output.get("data", {}) for output in outputs)
    assert any("0 conflicts, 0 questions left out" in page for page in pages)
    assert (tmp_path / "labels.jsonl").is_file()
