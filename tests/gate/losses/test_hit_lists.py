"""Ranks of documents and of evidence among hits, worked by hand."""

import pandas as pd

from workbench.gate.losses.hit_lists import HitList, HitSlice, covered, covering_rank, first_documents, hit_lists

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


def reached(hits: HitList) -> list[tuple[int, str]]:
    return [(piece.rank, piece.doc_id) for piece in hits.reached]


def test_equal_slices_count_once_at_their_best_rank() -> None:
    listed = hit_lists(HITS, documents=None, slices=None)["q"].listed
    assert [(piece.rank, piece.doc_id, piece.start) for piece in listed] == [(1, "a", 0), (2, "b", 0), (3, "a", 10), (4, "c", 0)]


def test_a_metric_of_chunks_reads_the_first_slices_and_one_of_documents_all_slices_of_the_first_documents() -> None:
    assert reached(hit_lists(HITS, documents=None, slices=2)["q"]) == [(1, "a"), (2, "b")]
    assert reached(hit_lists(HITS, documents=1, slices=None)["q"]) == [(1, "a"), (3, "a")]
    assert reached(hit_lists(HITS, documents=2, slices=None)["q"]) == [(1, "a"), (2, "b"), (3, "a")]


def test_a_budget_delivers_slices_to_where_they_are_cut() -> None:
    delivered = HITS.assign(kept=[10, 0, 0, 14, 0])
    hits = hit_lists(delivered, documents=None, slices=None)["q"]
    assert [(piece.doc_id, piece.end) for piece in hits.reached] == [("a", 10), ("a", 14)]
    assert hits.evidence_rank("a", 2, 14, never) == (3, 1)
    assert hits.evidence_rank("a", 2, 15, never) == (0, 1)
    assert hits.evidence_rank("a", 11, 15, never) == (0, 3)
    assert hits.evidence_rank("b", 0, 10, never) == (0, 2)


def test_slices_that_contain_evidence_only_together_count_at_the_later_rank() -> None:
    slices = [HitSlice(1, "a", 8, 12), HitSlice(2, "b", 0, 99), HitSlice(3, "a", 0, 5), HitSlice(4, "a", 5, 8)]
    assert covering_rank(slices, "a", 2, 12, never) == 4
    assert covering_rank(slices, "a", 8, 12, never) == 1
    assert covering_rank(slices, "a", 2, 13, never) == 0
    assert covering_rank(slices, "c", 2, 13, never) == 0


def test_a_slice_with_all_of_the_evidence_comes_before_a_better_one_with_a_part() -> None:
    listed = [HitSlice(1, "a", 0, 5), HitSlice(2, "b", 0, 10), HitSlice(3, "a", 0, 10)]
    assert HitList(listed, []).evidence_rank("a", 2, 8, never) == (0, 3)
    assert HitList(listed, []).evidence_rank("a", 2, 12, never) == (0, 1)


def test_blanks_between_slices_are_not_missed() -> None:
    slices = [HitSlice(1, "a", 0, 4), HitSlice(2, "a", 5, 9)]
    text = "four five"
    assert covering_rank(slices, "a", 0, 9, never) == 0
    assert covering_rank(slices, "a", 0, 9, lambda _, low, high: not text[low:high].strip()) == 2


def test_a_document_has_a_rank_among_documents_and_one_among_slices() -> None:
    hits = hit_lists(HITS, documents=2, slices=None)["q"]
    assert hits.document_rank("c", distinct=True) == (0, 3)
    assert hits.document_rank("c", distinct=False) == (0, 4)
    assert hits.document_rank("b", distinct=True) == (2, 2)
    assert hits.document_rank("z", distinct=True) == (0, 0)
    assert [(piece.rank, piece.doc_id) for piece in first_documents(hits.listed)] == [(1, "a"), (2, "b"), (3, "c")]


def test_characters_that_slices_share_count_once() -> None:
    slices = [HitSlice(1, "a", 0, 10), HitSlice(2, "a", 5, 12), HitSlice(3, "b", 0, 30)]
    assert covered(slices, "a", 2, 20) == 10
    assert covered(slices, "a", 12, 20) == 0
