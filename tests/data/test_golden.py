import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.core.errors import DatasetError, InputError
from workbench.core.records import Dataset, Document, Need, Qrel, Query, Span
from workbench.data.formats.golden import question_rows, write_golden
from workbench.data.sources import GoldenSource, ListSource

ASKED = {"query": "Who?", "relevant_doc_ids": ["d"]}
Load = Callable[..., Dataset]
SMALL = Dataset(
    "small",
    (Document("d", "Ada wrote it.", "T"), Document("e", "Bob."), Document("f", "Cid.")),
    (Query("q", "Who?", True, "Ada", {"type": "factoid"}), Query("r", "Why?", False)),
    (Qrel("q", "d", 1), Qrel("q", "f", 0), Qrel("q", "e", -1)),
    (Need("q", (Span("d", 0, 3),)),),
)


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """A golden folder with these questions (rows, or the file's own text) and documents.jsonl, loaded."""

    def make(
        *questions: Any, documents: str = '{"doc_id": "d", "text": "Ada wrote it. Bob read it."}', split: str | None = None
    ) -> Dataset:
        lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in questions]
        (tmp_path / "documents.jsonl").write_bytes(documents.encode("utf-8"))
        (tmp_path / "questions.jsonl").write_bytes("\n".join(lines).encode("utf-8"))
        return GoldenSource(path=str(tmp_path), split=split).load()

    return make


def faults(load: Load, *questions: Any, **more: Any) -> list[str]:
    with pytest.raises(DatasetError) as caught:
        load(*questions, **more)
    return [re.sub(r"/\S*/", "", fault) for fault in caught.value.faults]


def span(start: int, end: int, text: str | None = None, doc_id: str = "d") -> dict[str, Any]:
    return {"doc_id": doc_id, "start": start, "end": end} | ({} if text is None else {"text": text})


def test_a_folder_of_texts_and_questions_becomes_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "documents" / "hr").mkdir(parents=True)
    (tmp_path / "documents" / "hr" / "leave.md").write_bytes("# Leave\r\n\r\nThirty 😀 days.\r\n".encode())
    (tmp_path / "documents" / "note.v2.txt").write_text("A note.")
    (tmp_path / "documents" / ".hidden").write_text("not a document")
    first = {
        "query_id": 7,
        "query": "How many days?",
        "relevant_doc_ids": {"hr/leave": 2},
        "irrelevant_doc_ids": ["note.v2"],
        # The emoji is one code point.
        "evidence": [[span(20, 24, "days", "hr/leave"), span(0, 7, "# Leave", "hr/leave")], [span(11, 17, "Thirty", "hr/leave")]],
        "answer": "thirty",
        "type": "factoid",
        "domain": "hr",
    }
    second = {"query": "Who is the king?", "answerable": False}
    (tmp_path / "questions.jsonl").write_text("\n".join(json.dumps(row) for row in (first, second)))
    dataset = GoldenSource(path=str(tmp_path)).load()
    assert dataset.documents == (Document("hr/leave", "# Leave\r\n\r\nThirty 😀 days.\r\n"), Document("note.v2", "A note."))
    assert dataset.qrels == (Qrel("7", "hr/leave", 2), Qrel("7", "note.v2", -1))
    assert dataset.needs == (
        Need("7", (Span("hr/leave", 20, 24), Span("hr/leave", 0, 7))),
        Need("7", (Span("hr/leave", 11, 17),)),
    )
    seven, king = dataset.queries
    assert (seven.query_id, seven.answer, seven.answerable, dict(seven.metadata)) == (
        "7",
        "thirty",
        True,
        {"type": "factoid", "domain": "hr"},
    )
    assert king.answerable is False
    assert king.query_id.startswith("q-")


def test_one_json_file_holds_everything(tmp_path: Path) -> None:
    file = tmp_path / "golden.json"
    file.write_text(json.dumps({"documents": [{"doc_id": "d", "title": "T", "text": "Ada wrote it."}], "questions": [ASKED]}))
    dataset = GoldenSource(path=str(file)).load()
    assert dataset.name == "golden"
    assert dataset.documents == (Document("d", "Ada wrote it.", "T"),)
    assert [query.text for query in dataset.queries] == ["Who?"]


def test_a_plain_list_is_read_with_its_documents(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "1.txt").write_text("one")
    (tmp_path / "docs" / "2.txt").write_text("two")
    (tmp_path / "list.json").write_text(json.dumps([{"query": "1?", "relevant_doc_ids": [1], "irrelevant_doc_ids": [2]}]))
    dataset = ListSource(path=str(tmp_path / "list.json"), documents=str(tmp_path / "docs")).load()
    assert [(qrel.doc_id, qrel.relevance) for qrel in dataset.qrels] == [("1", 1), ("2", -1)]
    with pytest.raises(InputError, match="is a list of questions without documents"):
        GoldenSource(path=str(tmp_path / "list.json")).load()


def test_the_id_of_a_question_without_one_survives_reordering(load: Load) -> None:
    other = {"query": "What?", "relevant_doc_ids": ["d"]}
    forth = {query.text: query.query_id for query in load(ASKED, other).queries}
    back = {query.text: query.query_id for query in load(other, ASKED).queries}
    assert forth == back
    assert len(set(forth.values())) == 2


def test_a_question_may_have_the_id_zero(load: Load) -> None:
    assert load(ASKED | {"query_id": 0}).queries[0].query_id == "0"


def test_a_split_keeps_its_questions_and_those_without_one(load: Load) -> None:
    rows = [ASKED | {"query_id": name, **more} for name, more in (("a", {"split": "dev"}), ("b", {"split": "test"}), ("c", {}))]
    assert [query.query_id for query in load(*rows, split="dev").queries] == ["a", "c"]
    assert [query.query_id for query in load(*rows).queries] == ["a", "b", "c"]


def test_a_split_that_no_question_names_is_one_line_with_those_that_exist(load: Load) -> None:
    rows = [ASKED | {"query_id": name, **more} for name, more in (("a", {"split": "dev"}), ("b", {"split": "test"}), ("c", {}))]
    with pytest.raises(InputError, match=r"has no split 'tset' \(did you mean 'test'\?\); its splits are dev and test"):
        load(*rows, split="tset")
    with pytest.raises(InputError, match=r"has no split 'dev'; leave the split out, since no question names one"):
        load(ASKED, split="dev")


def test_a_file_without_questions_is_a_fault(load: Load) -> None:
    assert faults(load) == ["the dataset has no questions; check the file of questions"]


def test_line_separators_inside_a_json_string_do_not_end_its_line(load: Load) -> None:
    text = "one\u2028two\u0085three\u2029four"
    row = ASKED | {"evidence": [[span(4, 7, "two")]]}
    dataset = load(row, documents=json.dumps({"doc_id": "d", "text": text}, ensure_ascii=False))
    assert dataset.documents[0].text == text
    assert load(json.dumps(row) + "\r", documents=json.dumps({"doc_id": "d", "text": text}) + "\r\n").needs == dataset.needs


def test_offsets_count_code_points(load: Load) -> None:
    text = "👩‍👩‍👧 e\u0301 日本語 end"
    documents = json.dumps({"doc_id": "d", "text": text})
    at = text.index("日本語")
    assert at == 9
    assert load(ASKED | {"evidence": [[span(at, at + 3, "日本語")]]}, documents=documents).needs[0].alternatives == (Span("d", 9, 12),)
    bytewise = len(text[:at].encode())
    (fault,) = faults(load, ASKED | {"evidence": [[span(bytewise, bytewise + 3, "日本語")]]}, documents=documents)
    assert fault.endswith(f"is [{bytewise}, {bytewise + 3}) in document 'd' of 16 characters; it is in document 'd' at [9, 12)")


FAULTY: dict[str, dict[str, Any]] = {
    "no such document": {"relevant_doc_ids": ["d", "x"]},
    "unjudged": {"relevant_doc_ids": []},
    "only irrelevant": {"relevant_doc_ids": {"d": 0}},
    "unanswerable": {"answerable": False},
    "unanswerable by type": {"type": "unanswerable"},
    "both": {"irrelevant_doc_ids": ["d"]},
    "both again": {"judged_doc_ids": ["d"]},
    "other text": {"evidence": [[span(0, 3, "Eve")]]},
    "beyond": {"evidence": [[span(0, 27)]]},
    "before": {"evidence": [[span(-1, 3)]]},
    "nothing": {"evidence": [[span(3, 3)]]},
    "blank": {"evidence": [[span(3, 4)]]},
    "nowhere": {"evidence": [[span(0, 3, None, "x")]]},
    "fraction": {"evidence": [[span(0, 3) | {"end": 2.5}]]},
    "no span": {"evidence": ["Ada"]},
    "no list": {"evidence": "Ada"},
    "ids as text": {"relevant_doc_ids": "d"},
    "ids as objects": {"relevant_doc_ids": [{"doc_id": "d"}]},
    "grade": {"relevant_doc_ids": {"d": 1.5}},
    "a grade that no number of the tables holds": {"relevant_doc_ids": {"d": 10**400}},
    "empty query": {"query": " "},
    "no query": {"query": None},
    "marked in words": {"answerable": "false"},
    "id as list": {"query_id": ["q"]},
    "hard negatives": {"irrelevant_docs": ["d"]},
    "unlike any": {"relevant_doc_ids": [], "gold": ["d"]},
    "opposite": {"relevant_doc_ids": [], "unanswerable": True},
    "evidences": {"evidences": []},
    "capital": {"Split": "dev"},
}


def test_a_wrong_question_is_named_with_its_line(load: Load, wording) -> None:
    wording(lambda more: load(ASKED | {"query_id": "good"}, ASKED | {"query_id": "q"} | more), FAULTY, DatasetError)


@pytest.mark.parametrize(
    ("fields", "answers"),
    [
        ({"answer": "Ada", "answer_variants": ["Ada Byron", "Ada"]}, ("Ada", "Ada Byron")),
        ({"answer": "Ada", "aliases": "Lovelace"}, ("Ada", "Lovelace")),
        ({"answers": ["Ada", "Eve"]}, ("Ada", "Eve")),
        ({"answers": {"text": ["Ada"], "answer_start": [3]}}, ("Ada",)),
        ({"answer": 0, "answers": [1843, None, " "]}, ("0", "1843")),
        ({"answer": None}, ("",)),
    ],
)
def test_the_expected_answer_is_read_with_its_variants(load: Load, fields: dict[str, Any], answers: tuple[str, ...]) -> None:
    (query,) = load(ASKED | fields).queries
    assert (query.answer, *query.answer_variants) == answers
    assert not query.metadata


def test_an_expected_answer_that_is_no_text_is_a_fault(load: Load) -> None:
    with pytest.raises(DatasetError, match="in 'answers', which is neither a text nor a list of texts"):
        load(ASKED | {"answers": [["Ada"]]})


def test_a_field_like_no_other_is_metadata_and_so_is_one_beside_the_field_that_it_looks_like(load: Load) -> None:
    (query,) = load(ASKED | {"tags": ["x"], "difficulty": 2, "answer": "Ada", "answre": ["Ada", "Eve"]}).queries
    assert dict(query.metadata) == {"tags": ["x"], "difficulty": 2, "answre": ["Ada", "Eve"]}


def test_every_fault_is_reported_at_once_each_with_its_line(load: Load) -> None:
    documents = "\n".join(['{"doc_id": "d", "text": "Ada"}', '{"doc_id": "d", "text": " "}', "{oops", "[1]", '{"doc_id": "n"}'])
    rows = [ASKED | {"query_id": "q"}, ASKED | {"query_id": "q", "relevant_doc_ids": ["x"], "evidence": [[span(0, 9)]]}]
    assert faults(load, *rows, documents=documents) == [
        "documents.jsonl:2 repeats the document id 'd' of documents.jsonl:1; ids must be unique",
        "documents.jsonl:2 document 'd' is empty; write its text, or delete it",
        "documents.jsonl:3 is not JSON (Expecting property name enclosed in double quotes at column 2)",
        "documents.jsonl:4 is a list, not an object; write each object on a line of its own",
        "documents.jsonl:5 has no text in 'text'; its fields are 'doc_id'",
        "questions.jsonl:2 repeats the question id 'q' of questions.jsonl:1; ids must be unique",
        "questions.jsonl:2 judges document 'x', but this document does not exist",
        "questions.jsonl:2 evidence of question 'q' is [0, 9) in document 'd' of 1 character",
    ]


def test_a_line_that_is_no_json_is_a_fault(load: Load, wording) -> None:
    wording(
        lambda line: load(ASKED, line),
        [
            '{"query": "x", "n": NaN}',
            '{"query": "x", "n": ' + "1" * 5000 + "}",
            "[" * 100_000,
            r'{"query": "x \ud800"}',
            r'{"query": "x", "\uDC00": 1}',
            "{'query': 'x'}",
        ],
        DatasetError,
    )


def test_whole_characters_written_as_escapes_are_read(load: Load) -> None:
    assert load(json.dumps(ASKED | {"query": "\U0001f600?"})).queries[0].text == "😀?"


def test_a_json_file_of_neither_form_is_one_line(tmp_path: Path, wording) -> None:
    def read(content: str) -> None:
        (tmp_path / "golden.json").write_text(content)
        GoldenSource(path=str(tmp_path / "golden.json")).load()

    wording(
        read,
        [
            '"text"',
            "5",
            "null",
        ],
    )


def test_a_broken_json_file_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "golden.json").write_text('{\n"questions": [,]}')
    with pytest.raises(InputError, match=r"golden\.json:2 is not JSON \(Expecting value at column 15\)"):
        GoldenSource(path=str(tmp_path / "golden.json")).load()


def test_a_text_that_is_not_plain_utf_8_is_a_fault(tmp_path: Path, wording) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "questions.jsonl").write_text(json.dumps(ASKED | {"relevant_doc_ids": ["leave"]}))

    def read(raw: bytes) -> None:
        (tmp_path / "documents" / "leave.md").write_bytes(raw)
        GoldenSource(path=str(tmp_path)).load()

    wording(
        read,
        {
            "latin-1": "One.\nTwo.\nCaf\u00e9.".encode("latin-1"),
            "utf-16": "Text.".encode("utf-16"),
            "utf-16 without mark": "Text.".encode("utf-16-be"),
            "NUL": b"Te\x00xt",
            "pdf": b"%PDF-1.7 \xe2",
            "blank": b" \r\n\t",
        },
        DatasetError,
    )


def test_a_file_among_the_documents_that_is_no_text_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "d.txt").write_text("Text.")
    (tmp_path / "documents" / "d.md").write_text("Text.")
    (tmp_path / "documents" / "scan.pdf").write_bytes(b"%PDF")
    (tmp_path / "questions.jsonl").write_text(json.dumps(ASKED))
    with pytest.raises(DatasetError) as caught:
        GoldenSource(path=str(tmp_path)).load()
    twice, pdf = caught.value.faults
    assert pdf.endswith("scan.pdf is not read: documents are .md, .markdown, .txt, .html, .htm; convert it or move it away")
    assert twice.startswith(f"{tmp_path}/documents/d.txt repeats the document id 'd'")


def test_what_is_missing_or_unreadable_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the dataset .*/nowhere does not exist"):
        GoldenSource(path=str(tmp_path / "nowhere")).load()
    with pytest.raises(InputError, match=r"has no documents; expected documents\.jsonl or documents/; the folder is empty"):
        GoldenSource(path=str(tmp_path)).load()
    (tmp_path / "documents").mkdir()
    with pytest.raises(InputError, match=r"has no questions; expected questions\.jsonl or questions\.json; it contains documents"):
        GoldenSource(path=str(tmp_path)).load()
    (tmp_path / "questions.jsonl").mkdir()
    with pytest.raises(InputError, match=r"questions\.jsonl is a folder, not a file; put a file in its place"):
        GoldenSource(path=str(tmp_path)).load()
    with pytest.raises(InputError, match="File name too long"):
        GoldenSource(path="a" * 5000).load()


def test_the_bundled_handbook_has_no_fault() -> None:
    handbook = Path(__file__).parents[2] / "experiments" / "handbook"
    whole = GoldenSource(path=str(handbook)).load()
    parts = [GoldenSource(path=str(handbook), split=split).load() for split in ("dev", "test")]
    assert {query.query_id for part in parts for query in part.queries} == {query.query_id for query in whole.queries}
    assert whole.needs


def test_a_byte_order_mark_of_lines_shifts_nothing_and_is_read(load: Load) -> None:
    assert load("\ufeff" + json.dumps(ASKED), documents='\ufeff{"doc_id": "d", "text": "Ada"}').documents[0].text == "Ada"


def test_a_byte_order_mark_of_a_document_is_no_part_of_it_and_positions_beside_it_need_their_text(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "d.md").write_bytes("Ada wrote it.".encode("utf-8-sig"))
    (tmp_path / "documents" / "e.html").write_bytes("<p>Ada wrote it.".encode("utf-8-sig"))
    evidence = [[span(0, 3, "Ada")], [span(0, 3, None, "e")]]
    question = ASKED | {"query_id": "q", "relevant_doc_ids": ["d", "e"], "evidence": evidence}
    (tmp_path / "questions.jsonl").write_text(json.dumps(question))
    assert GoldenSource(path=str(tmp_path)).load().documents[0].text == "Ada wrote it."
    (tmp_path / "questions.jsonl").write_text(json.dumps(question | {"evidence": [[span(0, 3)]]}))
    with pytest.raises(DatasetError, match="has no 'text', and document 'd' begins with a byte order mark, which may shift positions"):
        GoldenSource(path=str(tmp_path)).load()


def test_a_judged_document_is_neither_relevant_nor_a_hard_negative(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in "abc":
        (tmp_path / "docs" / f"{name}.txt").write_text(name)
    question = {"query": "a?", "query_id": "q", "relevant_doc_ids": ["a"], "irrelevant_doc_ids": ["b"], "judged_doc_ids": ["c"]}
    (tmp_path / "list.json").write_text(json.dumps([question]))
    dataset = ListSource(path=str(tmp_path / "list.json"), documents=str(tmp_path / "docs")).load()
    assert dataset.qrels == (Qrel("q", "a", 1), Qrel("q", "c", 0), Qrel("q", "b", -1))
    (tmp_path / "list.json").write_text(json.dumps([question | {"judged_doc_ids": ["b"]}]))
    with pytest.raises(DatasetError, match="calls document 'b' both a hard negative and judged without being either"):
        ListSource(path=str(tmp_path / "list.json"), documents=str(tmp_path / "docs")).load()


def test_rows_are_those_a_person_would_write() -> None:
    assert list(question_rows(SMALL)) == [
        {
            "query_id": "q",
            "query": "Who?",
            "relevant_doc_ids": ["d"],
            "irrelevant_doc_ids": ["e"],
            "judged_doc_ids": ["f"],
            "evidence": [[{"doc_id": "d", "start": 0, "end": 3, "text": "Ada"}]],
            "answer": "Ada",
            "type": "factoid",
        },
        {"query_id": "r", "query": "Why?", "answerable": False},
    ]


@settings(max_examples=60)
@given(data=st.data())
def test_any_dataset_is_the_same_after_a_golden_folder(datasets: Callable[..., st.SearchStrategy[Dataset]], data: st.DataObject) -> None:
    dataset = data.draw(datasets())
    with TemporaryDirectory() as folder:
        write_golden(dataset, Path(folder) / "golden")
        assert GoldenSource(path=str(Path(folder) / "golden"), recurrences=False).load() == dataset


def test_the_same_dataset_gives_the_same_bytes_in_a_new_or_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "not/yet/there"):
        write_golden(SMALL, tmp_path / name)
    for name in ("documents.jsonl", "questions.jsonl"):
        assert (tmp_path / "empty" / name).read_bytes() == (tmp_path / "not/yet/there" / name).read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"empty", "not"}


def test_a_place_that_is_taken_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    for taken in (tmp_path / "full", tmp_path / "full" / "notes.txt"):
        with pytest.raises(InputError, match=r"exists and is not an empty folder; name a new one$"):
            write_golden(SMALL, taken)
    with pytest.raises(InputError, match=r"cannot be written \((Not a directory|File exists)\)"):
        write_golden(SMALL, tmp_path / "full" / "notes.txt" / "new")
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "notes.txt"]


@pytest.mark.parametrize(
    ("metadata", "error", "message"),
    [
        ({"query": "x", "evidence": 1}, DatasetError, "question 'q' has metadata 'query', which is a field of the format"),
        (
            {"answre": ["x"]},
            DatasetError,
            "question 'q' has metadata 'answre', which looks like the field 'answer'; rename it in the source",
        ),
        ({"score": float("inf")}, InputError, "a number does not fit JSON"),
    ],
)
def test_what_the_format_cannot_hold_is_named_and_nothing_is_written(
    tmp_path: Path, metadata: dict[str, object], error: type[InputError], message: str
) -> None:
    dataset = Dataset("d", SMALL.documents, (Query("q", "Who?", metadata=metadata),), SMALL.qrels)
    with pytest.raises(error, match=message):
        write_golden(dataset, tmp_path / "golden")
    assert list(tmp_path.iterdir()) == []


def test_nothing_half_written_is_left_when_the_disk_is_full(tmp_path: Path, run_python: Callable[..., str]) -> None:
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (9, 9))\n"
        "from pathlib import Path\nfrom workbench.data.formats.golden import write_golden\nfrom workbench.core.errors import InputError\n"
        "from workbench.core.records import Dataset, Document\n"
        "try: write_golden(Dataset('d', (Document('d', 'x'),), (), ()), Path(sys.argv[1]) / 'golden')\n"
        "except InputError as error: print(error)"
    )
    assert "cannot be written (File too large)" in run_python(script, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_lines_hold_what_would_end_a_line_elsewhere(tmp_path: Path) -> None:
    dataset = Dataset("d", (Document("d", "a\u2028b\nc\x85"),), (Query("q", "?\n"),), (Qrel("q", "d", 1),))
    write_golden(dataset, tmp_path / "d")
    assert json.loads((tmp_path / "d" / "documents.jsonl").read_text("utf-8"))["text"] == "a\u2028b\nc\x85"
    assert GoldenSource(path=str(tmp_path / "d")).load() == dataset


def test_evidence_makes_its_document_relevant_unless_the_question_names_the_relevant_ones(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    for name in ("a", "b"):
        (tmp_path / "documents" / f"{name}.md").write_text("Some text.")
    span = [[{"doc_id": "a", "start": 0, "end": 4}]]
    rows = [
        {"query_id": "q1", "query": "x", "evidence": span},
        {"query_id": "q2", "query": "y", "evidence": span, "relevant_doc_ids": ["b"]},
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    dataset = GoldenSource(path=str(tmp_path)).load()
    assert [(qrel.query_id, qrel.doc_id) for qrel in dataset.qrels] == [("q1", "a"), ("q2", "b")]
    assert len(dataset.needs) == 2


def test_a_folder_is_replaced_as_a_whole_and_survives_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_golden(SMALL, tmp_path / "new", {"more.txt": "more"})
    with pytest.raises(InputError, match="exists and is not an empty folder"):
        write_golden(SMALL, tmp_path / "new")
    rename = os.replace

    def fail_once(source: Path, target: Path) -> None:
        if not str(target).endswith(".old") and not str(source).endswith(".old"):
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(os, "replace", fail_once)
    with pytest.raises(InputError, match="cannot be written"):
        write_golden(SMALL, tmp_path / "new", replace=True)
    assert (tmp_path / "new" / "more.txt").read_text() == "more"
    monkeypatch.undo()
    write_golden(SMALL, tmp_path / "new", replace=True)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["documents.jsonl", "questions.jsonl"]
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
