"""Mistakes in folders of every format, each with the one line that names it and its fix."""

import json
from pathlib import Path

import pytest

from workbench.datasets.checks import faults, notes
from workbench.datasets.sources import recognise

QUESTION = {"query_id": "q1", "query": "Who pays for the taxi?", "relevant_doc_ids": ["d3"]}
GOLDEN = {"documents/d3.md": "The firm pays for a taxi.", "questions.jsonl": json.dumps(QUESTION)}
BEIR = {
    "corpus.jsonl": '{"_id": "d3", "text": "The firm pays."}',
    "queries.jsonl": '{"_id": "q1", "text": "Who pays?"}',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td3\t1\n",
}
TREC = {"documents/d3.md": "The firm pays.", "topics.tsv": "q1\tWho pays?\n", "qrels.txt": "q1 0 d3 1\n"}
TABLE = {"documents.csv": "doc_id,text\nd3,The firm pays.\n", "questions.csv": "query,relevant_doc_ids\nWho pays?,d3\n"}


def asked(**more: object) -> dict[str, bytes]:
    return {"questions.jsonl": json.dumps(QUESTION | more).encode()}


def instead(name: str, field: str) -> dict[str, bytes]:
    """The question with a field under another name."""
    return {"questions.jsonl": json.dumps({name if key == field else key: value for key, value in QUESTION.items()}).encode()}


def read(folder: Path, files: dict[str, str], changed: dict[str, bytes]) -> tuple[list[str], list[str]]:
    for name, content in {**{name: text.encode() for name, text in files.items()}, **changed}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    draft = recognise(str(folder), None).read()
    return [line.replace(f"{folder}/", "") for line in faults(draft)], [line.replace(f"{folder}/", "") for line in notes(draft)]


MISTAKES = [
    # Ids.
    (
        GOLDEN,
        asked(relevant_doc_ids=["d3.md"]),
        "questions.jsonl:1 judges document 'd3.md', but this document does not exist (did you mean 'd3'?)",
    ),
    (
        GOLDEN,
        asked(evidence=[[{"doc_id": "documents/d3.md", "start": 0, "end": 3}]]),
        "questions.jsonl:1 evidence of question 'q1' points to document 'documents/d3.md', but this document does not exist (did you mean 'd3'?)",
    ),
    (
        GOLDEN,
        asked(relevant_chunks=[{"doc_id": "D3", "text": "taxi"}]),
        "questions.jsonl:1 relevant chunk 'taxi' of question 'q1' points to document 'D3', but this document does not exist (did you mean 'd3'?)",
    ),
    (
        BEIR,
        {"qrels/test.tsv": b"q1\td3\t1\nQ1\td3\t1\n"},
        "qrels/test.tsv:2 judges question 'Q1', but this question does not exist (did you mean 'q1'?)",
    ),
    (
        TREC,
        {"qrels.txt": b"q1 0 d3 1\nq1 0 D3.txt 1\n"},
        "qrels.txt:2 judges document 'D3.txt', but this document does not exist (did you mean 'd3'?)",
    ),
    (
        TABLE,
        {"questions.csv": b'query,relevant_doc_ids\nWho pays?,"d3, d3"\n'},
        "questions.csv:2 judges document 'd3, d3', but this document does not exist (separate ids by ';', or write a JSON list)",
    ),
    # Fields.
    *(
        (GOLDEN, instead(name, "query"), f"questions.jsonl:1 has no use for field {name!r} (did you mean 'query'?); rename it")
        for name in ("question", "text", "Query")
    ),
    *(
        (
            GOLDEN,
            instead(name, "relevant_doc_ids"),
            f"questions.jsonl:1 has no use for field {name!r} (did you mean 'relevant_doc_ids'?); rename it",
        )
        for name in ("relevant_docs", "relevant", "relevant_documents")
    ),
    *(
        (GOLDEN, instead(name, "query_id"), f"questions.jsonl:1 has no use for field {name!r} (did you mean 'query_id'?); rename it")
        for name in ("id", "_id", "qid")
    ),
    (
        GOLDEN,
        asked(hard_negatives=["d3"]),
        "questions.jsonl:1 has no use for field 'hard_negatives' (did you mean 'irrelevant_doc_ids'?); rename it",
    ),
    (
        GOLDEN,
        instead("source", "relevant_doc_ids"),
        "questions.jsonl:1 question 'q1' has no relevant document and is not marked unanswerable (did you mean 'relevant_doc_ids' by 'source'?)",
    ),
    (
        GOLDEN,
        asked(evidence=[{"document": "d3", "start": 0, "end": 3}]),
        "questions.jsonl:1 has no use for field 'document' (did you mean 'doc_id'?); rename it",
    ),
    (
        GOLDEN,
        asked(relevant_chunks=[{"content": "taxi"}]),
        "questions.jsonl:1 has no use for field 'content' (did you mean 'text'?); rename it",
    ),
    (
        GOLDEN,
        asked(evidence=[[{"doc_id": "d3", "text": "taxi"}]]),
        "questions.jsonl:1 has evidence of question q1 without whole numbers 'start' and 'end'; give a text without positions in 'relevant_chunks'",
    ),
    (
        BEIR,
        {"queries.jsonl": b'{"_id": "q1", "query": "Who?"}'},
        "queries.jsonl:1 has no use for field 'query' (did you mean 'text'?); rename it",
    ),
    (
        BEIR,
        {"corpus.jsonl": b'{"_id": "d3", "content": "x"}'},
        "corpus.jsonl:1 has no use for field 'content' (did you mean 'text'?); rename it",
    ),
    (
        TABLE,
        {"questions.csv": b"question,relevant_doc_ids\nWho?,d3\n"},
        "questions.csv:1 has no use for column 'question' (did you mean 'query'?); rename it",
    ),
    (TABLE, {"documents.csv": b"name,text\nd3,x\n"}, "documents.csv:1 has no use for column 'name' (did you mean 'doc_id'?); rename it"),
    # Passages.
    (
        GOLDEN,
        asked(relevant_chunks=["the firm PAYS"]),
        "questions.jsonl:1 relevant chunk 'the firm PAYS' of question 'q1' is in no document; "
        "'The firm pays' in document 'd3' at [0, 13) differs only in upper and lower case",
    ),
    (
        GOLDEN,
        asked(relevant_chunks=["The firm pays for the taxi."]),
        "questions.jsonl:1 relevant chunk 'The firm pays for the taxi.' of question 'q1' is in no document; "
        "the nearest passage is in document 'd3' at [0, 25): 'The firm pays for a taxi.'",
    ),
    (
        GOLDEN,
        asked(evidence=[[{"doc_id": "d3", "start": 3, "end": 7, "text": "firm"}]]),
        "questions.jsonl:1 evidence of question 'q1' says 'firm', but document 'd3' has ' fir' at [3, 7); it is in document 'd3' at [4, 8)",
    ),
    # JSON.
    (
        GOLDEN,
        {"questions.jsonl": b"{'query': 'x'}"},
        "questions.jsonl:1 is not JSON (Expecting property name enclosed in double quotes at column 2; write texts in double quotes)",
    ),
    (
        GOLDEN,
        {"questions.jsonl": b'{"query": "x"},\n'},
        "questions.jsonl:1 is not JSON (Extra data at column 15; remove the comma at the end of the line)",
    ),
    (
        GOLDEN,
        {"questions.jsonl": b'{"query": "x", "answerable": True}'},
        "questions.jsonl:1 is not JSON (Expecting value at column 30; write true, false and null)",
    ),
    (
        GOLDEN,
        {"questions.jsonl": b"Who?\nWhy?"},
        'questions.jsonl:1 is not JSON (Expecting value at column 1); write each row as an object, such as {"field": "text"} (also in row 2)',
    ),
    (
        GOLDEN,
        {"questions.jsonl": b'[\n{"query": "x"}\n]'},
        "questions.jsonl:1 begins a JSON value of several lines; write each object on a line of its own",
    ),
    (
        GOLDEN,
        {"questions.jsonl": b'[{"query": "x"}]'},
        "questions.jsonl:1 is a list, not an object; write each object on a line of its own",
    ),
    (GOLDEN, asked(relevant_doc_ids="d3"), "questions.jsonl:1 has a text in 'relevant_doc_ids', not a list; write [\"d3\"]"),
    # Files that are something else.
    (GOLDEN, {"questions.jsonl": GOLDEN["questions.jsonl"].encode("utf-16")}, "questions.jsonl is UTF-16; save the file as UTF-8"),
    (TABLE, {"questions.csv": TABLE["questions.csv"].encode("utf-16-le")}, "questions.csv looks like UTF-16; save the file as UTF-8"),
    (
        TABLE,
        {"questions.csv": b"PK\x03\x04\xff"},
        "questions.csv is a ZIP archive, as .docx, .xlsx and .odt files are, not a text file; export it as text (UTF-8)",
    ),
    (TABLE, {"questions.csv": b"PAR1\xff"}, "questions.csv is a parquet file, not a text file; export it as text (UTF-8)"),
    (TABLE, {"questions.csv": b""}, "questions.csv is empty; its first line should be query"),
    (
        GOLDEN,
        {"documents/a.pdf": b"%PDF", "documents/b.pdf": b"%PDF"},
        "documents/a.pdf and 1 more .pdf file are not read: documents are .md, .markdown, .txt, .html, .htm; convert them or move them away",
    ),
    (TREC, {"qrels.txt": b"q1,0,d3,1\n"}, "qrels.txt:1 has 1 field, not the 4 of query_id 0 doc_id relevance, separated by blanks or tabs"),
    (
        TREC,
        {"qrels.txt": b"query iter doc relevance\nq1 0 d3 1\n"},
        "qrels.txt:1 has the relevance 'relevance', not a whole number; remove the header",
    ),
    (BEIR, {"qrels/test.tsv": b"q1,d3,1\n"}, "qrels/test.tsv:1 is not query-id, corpus-id and a whole score, separated by tabs"),
]


@pytest.mark.parametrize(("files", "changed", "line"), MISTAKES, ids=[line[:60] for _, _, line in MISTAKES])
def test_a_mistake_is_one_line_with_its_place_and_what_was_meant(
    tmp_path: Path, files: dict[str, str], changed: dict[str, bytes], line: str
) -> None:
    assert read(tmp_path, files, changed)[0] == [line]


@pytest.mark.parametrize(
    "changed",
    [{name: text.encode("utf-8-sig") for name, text in files.items()} for files in (GOLDEN, BEIR, TREC, TABLE)],
    ids=["golden", "beir", "trec", "table"],
)
def test_a_byte_order_mark_is_read_in_every_format(tmp_path: Path, changed: dict[str, bytes]) -> None:
    assert read(tmp_path, {}, changed) == ([], [])


@pytest.mark.parametrize(("separator", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")])
def test_a_table_with_another_separator_is_read_with_a_note(tmp_path: Path, separator: str, name: str) -> None:
    table = separator.join(("query", "relevant_doc_ids", '"a, b"')) + "\n" + separator.join(("Who pays, me?", "d3", "x")) + "\n"
    note = f"questions.csv is separated by {name}, not by commas, and is read like that"
    assert read(tmp_path, TABLE, {"questions.csv": table.encode()}) == ([], [note])
    assert read(tmp_path, TABLE, {"questions.csv": f"sep={separator}\n{table}".encode()}) == ([], [note])
    wrong = table + separator.join(("Why?", "d3", "d4", "x")) + "\n"
    assert read(tmp_path, TABLE, {"questions.csv": wrong.encode()})[0] == [
        f"questions.csv:3 has 4 cells, and the header has 3; quote cells with {name}"
    ]


def test_the_same_fault_of_many_rows_is_one_line(tmp_path: Path) -> None:
    rows = "\n".join(json.dumps({"question": f"{number}?", "relevant_doc_ids": ["d3"]}) for number in range(30))
    (line,) = read(tmp_path, GOLDEN, {"questions.jsonl": rows.encode()})[0]
    assert line.startswith("questions.jsonl:1 has no use for field 'question' (did you mean 'query'?); rename it (also in rows 2, 3, 4,")
    assert line.endswith("10 and 20 more)")


def test_a_question_twice_without_an_id_is_named_by_its_text(tmp_path: Path) -> None:
    row = json.dumps({"query": "Who?", "relevant_doc_ids": ["d3"]})
    lines = read(tmp_path, GOLDEN, {"questions.jsonl": f"{row}\n{row}".encode()})[0]
    assert lines == ["questions.jsonl:2 repeats the text of questions.jsonl:1; a question without query_id must be unique"]


def test_null_is_the_same_as_no_label(tmp_path: Path) -> None:
    assert read(tmp_path, GOLDEN, asked(answerable=None, evidence=None, irrelevant_doc_ids=None)) == ([], [])


def test_an_empty_folder_of_documents_is_the_only_fault(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    lines = read(tmp_path, {}, asked())[0]
    assert lines == ["documents has no documents; put .md, .markdown, .txt, .html, .htm files into it"]


def test_a_question_that_repeats_a_text_is_a_note_with_both_places_and_worse_labels_first(tmp_path: Path) -> None:
    same = QUESTION | {"query_id": "q2", "query": "who pays for  THE taxi?"}
    other = QUESTION | {"query_id": "q3", "relevant_doc_ids": ["d4"]}
    rows = "\n".join(map(json.dumps, (QUESTION, same, other)))
    changed = {"questions.jsonl": rows.encode(), "documents/d4.md": b"The guest pays."}
    lines, remarks = read(tmp_path, GOLDEN, changed)
    assert lines == []
    text = "repeats the text of question 'q1' (questions.jsonl:1) with"
    assert remarks == [
        f"questions.jsonl:3 question 'q3' {text} other labels; make the question specific, or give both all labels",
        f"questions.jsonl:2 question 'q2' {text} the same labels; remove one of them",
    ]


def test_questions_without_an_expected_answer_are_counted_if_others_have_one(tmp_path: Path) -> None:
    asked_of = [QUESTION | {"query_id": f"q{number}", "query": f"Who {number}?"} for number in range(3)]
    for answered, expected in ((3, []), (0, []), (2, ["1 of 3 answerable questions have no expected answer (answer)"])):
        rows = [row | {"answer": "The guest."} if number < answered else row for number, row in enumerate(asked_of)]
        (tmp_path / str(answered)).mkdir()
        changed = {"questions.jsonl": "\n".join(map(json.dumps, rows)).encode(), "documents/d4.md": b"The guest pays."}
        _, remarks = read(tmp_path / str(answered), GOLDEN, changed)
        assert [remark.split(", with which")[0] for remark in remarks] == expected


def test_faults_are_in_the_order_of_files_and_rows(tmp_path: Path) -> None:
    rows = [QUESTION | {"query_id": f"q{number}", "query": f"Who {number}?"} for number in range(12)]
    rows[10]["evidences"] = []
    rows[2]["relevant_doc_ids"] = ["gone"]
    rows[1]["query"] = " "
    questions = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    found, _ = read(tmp_path, GOLDEN, {"questions.jsonl": questions, "documents/a.md": b" "})
    assert [line.partition(" ")[0] for line in found] == ["documents/a.md", "questions.jsonl:2", "questions.jsonl:3", "questions.jsonl:11"]
