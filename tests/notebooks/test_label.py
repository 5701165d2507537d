"""The notebook of the labeller runs by papermill, and leaves a table where nobody can label."""

from pathlib import Path

import nbformat
import papermill

import workbench as wb

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


def test_the_last_cell_saves_the_labels_of_now_and_runs_again(handbook_few: Path, tmp_path: Path, monkeypatch) -> None:
    cells = {cell.id: cell.source for cell in nbformat.read(ROOT / "notebooks" / "label.ipynb", as_version=4).cells}
    monkeypatch.chdir(tmp_path)
    dataset = wb.load_dataset(handbook_few)
    labeller = wb.label(dataset, annotator="ann", file="labels.jsonl")
    names = {"wb": wb, "dataset": dataset, "labeller": labeller, "save_to": ""}
    steps, last = cells["label-13"].rsplit("\n", 1)

    def run() -> object:
        """Run the last cell alone, as a person does after labelling."""
        exec(steps, names)
        return eval(last, names)

    assert run() == "Nothing is saved: save_to is empty. Set it in the first cell, run that cell, then this one."
    assert "the first cell and this one" in cells["label-12"]
    names["save_to"] = "labelled"
    for answer in ("Nine euros", "Ten euros"):
        labeller.session.answer(answer)
        query_id = labeller.session.query.query_id
        assert next(query.answer for query in run().queries if query.query_id == query_id) == answer
    assert next(query.answer for query in wb.load_dataset("labelled").queries if query.query_id == query_id) == "Ten euros"
