"""A saved dataset is replaced by a later save, and nothing else is."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from workbench.core.errors import InputError

SMALL = wb.Dataset("small", (wb.Document("a", "Ferries cost nine euros."),), (wb.Query("q1", "What?"),), (wb.Qrel("q1", "a", 1),))
LATER = replace(SMALL, queries=(wb.Query("q1", "What does it cost?"),))


def test_a_folder_that_a_save_wrote_is_replaced_on_demand_alone(tmp_path: Path) -> None:
    wb.save_dataset(SMALL, tmp_path / "saved")
    assert wb.save_dataset(LATER, tmp_path / "saved", replace=True).queries[0].text == "What does it cost?"
    assert wb.save_dataset(SMALL, tmp_path / "saved", replace=True).queries[0].text == "What?"
    with pytest.raises(InputError, match=r"exists and is not an empty folder; name a new one$"):
        wb.save_dataset(LATER, tmp_path / "saved")
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


def changed(folder: Path) -> None:
    (folder / "questions.jsonl").write_text('{"query_id": "q1", "query": "Mine?", "relevant_doc_ids": ["a"]}\n', "utf-8")


def test_a_folder_with_anything_else_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    touches: list[Callable[[Path], object]] = [
        changed,
        lambda folder: (folder / "notes.txt").write_text("mine"),
        lambda folder: (folder / "empty").mkdir(),
        lambda folder: (folder / "saved.json").unlink(),
        lambda folder: (folder / "saved.json").write_text("[]"),
        lambda folder: (folder / "documents.jsonl").unlink(),
    ]
    for number, touch in enumerate(touches):
        folder = tmp_path / str(number)
        wb.save_dataset(SMALL, folder / "saved")
        touch(folder / "saved")
        before = {path: path.read_bytes() for path in folder.rglob("*.*")}
        with pytest.raises(InputError, match="has something else than this dataset as it was saved there; name a new folder"):
            wb.save_dataset(LATER, folder / "saved", replace=True)
        assert {path: path.read_bytes() for path in folder.rglob("*.*")} == before


def test_a_dataset_of_another_name_replaces_nothing(tmp_path: Path) -> None:
    wb.save_dataset(SMALL, tmp_path / "saved")
    with pytest.raises(InputError, match="has something else"):
        wb.save_dataset(replace(SMALL, name="other"), tmp_path / "saved", replace=True)
