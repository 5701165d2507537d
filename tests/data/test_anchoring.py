import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.core.errors import DatasetError
from workbench.core.records import Dataset, Document, Need, Qrel, Query, Span
from workbench.data.checks import faults, notes
from workbench.data.draft import DatasetDraft
from workbench.data.labels import TextSearch, with_recurrences
from workbench.data.sources import BeirSource, GoldenSource

DOCUMENTS = {
    "a": "Ada wrote it. Bob read\n  it twice. The end.",
    "b": "Nobody wrote it. The end.",
    "c": "The end. Bob read it.",
}
Read = Callable[..., DatasetDraft]
WORDS = st.text("ab \n", max_size=12)


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """The draft of one question with these fields about three documents."""

    def make(*chunks: Any, **more: Any) -> DatasetDraft:
        rows = [{"doc_id": doc_id, "text": text} for doc_id, text in DOCUMENTS.items()]
        (tmp_path / "documents.jsonl").write_text("\n".join(map(json.dumps, rows)))
        (tmp_path / "questions.jsonl").write_text(json.dumps({"query_id": "q", "query": "?", "relevant_chunks": list(chunks)} | more))
        return GoldenSource(path=str(tmp_path)).read()

    return make


def found(draft: DatasetDraft) -> tuple[list[tuple[Span, ...]], dict[str, int], list[str]]:
    """The needs, the grades and the notes of a draft without faults."""
    assert faults(draft) == []
    dataset = GoldenSource(path="").dataset(draft)
    given: dict[str, list[Span]] = {}
    for row in draft.evidence:
        given.setdefault(row.need, []).append(row.span)
    return [tuple(spans) for spans in given.values()], {qrel.doc_id: qrel.relevance for qrel in dataset.qrels}, notes(draft)


def wrong(draft: DatasetDraft) -> list[str]:
    return [re.sub(r"/\S*/", "", fault) for fault in faults(draft)]


def test_a_text_that_is_there_once_is_a_need_and_its_document_becomes_relevant(read: Read) -> None:
    assert found(read("Ada wrote it.", "Nobody")) == ([(Span("a", 0, 13),), (Span("b", 0, 6),)], {"a": 1, "b": 1}, [])


def test_other_white_space_is_found_only_where_the_text_does_not_stand_verbatim(read: Read) -> None:
    assert found(read("Bob read it twice."))[0] == [(Span("a", 14, 34),)]
    assert found(read("Bob read it"))[0] == [(Span("c", 9, 20),)]
    assert found(read({"doc_id": "a", "text": "Bob read it"}))[0] == [(Span("a", 14, 27),)]


def test_several_places_are_alternatives_and_reported_where_nothing_decides(read: Read) -> None:
    needs, grades, said = found(read("The end."))
    assert needs == [(Span("a", 35, 43), Span("b", 17, 25), Span("c", 0, 8))]
    assert grades == {"a": 1, "b": 1, "c": 1}
    (note,) = said
    assert "questions.jsonl:1 relevant chunk 'The end.' of question 'q' is ambiguous: it is in documents 'a', 'b', 'c', all taken" in note
    assert found(read("read"))[2] != []
    assert found(read({"doc_id": "a", "text": "it"}))[2] == []


@pytest.mark.parametrize(
    ("more", "doc_ids", "grades"),
    [
        ({"relevant_doc_ids": ["b"]}, ["b"], {"b": 1}),
        ({"relevant_doc_ids": {"b": 2, "c": 1}}, ["b", "c"], {"b": 2, "c": 1}),
        ({"irrelevant_doc_ids": ["a", "b"]}, ["c"], {"a": -1, "b": -1, "c": 1}),
    ],
)
def test_judgements_decide_between_documents(read: Read, more: dict[str, Any], doc_ids: list[str], grades: dict[str, int]) -> None:
    needs, judged, said = found(read("The end.", **more))
    assert [[span.doc_id for span in need] for need in needs] == [doc_ids]
    assert (judged, said) == (grades, [])


def test_one_text_does_not_decide_where_another_belongs(read: Read) -> None:
    assert found(read("Ada", "The end."))[2]
    assert found(read("Ada", "The end.", relevant_doc_ids=["a"]))[2] == []


def test_relevant_documents_are_completed_where_they_are_missing(read: Read) -> None:
    draft = read("Ada", "Nobody", relevant_doc_ids={"a": 2})
    assert found(draft)[1] == {"a": 2, "b": 1}
    assert [qrel for qrel, _ in draft.qrels] == [Qrel("q", "a", 2), Qrel("q", "b", 1)]


def test_a_text_that_evidence_has_already_is_no_second_need(read: Read) -> None:
    evidence = [[{"doc_id": "a", "start": 0, "end": 3}]]
    assert found(read("Ada", evidence=evidence, relevant_doc_ids=["a"]))[0] == [(Span("a", 0, 3),)]


def test_a_text_that_cannot_be_used_is_named_with_its_question(read: Read, wording) -> None:
    wording(
        lambda case: "\n    ".join(wrong(read(case[0], **case[1]))),
        [
            ("Eve did not write any of this at all.", {}),
            ({"doc_id": "b", "text": "Ada"}, {}),
            ({"doc_id": "x", "text": "Ada"}, {}),
            ("Ada", {"irrelevant_doc_ids": ["a"]}),
            (" ", {}),
            (5, {}),
            ("Ada", {"answerable": False}),
        ],
        None,
    )


def test_covid_qa_given_as_texts_finds_all_its_evidence(big_data: Callable[[str], Path], tmp_path: Path) -> None:
    folder = big_data("covid-qa")
    rows = [json.loads(line) for line in (folder / "evidence.jsonl").read_text("utf-8").splitlines()]
    lines = [
        {"query_id": row["query_id"], "query": "?", "relevant_chunks": [row["text"]], "relevant_doc_ids": [row["doc_id"]]} for row in rows
    ]
    (tmp_path / "documents.jsonl").write_bytes((folder / "corpus.jsonl").read_bytes())
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)))
    dataset = GoldenSource(path=str(tmp_path), recurrences=False).load()
    assert [need.query_id for need in dataset.needs] == [row["query_id"] for row in rows]
    for need, row in zip(dataset.needs, rows, strict=True):
        assert Span(row["doc_id"], row["start"], row["end"]) in need.alternatives
        assert {span.doc_id for span in need.alternatives} == {row["doc_id"]}


def test_other_places_of_a_span_are_alternatives_in_its_own_and_in_other_documents() -> None:
    needs = (Need("q", (Span("b", 4, 7), Span("b", 8, 9))), Need("q", (Span("a", 4, 5),)))
    documents = (Document("a", "Eve . Ada"), Document("b", "Ada Ada x"))
    dataset = Dataset("d", documents, (Query("q", "?"),), (Qrel("q", "b", 1),), needs)
    found = with_recurrences(dataset)
    assert found.needs == (Need("q", (Span("b", 4, 7), Span("b", 8, 9), Span("a", 6, 9), Span("b", 0, 3))), needs[1])
    assert (found.qrels, found.queries, found.documents) == (dataset.qrels, dataset.queries, documents)


@settings(max_examples=50)
@given(data=st.data())
def test_all_alternatives_have_a_text_that_was_given_and_a_second_time_changes_nothing(
    datasets: Callable[..., st.SearchStrategy[Dataset]], data: st.DataObject
) -> None:
    dataset = data.draw(datasets())
    found = with_recurrences(dataset)
    texts = {document.doc_id: document.text for document in dataset.documents}

    def words(need: Need) -> set[str]:
        return {texts[span.doc_id][span.start : span.end] for span in need.alternatives}

    for before, after in zip(dataset.needs, found.needs, strict=True):
        assert after.alternatives[: len(before.alternatives)] == before.alternatives
        assert words(after) == words(before)
    assert with_recurrences(found) == found


@pytest.mark.slow
def test_in_covid_qa_153_spans_recur_in_their_own_document_and_156_in_another(big_data: Callable[[str], Path]) -> None:
    plain = BeirSource(path=str(big_data("covid-qa")), recurrences=False).load()
    found = with_recurrences(plain)
    given_first = [(need.alternatives[0], need.alternatives[1:]) for need in found.needs]
    assert len(given_first) == 1380
    assert sum(any(span.doc_id == first.doc_id for span in more) for first, more in given_first) == 153
    assert sum(any(span.doc_id != first.doc_id for span in more) for first, more in given_first) == 156
    assert BeirSource(path=str(big_data("covid-qa")), recurrences=True).load() == found


def test_a_source_does_it_where_it_is_told_to(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "d.txt").write_text("Ada and Ada")
    (tmp_path / "questions.jsonl").write_text(
        '{"query": "?", "relevant_doc_ids": ["d"], "evidence": [[{"doc_id": "d", "start": 0, "end": 3}]]}'
    )
    assert GoldenSource(path=str(tmp_path), recurrences=True).load().needs[0].alternatives == (Span("d", 0, 3), Span("d", 8, 11))
    assert GoldenSource(path=str(tmp_path)).load().needs[0].alternatives == (Span("d", 0, 3),)


def places(*texts: str) -> TextSearch:
    return TextSearch(Document(f"d{number}", text) for number, text in enumerate(texts))


def test_overlapping_places_are_found_and_none_across_documents() -> None:
    assert list(places("aaa", "a", "").verbatim("aa")) == [Span("d0", 0, 2), Span("d0", 1, 3)]
    assert list(places("ab", "ab").verbatim("b\x00a")) == []
    assert list(places("ab").verbatim("")) == []


def test_other_white_space_is_found_at_the_offsets_of_the_document() -> None:
    found = list(places("x one\n\n  two\u00a0three. y", "one two three.").loosely(" one two  three.\n"))
    assert found == [Span("d0", 2, 19), Span("d1", 0, 14)]


@given(texts=st.lists(WORDS, min_size=1, max_size=3), text=WORDS.filter(str.strip))
def test_every_verbatim_place_is_found_and_only_those(texts: list[str], text: str) -> None:
    slow = [
        Span(f"d{row}", at, at + len(text))
        for row, document in enumerate(texts)
        for at in range(len(document))
        if document.startswith(text, at)
    ]
    assert list(places(*texts).verbatim(text)) == slow


@given(texts=st.lists(WORDS, min_size=1, max_size=3), text=WORDS.filter(str.strip))
def test_every_loose_place_has_the_same_words(texts: list[str], text: str) -> None:
    found = list(places(*texts).loosely(text))
    for span in found:
        assert texts[int(span.doc_id[1:])][span.start : span.end].split() == text.split()
    pattern = r"\s+".join(map(re.escape, text.split()))
    assert {span.doc_id for span in found} == {f"d{row}" for row, document in enumerate(texts) if re.search(pattern, document)}


def test_a_text_that_almost_recurs_everywhere_is_not_found() -> None:
    assert list(places("ab" * 500_000).verbatim("ab" * 1000 + "c")) == []


def test_a_text_in_very_many_places_is_a_fault_unless_a_document_is_named(tmp_path: Path) -> None:
    rows = [{"doc_id": "long", "text": "a" * 300_000 + " b" * 5000}, {"doc_id": "short", "text": "a  b"}]
    (tmp_path / "documents.jsonl").write_text("\n".join(map(json.dumps, rows)))
    questions: list[dict[str, Any]] = [{"query_id": f"q{row}", "query": f"{row}?", "relevant_chunks": ["a"]} for row in range(2000)]
    questions += [
        {"query_id": "loose", "query": "loose?", "relevant_chunks": ["b\nb"]},
        {"query_id": "named", "query": "named?", "relevant_chunks": [{"doc_id": "short", "text": "a"}]},
        {"query_id": "judged", "query": "judged?", "relevant_doc_ids": ["short"], "relevant_chunks": ["b"]},
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)))
    draft = GoldenSource(path=str(tmp_path)).read()
    many = "is in more than 1,000 places; quote more of the document, or give evidence as start and end"
    found = wrong(draft)
    assert (len(found), found[0]) == (2001, f"questions.jsonl:1 relevant chunk 'a' of question 'q0' {many}")
    assert found[-1] == f"questions.jsonl:2001 relevant chunk 'b b' of question 'loose' {many}"
    assert [(row.query_id, row.span) for row in draft.evidence] == [("named", Span("short", 0, 1)), ("judged", Span("short", 3, 4))]


def test_evidence_that_recurs_in_very_many_places_is_a_fault() -> None:
    queries = tuple(Query(f"q{row}", "?") for row in range(2000))
    needs = tuple(Need(query.query_id, (Span("d", 0, 1),)) for query in queries)
    dataset = Dataset("x", (Document("d", "a" * 300_000),), queries, tuple(Qrel(query.query_id, "d", 1) for query in queries), needs)
    with pytest.raises(DatasetError) as caught:
        with_recurrences(dataset)
    assert len(caught.value.faults) == 2000
    assert caught.value.faults[0] == (
        "evidence 'a' of question 'q0' is in more than 10,000 places; give longer evidence, or leave recurrences out"
    )
