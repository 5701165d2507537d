"""Mutated files of every format: nothing but a WorkbenchError leaves a parser. `make soak` draws many more of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dataset_fuzzing import DATASETS, RUN, mutated_bytes, mutated_file, mutated_files, read_mutated, read_mutated_trec
from workbench.datasets.sources import SOURCES, recognise


def test_every_kind_of_dataset_is_mutated_and_valid_before(tmp_path) -> None:
    assert {kind for kind, _, _ in DATASETS.values()} == set(SOURCES) - {"nfcorpus"}
    for number, (kind, path, files) in enumerate(DATASETS.values()):
        for name, raw in files.items():
            (tmp_path / str(number) / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / str(number) / name).write_bytes(raw)
        documents = str(tmp_path / str(number) / "documents.jsonl") if kind == "list" else None
        draft = recognise(str(tmp_path / str(number) / path), None, kind=kind, documents=documents).read()
        assert draft.queries
        assert not draft.faults


@pytest.mark.parametrize("name", DATASETS)
@settings(max_examples=40)
@given(data=st.data())
def test_a_mutated_dataset_is_read_or_refused_with_a_line(name: str, data: st.DataObject) -> None:
    kind, path, files = DATASETS[name]
    read_mutated(kind, path, data.draw(mutated_files(files)))


@settings(max_examples=60)
@given(raw=mutated_bytes(RUN) | mutated_file("run.trec", RUN))
def test_a_mutated_run_is_read_or_refused_with_a_line(raw: bytes) -> None:
    read_mutated_trec(raw)
