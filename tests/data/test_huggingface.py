"""Datasets of Hugging Face, written as `datasets` 5.2.0 writes them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

from tests.commands import workbench
from workbench.core.errors import DatasetError, InputError
from workbench.core.records import Dataset, Need, Qrel, Span
from workbench.data.checks import notes
from workbench.data.sources import HuggingFaceSource, recognise

SQUAD = [
    {"id": "s1", "title": "Boats", "context": "A berth is a place.", "question": "What is a berth?", "answers": {"text": ["a place"] * 2}},
    {"id": "s2", "title": "Boats", "context": "A berth is a place.", "question": "Who sleeps?", "answers": {"text": []}},
    {"id": "s3", "title": "Crew", "context": "Pilots pay. They do.", "question": "Who pays?", "answers": {"text": ["Pilots", "They"]}},
]
for _row in SQUAD:
    _row["answers"]["answer_start"] = [_row["context"].find(text) for text in _row["answers"]["text"]]
Rows = Sequence[dict[str, Any]]


def stream(rows: Rows, file: Path) -> None:
    table = pa.Table.from_pylist(list(rows))
    with ipc.new_stream(str(file), table.schema) as written:
        written.write_table(table, max_chunksize=2)


def saved(rows: Rows, folder: Path, shards: int = 1, indices: Sequence[int] = ()) -> Path:
    """A dataset as `save_to_disk` writes it. `indices` of selected rows are as versions before 2 wrote them."""
    folder.mkdir(parents=True)
    names = [f"data-{place:05}-of-{shards:05}.arrow" for place in range(shards)]
    for place, name in enumerate(names):
        stream(rows[place::shards], folder / name)
    state: dict[str, Any] = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "f1", "_split": None}
    if indices:
        stream([{"indices": place} for place in indices], folder / "indices.arrow")
        state["_indices_files"] = [{"filename": "indices.arrow"}]
    (folder / "state.json").write_text(json.dumps(state), "utf-8")
    (folder / "dataset_info.json").write_text('{"features": {}}', "utf-8")
    return folder


def read(path: Path, **settings: Any) -> Dataset:
    source = recognise(str(path), settings.pop("split", None), **settings)
    assert isinstance(source, HuggingFaceSource)
    return source.load()


def test_contexts_are_documents_and_the_starts_of_answers_are_evidence(tmp_path: Path) -> None:
    dataset = read(saved(SQUAD, tmp_path / "squad"))
    berth, pilots = dataset.documents
    assert [(document.title, document.text) for document in dataset.documents] == [
        ("Boats", "A berth is a place."),
        ("Crew", "Pilots pay. They do."),
    ]
    assert dataset.qrels == (Qrel("s1", berth.doc_id, 1), Qrel("s3", pilots.doc_id, 1))
    spans = (Span(pilots.doc_id, 0, 6), Span(pilots.doc_id, 12, 16))
    assert dataset.needs == (Need("s1", (Span(berth.doc_id, 11, 18),)), Need("s3", spans))
    assert [(query.answer, query.answerable) for query in dataset.queries] == [("a place", True), ("", False), ("Pilots", True)]
    assert dataset.queries[2].answer_variants == ("They",)


def test_shards_and_selected_rows_are_the_rows_that_datasets_reads(tmp_path: Path) -> None:
    assert [query.query_id for query in read(saved(SQUAD, tmp_path / "shards", shards=2)).queries] == ["s1", "s3", "s2"]
    assert [query.query_id for query in read(saved(SQUAD, tmp_path / "selected", indices=[2, 0])).queries] == ["s3", "s1"]


@pytest.mark.parametrize(
    ("column", "fault"),
    [
        ({"indices": pa.array([0, 7])}, r"indices\.arrow row 2 has 7 in 'indices', not the place of one of 3 rows; save the dataset again"),
        ({"indices": pa.array([-1])}, "row 1 has -1 in 'indices'"),
        ({"indices": pa.array([1, None])}, "row 2 has null in 'indices'"),
        ({"indices": pa.array([0.0, 1.0])}, "row 1 has a decimal number in 'indices'"),
        ({"indices": pa.array([True])}, "row 1 has true or false in 'indices'"),
        ({"rows": pa.array([0])}, "row 1 has null in 'indices'"),
        ({"indices": pa.array([], pa.int64())}, "none has no rows"),
    ],
)
def test_a_selection_that_selects_no_rows_of_the_dataset_is_a_fault(tmp_path: Path, column: dict[str, pa.Array], fault: str) -> None:
    folder, table = saved(SQUAD, tmp_path / "none", indices=[0]), pa.table(column)
    with ipc.new_stream(str(folder / "indices.arrow"), table.schema) as written:
        written.write_table(table)
    with pytest.raises(DatasetError, match=fault):
        read(folder)


@pytest.mark.parametrize("key", ["_data_files", "_indices_files", "_indices_data_files", "splits"])
@pytest.mark.parametrize(
    "name", ["../other", "../../other/indices.arrow", "/other", "/other/indices.arrow", "train/..", "..", ".", "", "a\0b", 1, None]
)
def test_only_plain_names_in_the_folder_itself_are_read(tmp_path: Path, key: str, name: str | int | None) -> None:
    saved(SQUAD, tmp_path / "other", indices=[0])
    folder = saved(SQUAD, tmp_path / "all/train").parent
    given = f"{tmp_path}{name}" if isinstance(name, str) and name.startswith("/") else name
    files: dict[str, Any] = {"train/state.json": {"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}}
    files["dataset_dict.json"] = {"splits": ["train"]}
    file = "dataset_dict.json" if key == "splits" else "train/state.json"
    files[file][key] = [*files[file].get(key, []), given if key == "splits" else {"filename": given}]
    for place, described in files.items():
        (folder / place).write_text(json.dumps(described), "utf-8")
    with pytest.raises(DatasetError, match=rf"{file} has .* in '{key}', not a plain name") as raised:
        read(folder)
    assert len(raised.value.faults) == 1


@pytest.mark.parametrize("link", ["all/train", "all/train/state.json", "all/train/data-00000-of-00001.arrow"])
def test_a_link_out_of_the_folder_is_one_fault(tmp_path: Path, link: str) -> None:
    saved(SQUAD, tmp_path / "all/train")
    (tmp_path / "all/dataset_dict.json").write_text('{"splits": ["train"]}', "utf-8")
    (tmp_path / link).rename(tmp_path / "outside")
    (tmp_path / link).symlink_to(tmp_path / "outside")
    with pytest.raises(DatasetError, match=f"{link} is a link to .*outside, outside of") as raised:
        read(tmp_path / "all")
    assert len(raised.value.faults) == 1


def test_a_split_has_its_questions_and_the_documents_of_all(tmp_path: Path) -> None:
    for name, rows in (("train", SQUAD[:2]), ("test", SQUAD[2:])):
        saved(rows, tmp_path / "dict" / name)
    (tmp_path / "dict/dataset_dict.json").write_text('{"splits": ["train", "test"]}', "utf-8")
    dataset = read(tmp_path / "dict", split="test")
    assert ([query.query_id for query in dataset.queries], len(dataset.documents)) == (["s3"], 2)
    with pytest.raises(InputError, match=r"no split 'tset' \(did you mean 'test'\?\); its splits are test and train"):
        read(tmp_path / "dict", split="tset")


def test_parquet_of_datasets_is_recognised_in_a_file_and_in_a_folder(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(SQUAD)
    marked = table.replace_schema_metadata({"huggingface": '{"info": {}}'})
    (tmp_path / "hub/data").mkdir(parents=True)
    for file in (tmp_path / "squad.parquet", tmp_path / "hub/data/validation-00000-of-00001.parquet"):
        parquet.write_table(marked, file)
    assert len(read(tmp_path / "squad.parquet").queries) == 3
    assert len(read(tmp_path / "hub", split="validation").queries) == 3
    parquet.write_table(table, tmp_path / "plain.parquet")
    assert recognise(str(tmp_path / "plain.parquet"), None).settings()["kind"] == "table"
    assert len(read(tmp_path / "plain.parquet", kind="huggingface").queries) == 3


@pytest.mark.parametrize(
    "row",
    [
        {"query": "q?", "reference": "yes", "reference_contexts": ["one", "two"]},
        {"user_input": "q?", "ground_truths": ["yes"], "contexts": ["one", "two"]},
        {"prompt": "q?", "expected_output": "yes", "passages": [{"docid": "1", "text": "one"}, {"docid": "2", "text": "two"}]},
        {"question": "q?", "answers": [{"text": "yes", "answer_start": 9}], "positive_passages": [{"text": "one"}, {"text": "two"}]},
    ],
)
def test_columns_have_the_names_of_the_field(tmp_path: Path, row: dict[str, Any]) -> None:
    dataset = read(saved([row], tmp_path / "data"))
    assert (dataset.queries[0].text, dataset.queries[0].answer, dataset.queries[0].metadata) == ("q?", "yes", {})
    assert [document.text for document in dataset.documents] == ["one", "two"]
    assert [qrel.relevance for qrel in dataset.qrels] == [1, 1]


@pytest.mark.parametrize(
    ("answers", "fault"),
    [
        ({"text": [["x"]], "answer_start": [[1]]}, "in 'answers', which is neither a text nor a list of texts"),
        ({"text": ["one"], "answer_start": ["a"]}, "evidence of question q1 without whole numbers"),
        ({"text": ["one"], "answer_start": [None]}, "evidence of question q1 without whole numbers"),
        ({"text": ["one"], "answer_start": [1.5]}, "evidence of question q1 without whole numbers"),
        ({"text": ["one"], "answer_start": [10**9]}, "in document"),
        ({"value": ["one"]}, "which is neither a text nor a list of texts"),
        ([{"value": "one"}], "which is neither a text nor a list of texts"),
    ],
)
def test_answers_of_another_form_are_a_fault_of_their_row(tmp_path: Path, answers: object, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        read(saved([{"id": "q1", "question": "q?", "answers": answers, "context": "one two"}], tmp_path / "data"))


@pytest.mark.parametrize("answers", [{"text": None, "answer_start": None}, {"text": [None], "answer_start": [3]}, None])
def test_a_missing_answer_does_not_make_a_question_unanswerable(tmp_path: Path, answers: object) -> None:
    other = {"id": "q2", "question": "r?", "answers": {"text": ["one"], "answer_start": [0]}, "context": "one two"}
    dataset = read(saved([{"id": "q1", "question": "q?", "answers": answers, "context": "one two"}, other], tmp_path / "data"))
    assert [(query.answer, query.answerable) for query in dataset.queries] == [("", True), ("one", True)]


@pytest.mark.parametrize(
    ("column", "values", "fault"),
    [
        ("question", ["q?", None], "row 2 has no text in 'question'; its fields are 'id', 'context' and 'answer'"),
        ("question", [1.5, 2.5], "row 1 has a decimal number in 'question', not a text"),
        ("id", [None, 1.5], "row 2 has a decimal number in 'id', not a text"),
        ("answer", [None, b"a"], "row 2 has a bytes in column 'answer'; write it as text"),
    ],
)
def test_a_fault_of_a_row_names_the_column_of_the_data(tmp_path: Path, column: str, values: list[object], fault: str) -> None:
    rows = [{"id": name, "question": f"{name}?", "context": "one", "answer": "yes"} for name in "ab"]
    with pytest.raises(DatasetError, match=fault) as raised:
        read(saved([row | {column: value} for row, value in zip(rows, values, strict=True)], tmp_path / "data"))
    assert all(f"in '{column}'" in line or f"in column '{column}'" in line for line in raised.value.faults)


def test_a_question_that_is_missing_in_another_split_is_no_fault(tmp_path: Path) -> None:
    rows = [{"question": text, "context": "one", "split": split} for text, split in (("q?", "dev"), (None, "test"))]
    assert [query.text for query in read(saved(rows, tmp_path / "data"), split="dev").queries] == ["q?"]


def test_columns_without_a_role_are_metadata_or_unread(tmp_path: Path) -> None:
    others = {"level": "easy", "image": {"bytes": b"x", "path": None}, "pages": [b"x"], "score": float("inf")}
    rows = [SQUAD[0] | others, SQUAD[2] | others | {"image": None, "score": 0.5}]
    folder = saved(rows, tmp_path / "squad")
    (tmp_path / "hub").mkdir()
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "hub/train-00000-of-00001.parquet")
    for place in (folder, tmp_path / "hub"):
        draft = recognise(str(place), None).read()
        assert {key: count for (_, key), count in draft.unread.items()} == {"image": 1, "pages": 2, "score": 2}
        assert all(query.metadata.keys() & others.keys() == {"level"} for query, _ in draft.queries)
        assert (len(draft.queries), draft.faults) == (2, [])


def test_missing_parts_of_a_split_are_counted(tmp_path: Path) -> None:
    (tmp_path / "hub").mkdir()
    for number in (0, 3):
        row = {"question": f"what is berth {number}", "context": [f"Berth {number} is a place for a ship."]}
        parquet.write_table(pa.Table.from_pylist([row]), tmp_path / f"hub/train-{number:05}-of-00004.parquet")
    found = recognise(str(tmp_path / "hub"), None).read()
    assert (len(found.queries), found.faults) == (2, [])
    assert list(notes(found)) == [f"{tmp_path / 'hub'} lacks 2 of 4 parts of the split 'train', the first is 00001"]


def test_negative_passages_are_documents_that_must_not_be_found(tmp_path: Path) -> None:
    passages = {"positive_passages": [{"docid": "1", "title": "T", "text": "one"}], "negative_passages": [{"docid": "2", "text": "two"}]}
    dataset = read(saved([{"query_id": 7, "query": "q?", "level": "easy", **passages}], tmp_path / "tevatron"))
    assert dataset.qrels == (Qrel("7", "1", 1), Qrel("7", "2", -1))
    assert (dataset.documents[0].title, dataset.queries[0].metadata) == ("T", {"level": "easy"})


def test_contexts_are_searched_in_documents_that_are_given(tmp_path: Path) -> None:
    (tmp_path / "documents.jsonl").write_text('{"doc_id": "boats", "text": "Of boats. A berth is a place."}\n', "utf-8")
    dataset = read(saved(SQUAD[:2], tmp_path / "squad"), documents=str(tmp_path / "documents.jsonl"))
    assert dataset.needs == (Need("s1", (Span("boats", 10, 29),)),)
    assert dataset.qrels == (Qrel("s1", "boats", 1),)


def test_what_a_system_answered_and_retrieved_is_no_label(tmp_path: Path) -> None:
    recorded = {"question": "q?", "answer": "no", "contexts": ["one"], "ground_truth": "yes"}
    folder = saved([recorded], tmp_path / "ragas")
    with pytest.raises(InputError, match="has neither documents nor contexts"):
        read(folder)
    (tmp_path / "documents.jsonl").write_text('{"doc_id": "d", "text": "two"}\n', "utf-8")
    draft = recognise(str(folder), None, documents=str(tmp_path / "documents.jsonl")).read()
    assert ([query.answer for query, _ in draft.queries], draft.quotes) == (["yes"], [])
    assert {key for _, key in draft.unread} == {"answer", "contexts"}


def test_a_dataset_that_cannot_be_read_is_one_line(tmp_path: Path, wording) -> None:
    def folder(name: str, rows: Rows) -> Path:
        return saved(rows, tmp_path / name)

    other = folder("a file", SQUAD)
    table = pa.Table.from_pylist(SQUAD)
    with ipc.new_file(str(other / "data-00000-of-00001.arrow"), table.schema) as written:
        written.write_table(table)
    missing = folder("a missing file", SQUAD)
    (missing / "data-00000-of-00001.arrow").unlink()
    state = folder("no state", SQUAD)
    (state / "state.json").write_text("[", "utf-8")
    far = folder("another folder", SQUAD)
    (far / "state.json").write_text('{"_data_files": [{"filename": "../x.arrow"}]}', "utf-8")
    (tmp_path / "no split").mkdir()
    (tmp_path / "no split/dataset_dict.json").write_text('{"splits": ["train"]}', "utf-8")
    cases = {
        "no question": folder("no question", [{"premise": "a", "context": "b"}]),
        "no context": folder("no context", [{"question": "a", "label": 1}]),
        "a context of another kind": folder("hotpot", [{"question": "a", "context": {"title": ["t"], "sentences": [["s"]]}}]),
        **{path.name: path for path in (other, missing, state, far, tmp_path / "no split")},
    }
    wording(read, cases)


def test_it_is_imported_as_a_golden_folder(tmp_path: Path) -> None:
    saved(SQUAD, tmp_path / "squad")
    done = workbench("dataset", "import", str(tmp_path / "squad"), "--to", str(tmp_path / "golden"))
    assert done.returncode == 0, done.stderr
    assert recognise(str(tmp_path / "golden"), None).load().needs == read(tmp_path / "squad").needs
