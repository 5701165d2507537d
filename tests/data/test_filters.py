"""Filters of documents by metadata, their faults, and the files that carry them."""

import json
from pathlib import Path

import pytest

from workbench.core.errors import DatasetError
from workbench.core.records import Document
from workbench.data.checks import notes
from workbench.data.files import FileAccess
from workbench.data.filters import filter_faults, matches
from workbench.data.formats.beir import read_beir
from workbench.data.formats.golden import read_golden, write_golden
from workbench.data.sources import GoldenSource, TableSource
from workbench.report.topics.run.configurations import questions_table, worst
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import run_experiment
from workbench.runner.experiment.read import experiment_of

LEAVE = Document("hr/leave", "Thirty days.", "Leave", {"year": 2024, "tags": ["holiday", "absence"], "draft": False, "team": "people"})


def test_a_document_matches() -> None:
    cases = [
        ({"year": 2024}, True),
        ({"year": 2025}, False),
        ({"year": {"$gte": 2024, "$lt": 2025}}, True),
        ({"year": {"$gt": 2024}}, False),
        ({"year": "2024"}, False),
        ({"year": {"$gt": "2023"}}, False),
        ({"tags": "holiday"}, True),
        ({"tags": {"$in": ["pay", "absence"]}}, True),
        ({"tags": {"$nin": ["pay", "holiday"]}}, False),
        ({"draft": False}, True),
        ({"draft": 0}, False),
        ({"team": {"$ne": "finance"}}, True),
        ({"owner": {"$ne": "Ada"}}, True),
        ({"owner": "Ada"}, False),
        ({"folder": "hr", "title": "Leave"}, True),
        ({"folder": "hr", "title": "Pay"}, False),
        ({"doc_id": {"$in": ["hr/leave", "hr/pay"]}}, True),
        ({"$or": [{"year": 2025}, {"$and": [{"team": "people"}, {"draft": False}]}]}, True),
        ({"$or": [{"year": 2025}, {"team": "finance"}]}, False),
    ]
    assert [(where, matches(where, LEAVE)) for where, _ in cases] == cases


ODD = [None, [], [None], "hr,legal", " hr", "HR", "h\u0072\u0301", 7, True, [["hr"]], {"hr": True}, {"$in": ["hr"]}, "$in"]


@pytest.mark.parametrize("groups", ODD, ids=repr)
def test_a_document_whose_groups_are_not_those_of_the_filter_is_not_found(groups: object) -> None:
    document = Document("d", "", "", {"groups": groups})
    for where in ({"groups": "hr"}, {"groups": {"$in": ["hr", "legal"]}}, {"$or": [{"groups": "hr"}, {"groups": "legal"}]}):
        assert not matches(where, document)
        assert not matches(where, Document("d", ""))


def test_normal_forms_of_a_text_are_equal_and_numbers_are_no_texts() -> None:
    composed, decomposed = Document("c", "", "", {"groups": ["caf\u00e9"]}), Document("d", "", "", {"groups": ["cafe\u0301", 7]})
    for document in (composed, decomposed):
        assert matches({"groups": "caf\u00e9"}, document)
        assert not matches({"groups": {"$ne": "cafe\u0301"}}, document)
    assert (matches({"groups": 7}, decomposed), matches({"groups": "7"}, decomposed)) == (True, False)


def test_thousands_of_groups_are_compared() -> None:
    groups = [f"g{number}" for number in range(5_000)]
    assert matches({"groups": {"$in": ["g4999"]}}, Document("d", "", "", {"groups": groups}))
    assert not matches({"groups": {"$in": ["g5000"]}}, Document("d", "", "", {"groups": groups}))


def nested(depth: int) -> dict[str, object]:
    """A filter inside filters."""
    return {"$or": [nested(depth - 1)]} if depth else {"year": 2024}


def test_a_wrong_filter_is_one_line(wording) -> None:
    wording(
        lambda where: " | ".join(filter_faults(where, ["year"])),
        [
            {"yaer": 2024},
            {"year": {"gte": 2024}},
            {"year": {"$in": 2024}},
            {"year": {"$gt": [2024]}},
            {"year": [2023, 2024]},
            {"$or": {"year": 2024}},
            {"$or": [{"yaer": 2024}]},
            "year = 2024",
            {},
            {"year": {}},
            nested(30),
        ],
        None,
    )


DOCUMENTS = [
    {"doc_id": "old", "text": "Twenty days of leave.", "metadata": {"year": 2020}},
    {"doc_id": "new", "text": "Thirty days of leave.", "metadata": {"year": 2024}},
]


def golden(folder: Path, **question: object) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "documents.jsonl").write_text("\n".join(map(json.dumps, DOCUMENTS)))
    (folder / "questions.jsonl").write_text(json.dumps({"query": "How many days?", "relevant_doc_ids": ["new"]} | question))
    return folder


def test_a_question_carries_its_filter_and_documents_their_metadata_there_and_back(tmp_path: Path) -> None:
    dataset = GoldenSource(path=str(golden(tmp_path / "one", where={"year": {"$gte": 2024}}, team="hr"))).load()
    assert dataset.queries[0].where == {"year": {"$gte": 2024}}
    assert dataset.queries[0].metadata == {"team": "hr"}
    assert [dict(document.metadata) for document in dataset.documents] == [{"year": 2020}, {"year": 2024}]
    write_golden(dataset, tmp_path / "two")
    again = GoldenSource(path=str(tmp_path / "two")).load()
    assert (again.documents, again.queries) == (dataset.documents, dataset.queries)


def test_a_beir_folder_has_filters_and_metadata_too(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text("\n".join(json.dumps({"_id": row.pop("doc_id")} | row) for row in map(dict, DOCUMENTS)))
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "days?", "metadata": {"where": {"year": 2024}}}))
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tnew\t1\n")
    draft = read_beir(tmp_path, "test", FileAccess())
    assert draft.queries[0][0].where == {"year": 2024}
    assert draft.documents[1][0].metadata == {"year": 2024}


def test_tables_have_filters_and_metadata_as_json(tmp_path: Path) -> None:
    (tmp_path / "documents.csv").write_text(
        'doc_id,text,metadata\nold,Twenty days.,"{""year"": 2020}"\nnew,Thirty days.,"{""year"": 2024}"\n'
    )
    (tmp_path / "questions.csv").write_text('query,relevant_doc_ids,where\nHow many days?,new,"{""year"": 2024}"\n')
    dataset = TableSource(path=str(tmp_path)).load()
    assert dataset.queries[0].where == {"year": 2024}
    assert dataset.documents[1].metadata == {"year": 2024}


def test_a_filter_that_cannot_work_is_a_fault_of_the_dataset(tmp_path: Path, wording) -> None:
    wheres = [
        {"yaer": 2024},
        {"year": 1999},
        "2024",
        {},
    ]
    wording(lambda where: GoldenSource(path=str(golden(tmp_path, where=where))).load(), wheres, DatasetError)


@pytest.mark.parametrize("field", ["filter", "filters", "Where", "wher"])
def test_a_filter_under_another_name_is_a_fault(tmp_path: Path, field: str) -> None:
    with pytest.raises(DatasetError, match=f"has no use for field '{field}' \\(did you mean 'where'\\?\\)"):
        GoldenSource(path=str(golden(tmp_path, **{field: {"year": 2024}}))).load()


def test_metadata_that_is_no_object_is_a_fault(tmp_path: Path) -> None:
    folder = golden(tmp_path)
    (folder / "documents.jsonl").write_text('{"doc_id": "new", "text": "Thirty days.", "metadata": 2024}')
    with pytest.raises(DatasetError, match="has a number in 'metadata', not an object"):
        GoldenSource(path=str(folder)).load()


def test_a_filter_that_excludes_a_relevant_document_is_a_note(tmp_path: Path) -> None:
    draft = read_golden(golden(tmp_path, where={"year": 2020}), None, None, FileAccess())
    (line,) = [note for note in notes(draft) if "excludes" in note]
    assert line.endswith("excludes its relevant document 'new', which cannot be found")


@pytest.mark.parametrize("where", [{"$or": {"year": 2024}}, {"year": {"$in": None}}, {"yaer": 2024}])
def test_a_wrong_filter_excludes_nothing(tmp_path: Path, where: dict[str, object]) -> None:
    draft = read_golden(golden(tmp_path, where=where), None, None, FileAccess())
    assert not [note for note in notes(draft) if "excludes" in note]


def test_a_question_with_another_filter_is_not_repeated(tmp_path: Path) -> None:
    folder = golden(tmp_path, where={"year": 2024})
    other = {"query_id": "o", "query": "How many days?", "where": {"year": 2020}, "relevant_doc_ids": ["old"]}
    with (folder / "questions.jsonl").open("a") as file:
        file.write("\n" + json.dumps(other))
    assert not [note for note in notes(read_golden(folder, None, None, FileAccess())) if "repeats" in note]


def test_metadata_cannot_have_the_name_of_a_field_that_every_document_has(tmp_path: Path) -> None:
    folder = golden(tmp_path)
    for name in ("doc_id", "title", "folder"):
        (folder / "documents.jsonl").write_text(json.dumps({"doc_id": "new", "text": "Thirty days.", "metadata": {name: "x"}}))
        with pytest.raises(DatasetError, match=name):
            GoldenSource(path=str(folder)).load()


def test_tables_and_report_show_the_filter_of_a_question_which_is_a_slice_too(tmp_path: Path) -> None:
    folder = golden(tmp_path / "data", where={"year": 2024})
    other = {"query_id": "o", "query": "How many days of leave?", "where": {"year": 2020}, "relevant_doc_ids": ["new"]}
    with (folder / "questions.jsonl").open("a") as file:
        file.write("\n" + json.dumps(other) + "\n" + json.dumps({"query_id": "n", "query": "Leave?", "relevant_doc_ids": ["old"]}))
    settings = {"name": "filters", "dataset": {"kind": "golden", "path": str(folder)}, "pipeline": {"retrieval": {"kind": "bm25"}}}
    run = collect(run_experiment(experiment_of(settings | {"metrics": ["recall@5"]}, "test"), tmp_path / "outputs", lambda _: None))
    assert [json.loads(each).get("where") for each in run.questions["metadata"]] == ['{"year": 2024}', '{"year": 2020}', None]
    rows = run.of("metrics", run.names[0])
    means = rows[rows["metric"] == "recall@5"].set_index("slice")["value"]
    assert (means['where={"year": 2024}'], means['where={"year": 2020}']) == (1.0, 0.0)
    table = questions_table(run, run.names[0])
    assert 'How many days of leave? (documents where {"year": 2020})' in [row.cells[-1].text for row in table.rows]
    (missed,) = worst(run, run.names[0])
    assert missed.title == 'How many days of leave? (documents where {"year": 2020})'
