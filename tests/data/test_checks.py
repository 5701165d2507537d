"""Mistakes in folders of every format, each with the one line that names it and its fix."""

import json
from pathlib import Path
from tempfile import mkdtemp

import pytest

from workbench.data.checks import faults, notes
from workbench.data.sources import recognise

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


MISTAKES = {
    "an id with a suffix": (GOLDEN, asked(relevant_doc_ids=["d3.md"])),
    "an id with a path": (GOLDEN, asked(evidence=[[{"doc_id": "documents/d3.md", "start": 0, "end": 3}]])),
    "an id in capitals": (GOLDEN, asked(relevant_chunks=[{"doc_id": "D3", "text": "taxi"}])),
    "a question in capitals": (BEIR, {"qrels/test.tsv": b"q1\td3\t1\nQ1\td3\t1\n"}),
    "an id in capitals with a suffix": (TREC, {"qrels.txt": b"q1 0 d3 1\nq1 0 D3.txt 1\n"}),
    "two ids in one": (TABLE, {"questions.csv": b'query,relevant_doc_ids\nWho pays?,"d3, d3"\n'}),
    **{f"{name} for query": (GOLDEN, instead(name, "query")) for name in ("question", "text", "Query")},
    **{
        f"{name} for relevant_doc_ids": (GOLDEN, instead(name, "relevant_doc_ids"))
        for name in ("relevant_docs", "relevant", "relevant_documents")
    },
    **{f"{name} for query_id": (GOLDEN, instead(name, "query_id")) for name in ("id", "_id", "qid")},
    "negatives": (GOLDEN, asked(hard_negatives=["d3"])),
    "labels under another name": (GOLDEN, instead("source", "relevant_doc_ids")),
    "a document of a span": (GOLDEN, asked(evidence=[{"document": "d3", "start": 0, "end": 3}])),
    "a text of a chunk": (GOLDEN, asked(relevant_chunks=[{"content": "taxi"}])),
    "a span without positions": (GOLDEN, asked(evidence=[[{"doc_id": "d3", "text": "taxi"}]])),
    "a query of BEIR": (BEIR, {"queries.jsonl": b'{"_id": "q1", "query": "Who?"}'}),
    "a text of BEIR": (BEIR, {"corpus.jsonl": b'{"_id": "d3", "content": "x"}'}),
    "a column like query": (TABLE, {"questions.csv": b"question,relevant_doc_ids\nWho?,d3\n"}),
    "a column like doc_id": (TABLE, {"documents.csv": b"name,text\nd3,x\n"}),
    "a passage in capitals": (GOLDEN, asked(relevant_chunks=["the firm PAYS"])),
    "another passage": (GOLDEN, asked(relevant_chunks=["The firm pays for the taxi."])),
    "a passage one letter on": (GOLDEN, asked(evidence=[[{"doc_id": "d3", "start": 3, "end": 7, "text": "firm"}]])),
    "single quotes": (GOLDEN, {"questions.jsonl": b"{'query': 'x'}"}),
    "a comma after a row": (GOLDEN, {"questions.jsonl": b'{"query": "x"},\n'}),
    "True for true": (GOLDEN, {"questions.jsonl": b'{"query": "x", "answerable": True}'}),
    "text for JSON": (GOLDEN, {"questions.jsonl": b"Who?\nWhy?"}),
    "a list over several lines": (GOLDEN, {"questions.jsonl": b'[\n{"query": "x"}\n]'}),
    "a list in one line": (GOLDEN, {"questions.jsonl": b'[{"query": "x"}]'}),
    "a text for a list": (GOLDEN, asked(relevant_doc_ids="d3")),
    "UTF-16": (GOLDEN, {"questions.jsonl": GOLDEN["questions.jsonl"].encode("utf-16")}),
    "UTF-16 without a mark": (TABLE, {"questions.csv": TABLE["questions.csv"].encode("utf-16-le")}),
    "a ZIP archive": (TABLE, {"questions.csv": b"PK\x03\x04\xff"}),
    "a parquet file": (TABLE, {"questions.csv": b"PAR1\xff"}),
    "an empty table": (TABLE, {"questions.csv": b""}),
    "PDF files": (GOLDEN, {"documents/a.pdf": b"%PDF", "documents/b.pdf": b"%PDF"}),
    "judgements with commas": (TREC, {"qrels.txt": b"q1,0,d3,1\n"}),
    "judgements with a header": (TREC, {"qrels.txt": b"query iter doc relevance\nq1 0 d3 1\n"}),
    "judgements of BEIR with commas": (BEIR, {"qrels/test.tsv": b"q1,d3,1\n"}),
}


def test_a_mistake_is_one_line_with_its_place_and_what_was_meant(tmp_path: Path, wording) -> None:
    wording(lambda mistake: " | ".join(read(Path(mkdtemp(dir=tmp_path)), *mistake)[0]), MISTAKES, None)


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


def test_a_question_that_a_person_wrote_for_a_placeholder_is_not_synthetic(tmp_path: Path) -> None:
    marks = {"synthetic": True, "provenance": {"part": "placeholder"}}
    rows = [
        QUESTION | marks | {"accepted_by": "ana"},
        QUESTION | marks | {"query_id": "q2", "query": "Taxis"},
        QUESTION | {"query_id": "q3", "query": "Is a taxi paid for?", "synthetic": True, "accepted_by": "ana"},
    ]
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "d3.md").write_text("The firm pays for a taxi.")
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    draft = recognise(str(tmp_path), None).read()
    assert [(query.synthetic, query.is_draft) for query, _ in draft.queries] == [(False, False), (True, True), (True, False)]
    said = [note for note in notes(draft) if "synthetic" in note or "placeholder" in note]
    assert [note.partition(",")[0] for note in said] == [
        "1 of 3 questions are placeholders",
        "1 of 3 questions are synthetic (drafted by a model",
    ]
