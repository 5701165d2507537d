import json
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pandas as pd
import pytest

from workbench.core.errors import DatasetError
from workbench.core.records import Dataset, Document, Query
from workbench.data.checks import faults, notes
from workbench.data.draft import DatasetDraft
from workbench.data.fields import check_fields, misspelt, probable_label, text_field
from workbench.data.formats.golden import question_rows
from workbench.data.sources import recognise


def test_a_field_like_a_missing_one_or_with_its_usual_name_is_misspelt() -> None:
    cases = [
        (("Query", "relevant docs ids"), ("query", "relevant_doc_ids"), {"Query": "query", "relevant docs ids": "relevant_doc_ids"}),
        (("question",), ("query",), {"question": "query"}),
        (("question", "query"), ("query",), {}),
        (("content", "title"), ("text", "title"), {"content": "text"}),
        (("Query_ID", "query_id"), ("query", "query_id"), {"Query_ID": "query_id"}),
        (("Text", "query"), ("query", "text"), {"Text": "text"}),
        (("unanswerable",), ("answerable",), {}),
        (("Is-Unanswerable",), ("answerable",), {}),
        (("is_answerable",), ("answerable",), {"is_answerable": "answerable"}),
        (("difficulty", "tags"), ("query", "type"), {}),
    ]
    assert [(fields, known, misspelt(fields, known)) for fields, known, _ in cases] == cases


def test_a_misspelt_field_makes_its_row_faulty() -> None:
    draft = DatasetDraft("d")
    assert check_fields({"query": "?"}, ("query",), "f:1", draft)
    assert not check_fields({"question": "?"}, ("query",), "f:2", draft)
    assert (draft.faults, draft.faulty) == (["f:2 has no use for field 'question' (did you mean 'query'?); rename it"], {"f:2"})


def test_a_probable_label_is_suggested() -> None:
    assert probable_label(("tags", "Source")) == " (did you mean 'relevant_doc_ids' by 'Source'?)"
    assert probable_label(("tags",)) == ""


def test_the_text_of_a_field_or_its_fault(wording) -> None:
    def read(row: dict[str, object]) -> str:
        draft = DatasetDraft("d")
        text = text_field(row, ("_id", "id"), "f:1", draft)
        assert (text is None) == bool(draft.faults)
        return text or " | ".join(draft.faults)

    wording(
        read,
        [
            {"_id": "x"},
            {"id": 7},
            {"_id": ["x"]},
            {"_id": True},
            {"_id": None},
            {"qid": "x"},
            {"tags": "x"},
        ],
        None,
    )


DOCUMENT, SPAN = {"doc_id": "d", "text": "Ada wrote it."}, {"doc_id": "d", "start": 0, "end": 3}
ASKED = {"query_id": "q", "query": "Who?", "relevant_doc_ids": ["d"]}
TOPIC = {"query_id": "q", "query": "Who?"}
JUDGED = "query-id\tcorpus-id\tscore\nq\td\t1\n"


def golden(question: dict[str, Any], document: dict[str, Any] = DOCUMENT) -> dict[str, Any]:
    return {"documents.jsonl": document, "questions.jsonl": question}


def beir(query: dict[str, Any], **files: Any) -> dict[str, Any]:
    corpus = {"_id": "d", "text": "Ada wrote it."}
    more = {name.replace("__", "/").replace("_", "."): content for name, content in files.items()}
    return {"corpus.jsonl": corpus, "queries.jsonl": {"_id": "q", "text": "Who?"} | query, "qrels/test.tsv": JUDGED} | more


def trec(topic: dict[str, Any]) -> dict[str, Any]:
    return {"documents.jsonl": DOCUMENT, "topics.jsonl": TOPIC | topic, "qrels.txt": "q 0 d 1\n"}


def test_no_field_and_no_file_of_a_dataset_vanishes_in_silence(tmp_path: Path, wording) -> None:
    datasets: dict[str, dict[str, Any]] = {
        "a field like evidence": golden(ASKED | {"evidences": [[SPAN]]}),
        "a field like evidence beside it": golden(ASKED | {"evidence": [[SPAN]], "evidences": [[SPAN]]}),
        "an unknown field of a span": golden(ASKED | {"evidence": [[SPAN | {"quotation": "Ada"}]]}),
        "a list as text of a span": golden(ASKED | {"evidence": [[SPAN | {"text": ["Ada"]}]]}),
        "an unknown field of a document": golden(ASKED, DOCUMENT | {"url": "x"}),
        "a field like title": golden(ASKED, DOCUMENT | {"titel": "x"}),
        "documents in a file of questions": {
            "documents.jsonl": DOCUMENT,
            "questions.json": {"questions": [ASKED], "documents": [DOCUMENT]},
        },
        "a key like questions": {"documents.jsonl": DOCUMENT, "questions.json": {"questoins": [ASKED]}},
        "a field like metadata": beir({"metdata": {}}),
        "an unknown field of evidence": beir({}, evidence_jsonl={"query_id": "q", "comment": 1} | SPAN),
        "a field like evidence of another format": beir({"evidences": [1]}),
        "metadata like answer": beir({"metadata": {"answre": "x"}}),
        "a field like need": beir({}, evidence_jsonl={"query_id": "q", "needs": 1} | SPAN),
        "evidence of another question": beir({}, evidence_jsonl={"query_id": "q2"} | SPAN),
        "a split without its file": beir({}, qrels__dev_txt=JUDGED),
        "a field like answerable of a topic": trec({"answerabel": False}),
        "a field of a topic that topics do not have": trec({"evidences": [1]}),
        "a column like evidence beside it": {
            "documents.jsonl": DOCUMENT,
            "questions.csv": "query,relevant_doc_ids,evidence,evidences\nWho?,d,,x\n",
        },
    }

    def lines_of(files: dict[str, Any]) -> str:
        folder = Path(mkdtemp(dir=tmp_path))
        for name, content in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
        draft = recognise(str(folder), "test" if "corpus.jsonl" in files else None).read()
        return "\n    ".join([*faults(draft), *(f"note: {note}" for note in notes(draft))]).replace(f"{folder}/", "")

    wording(lines_of, datasets, None)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            {"questions": [ASKED], "documents": [DOCUMENT], "author": "x"},
            "note: all.json has 'author' in 1 row(s), which is unknown and ignored",
        ),
        ({"questions": [ASKED], "docs": [DOCUMENT]}, "all.json has no use for field 'docs' (did you mean 'documents'?); rename it"),
    ],
)
def test_no_part_of_a_single_file_vanishes_in_silence(tmp_path: Path, content: dict[str, Any], expected: str) -> None:
    (tmp_path / "all.json").write_text(json.dumps(content))
    draft = recognise(str(tmp_path / "all.json"), None).read()
    lines = [*faults(draft), *(f"note: {note}" for note in notes(draft))]
    assert expected in [line.replace(f"{tmp_path}/", "") for line in lines]


Checked = tuple[list[str], list[str]]


@pytest.fixture(params=["questions.jsonl:", "questions.json question ", "questions.csv:", "questions.parquet row "])
def check(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[list[dict[str, Any]]], Checked]:
    """Return faults and notes of questions in a format, each row's place written as `<number of the question>`."""
    place: str = request.param
    path = tmp_path / place.rstrip(":").partition(" ")[0]

    def read(questions: list[dict[str, Any]]) -> Checked:
        (tmp_path / "documents.jsonl").write_text(json.dumps(DOCUMENT))
        if path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(question) + "\n" for question in questions))
        elif path.suffix == ".json":
            path.write_text(json.dumps(questions))
        else:
            cells = pd.DataFrame(
                [{key: json.dumps(value) if isinstance(value, list) else value for key, value in row.items()} for row in questions]
            )
            cells.to_csv(path, index=False) if path.suffix == ".csv" else cells.to_parquet(path)
        draft = recognise(str(tmp_path), None).read()
        first = 2 if path.suffix == ".csv" else 1
        places = {f"{tmp_path}/{place}{row + first} ": f"<{row + 1}> " for row in reversed(range(len(questions)))}
        # A column is a fault of the whole table.
        return tuple([_placed(line, places | {f"{path}:1 ": "<1> "}) for line in lines] for lines in (faults(draft), notes(draft)))  # type: ignore[return-value]

    return read


def _placed(line: str, places: dict[str, str]) -> str:
    for place, short in places.items():
        line = line.replace(place, short)
    return line.replace(" column ", " field ")


def test_unanswerable_is_a_fault_that_gives_the_field_for_it(check: Callable[..., Checked]) -> None:
    marked, unmarked = (
        {"query_id": "r", "query": "Whom?", "unanswerable": True},
        ASKED | {"query_id": "s", "query": "When?", "unanswerable": False},
    )
    assert check([ASKED, marked, unmarked])[0] == [
        "<2> has 'unanswerable', which is not read; write answerable: false in its place",
        "<3> has 'unanswerable', which is not read; write answerable: true in its place",
    ]


def test_a_field_in_other_letter_case_is_a_fault_also_beside_the_right_one(check: Callable[..., Checked]) -> None:
    assert check([ASKED | {"Query_ID": "x", "Relevant_Chunks": ["Ada"]}])[0] == [
        "<1> has field 'Query_ID' beside 'query_id'; remove one of them",
        "<1> has no use for field 'Relevant_Chunks' (did you mean 'relevant_chunks'?); rename it",
    ]


def test_a_rare_field_like_a_usual_one_is_noted_with_its_place(check: Callable[..., Checked]) -> None:
    questions = [ASKED | {"query_id": f"q{number}", "query": f"Who {number}?", "level": number % 3} for number in range(25)]
    questions[7]["levl"] = questions[7].pop("level")
    # A rare field that resembles none, and one that a question has in addition, are metadata.
    questions[9] |= {"reviewer": "Ada", "levels": "1, 2"}
    found, noted = check(questions)
    assert (found, noted) == ([], ["<8> has 'levl', which looks like 'level' of most questions and is kept as metadata"])


def test_metadata_that_means_unanswerable_is_not_written() -> None:
    dataset = Dataset("d", (Document("d", "Ada wrote it."),), (Query("q", "Whom?", metadata={"unanswerable": True}),), (), ())
    with pytest.raises(DatasetError, match="means the opposite of 'answerable'; rename it in the source"):
        question_rows(dataset)
