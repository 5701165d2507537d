"""Ranks of documents and of evidence among hits, worked by hand."""

import pandas as pd

from workbench.core.records import Span
from workbench.gate.losses import RankedSpans, covered, covering_rank, distinct_documents, ranked_spans

HITS = pd.DataFrame(
    [
        ("q", 1, "a", 0, 10),
        ("q", 2, "b", 0, 10),
        ("q", 3, "b", 0, 10),
        ("q", 4, "a", 10, 20),
        ("q", 5, "c", 0, 10),
    ],
    columns=["query_id", "rank", "doc_id", "start", "end"],
)
HITS["kept"] = HITS["end"]


def never(*_: object) -> bool:
    return False


def reached(hits: RankedSpans) -> list[tuple[int, str]]:
    return [(rank, span.doc_id) for rank, span in hits.reached]


def test_equal_slices_count_once_at_their_best_rank() -> None:
    listed = ranked_spans(HITS, documents=None, slices=None)["q"].listed
    assert [(rank, span.doc_id, span.start) for rank, span in listed] == [(1, "a", 0), (2, "b", 0), (3, "a", 10), (4, "c", 0)]


def test_a_metric_of_chunks_reads_the_first_slices_and_one_of_documents_all_slices_of_the_distinct_documents() -> None:
    assert reached(ranked_spans(HITS, documents=None, slices=2)["q"]) == [(1, "a"), (2, "b")]
    assert reached(ranked_spans(HITS, documents=1, slices=None)["q"]) == [(1, "a"), (3, "a")]
    assert reached(ranked_spans(HITS, documents=2, slices=None)["q"]) == [(1, "a"), (2, "b"), (3, "a")]


def test_a_budget_delivers_slices_to_where_they_are_cut() -> None:
    delivered = HITS.assign(kept=[10, 0, 0, 14, 0])
    hits = ranked_spans(delivered, documents=None, slices=None)["q"]
    assert [(span.doc_id, span.end) for _, span in hits.reached] == [("a", 10), ("a", 14)]
    assert hits.evidence_ranks(Span("a", 2, 14), never) == (3, 1)
    assert hits.evidence_ranks(Span("a", 2, 15), never) == (0, 1)
    assert hits.evidence_ranks(Span("a", 11, 15), never) == (0, 3)
    assert hits.evidence_ranks(Span("b", 0, 10), never) == (0, 2)


def test_slices_that_contain_evidence_only_together_count_at_the_later_rank() -> None:
    slices = [(1, Span("a", 8, 12)), (2, Span("b", 0, 99)), (3, Span("a", 0, 5)), (4, Span("a", 5, 8))]
    assert covering_rank(slices, Span("a", 2, 12), never) == 4
    assert covering_rank(slices, Span("a", 8, 12), never) == 1
    assert covering_rank(slices, Span("a", 2, 13), never) == 0
    assert covering_rank(slices, Span("c", 2, 13), never) == 0


def test_a_slice_with_all_of_the_evidence_comes_before_a_better_one_with_a_part() -> None:
    listed = [(1, Span("a", 0, 5)), (2, Span("b", 0, 10)), (3, Span("a", 0, 10))]
    assert RankedSpans(listed, []).evidence_ranks(Span("a", 2, 8), never) == (0, 3)
    assert RankedSpans(listed, []).evidence_ranks(Span("a", 2, 12), never) == (0, 1)


def test_blanks_between_slices_are_not_missed() -> None:
    slices = [(1, Span("a", 0, 4)), (2, Span("a", 5, 9))]
    text = "four five"
    assert covering_rank(slices, Span("a", 0, 9), never) == 0
    assert covering_rank(slices, Span("a", 0, 9), lambda gap: not text[gap.start : gap.end].strip()) == 2


def test_a_document_has_a_rank_among_documents_and_one_among_slices() -> None:
    hits = ranked_spans(HITS, documents=2, slices=None)["q"]
    assert hits.document_ranks("c", distinct=True) == (0, 3)
    assert hits.document_ranks("c", distinct=False) == (0, 4)
    assert hits.document_ranks("b", distinct=True) == (2, 2)
    assert hits.document_ranks("z", distinct=True) == (0, 0)
    assert [(rank, span.doc_id) for rank, span in distinct_documents(hits.listed)] == [(1, "a"), (2, "b"), (3, "c")]


def test_characters_that_slices_share_count_once() -> None:
    slices = [(1, Span("a", 0, 10)), (2, Span("a", 5, 12)), (3, Span("b", 0, 30))]
    assert covered(slices, Span("a", 2, 20)) == 10
    assert covered(slices, Span("a", 12, 20)) == 0
