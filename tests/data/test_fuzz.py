"""Mutated files of every format: nothing but a WorkbenchError leaves a parser. `make soak` draws thousands of them."""

import pytest

from tests.dataset_fuzzing import DATASETS, RUN, mutated_bytes, mutated_file, mutated_files, read_mutated, read_mutated_trec
from tests.fuzzing import check_examples, few_or_many
from workbench.data.sources import SOURCES, recognise


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


@few_or_many(40, 5_000)
@pytest.mark.parametrize("name", DATASETS)
def test_a_mutated_dataset_is_read_or_refused_with_a_line(name: str, examples: int) -> None:
    kind, path, files = DATASETS[name]
    # A parquet file starts a process.
    examples = examples // 4 if name == "parquet" else examples
    check_examples(examples, mutated_files(files), lambda mutated: read_mutated(kind, path, mutated))


@few_or_many(60, 5_000)
def test_a_mutated_run_is_read_or_refused_with_a_line(examples: int) -> None:
    check_examples(examples, mutated_bytes(RUN) | mutated_file("run.trec", RUN), read_mutated_trec)
