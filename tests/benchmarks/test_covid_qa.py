import pytest

from benchmarks.covid_qa import part_of, recall
from workbench.core.records import Dataset, Document, Need, Query, Span


def test_recall_is_of_the_first_five_chunks_and_counts_no_character_twice():
    documents = (Document("a", "x" * 100), Document("b", "y" * 100))
    needs = (Need("q1", (Span("a", 10, 30),)), Need("q2", (Span("b", 0, 10),)))
    dataset = Dataset("two", documents, (Query("q1", "?"), Query("q2", "?")), (), needs)
    elsewhere = [("a", 50, 60)] * 4
    delivered = {
        "q1": [("b", 10, 30), ("a", 0, 15), ("a", 10, 20)],  # half of the evidence, five characters of it twice
        "q2": [*elsewhere, ("a", 0, 1), ("b", 0, 10)],  # the sixth comes too late
    }
    assert recall(dataset, delivered) == {"documents@5": 0.5, "spans@5": 0.25}


def test_a_part_holds_its_documents_with_all_their_questions(big_data, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_DATA", str(big_data("covid-qa").parent))
    part = part_of(tmp_path / "part", 2)
    assert len(part.documents) == 2
    assert {need.alternatives[0].doc_id for need in part.needs} == {document.doc_id for document in part.documents}
    assert len(part.needs) == len(part.queries) == len(part.qrels) > 2


def test_the_whole_set_is_whole(big_data, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_DATA", str(big_data("covid-qa").parent))
    whole = part_of(tmp_path / "whole", 1_000_000)
    assert (len(whole.documents), len(whole.queries)) == (98, 1380)
    assert recall(whole, {query.query_id: [] for query in whole.queries}) == pytest.approx({"documents@5": 0, "spans@5": 0})
