from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.datasets.recurrences import with_recurrences
from workbench.datasets.sources import BeirSource, GoldenSource
from workbench.records import Dataset, Document, Need, Qrel, Query, Span


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
