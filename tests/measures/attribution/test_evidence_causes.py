"""Each cause by hand, and all of them against an oracle that works on sets of characters."""

from collections.abc import Callable
from dataclasses import replace
from itertools import zip_longest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.small_worlds import worlds
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, tokenise
from workbench.measures.attribution.causes import CAUSES, causes_by_query
from workbench.measures.attribution.evidence_causes import missed_documents, missed_needs, repeats
from workbench.measures.attribution.evidence_state import EmbeddedExtent
from workbench.measures.metrics.case import Case, Cut
from workbench.testing.small_results import labels_of, retrieved_of

from .conftest import extent_of, misses_of

DOCUMENT_CAUSES = {cause.name for cause in CAUSES if cause.of_documents}

#        0         1         2         3
#        0123456789012345678901234567890123456789
TEXT = "one two three. four five six. seven ate."
EVIDENCE = [(0, 15, 29)]  # four five six.
FOUR = [(0, 0, 14), (0, 15, 29), (0, 30, 40)]


def case_of(texts, needs, chunks, *hits, qrels=()) -> Case:
    """`needs`, `chunks` and `hits` as in tests/small_worlds.py; `qrels` are (query, relevant document)."""
    relevant = [{doc: 1 for query, doc in qrels if query == q} for q in range(len(hits))]
    queries = ({"needs": own, "qrels": docs} for own, docs in zip_longest(needs, relevant, fillvalue=()))
    return Case(labels_of(texts, *queries), retrieved_of(chunks, *hits), "exact")


def seen(case: Case, ends: list[int] | None = None) -> EmbeddedExtent:
    whole = case.retrieved.chunks["end"].to_numpy(np.int64)
    found = whole if ends is None else np.array(ends, dtype=np.int64)
    return EmbeddedExtent(found, found < whole)


def missed(case: Case, cut: Cut, ends: list[int] | None = None) -> list[tuple[str, int]]:
    table = missed_needs(case, cut, seen(case, ends))
    return list(zip(table["cause"], table["rank"].tolist(), strict=True))


def test_evidence_delivered_whole_is_not_missed() -> None:
    assert missed(case_of([TEXT], [[EVIDENCE]], FOUR, [1]), Cut(k=1)) == []
    # The blank between two delivered chunks is no loss.
    assert missed(case_of([TEXT], [[[(0, 0, 29)]]], FOUR, [1, 0]), Cut(k=2)) == []


def test_evidence_that_a_target_never_returned_may_rank_too_low() -> None:
    """The chunks of a target are those that it returned for any question; others may be in its index."""

    def part(case: Case) -> Case:
        return Case(case.labels, replace(case.retrieved, whole_index=False), "exact")

    def of_target(case: Case) -> list[str]:
        return missed_needs(part(case), Cut(k=1), seen(case))["cause"].tolist()

    assert of_target(case_of([TEXT, "other"], [[EVIDENCE]], [(1, 0, 5)], [0])) == ["not_returned"]
    # A part was returned, and the rest of it is in no returned chunk.
    assert of_target(case_of([TEXT], [[EVIDENCE]], [(0, 0, 14), (0, 15, 25)], [1, 0])) == ["boundary"]
    assert of_target(case_of([TEXT], [[EVIDENCE]], FOUR, [0, 1])) == ["rank"]
    absent = part(case_of([TEXT, "other"], [], [(0, 0, 14)], [0], qrels=[(0, 1)]))
    table = missed_documents(absent, np.zeros(0, dtype=np.int64), seen(absent), np.array([True]))
    assert table["cause"].tolist() == ["not_returned"]


def test_evidence_in_no_chunk_was_not_indexed() -> None:
    assert missed(case_of([TEXT], [[EVIDENCE]], [(0, 0, 14), (0, 15, 25)], [1, 0]), Cut(k=1)) == [("not_indexed", 1)]
    assert missed(case_of([TEXT, "other"], [[EVIDENCE]], [(1, 0, 5)], [0]), Cut(k=1)) == [("not_indexed", 0)]


def test_evidence_beyond_the_window_of_its_chunk_was_never_embedded() -> None:
    case = case_of([TEXT], [[EVIDENCE]], [(0, 0, 29), (0, 30, 40)], [1, 0])
    assert missed(case, Cut(k=1), [20, 40]) == [("window", 2)]
    assert missed(case, Cut(k=1), [29, 40]) == [("rank", 2)]


def test_a_second_chunk_that_embeds_the_evidence_takes_the_blame_from_the_window() -> None:
    case = case_of([TEXT], [[EVIDENCE]], [(0, 0, 29), (0, 15, 40)], [], [])
    assert missed(case, Cut(k=1), [20, 40]) == [("rank", 0)]


def test_a_window_is_not_to_blame_where_a_boundary_cut_what_was_delivered() -> None:
    halves = [(0, 0, 19), (0, 20, 40), (1, 0, 5)]
    case = case_of([TEXT, "other"], [[EVIDENCE]], halves, [0, 2, 1])
    # The second half was never embedded, but whole in the chunk that was delivered the evidence needs no window.
    assert missed(case, Cut(k=1), [19, 25, 5]) == [("boundary", 1)]
    # With nothing of it delivered a mended boundary alone would not help: what is left of its text is too little to be found by.
    assert missed(case_of([TEXT, "other"], [[EVIDENCE]], halves, [2, 0, 1]), Cut(k=1), [19, 25, 5]) == [("window", 2)]


def test_a_window_is_to_blame_where_the_whole_chunk_lost_what_pieces_of_others_embed() -> None:
    case = case_of([TEXT, "other"], [[EVIDENCE]], [(0, 0, 29), (0, 18, 40), (1, 0, 5)], [2, 1, 0])
    assert missed(case, Cut(k=1), [20, 40, 5]) == [("window", 3)]
    # The children of one parent embed it together.
    children = [(0, 0, 19, 0, 40), (0, 18, 40, 0, 40), (1, 0, 5)]
    case = case_of([TEXT, "other"], [[EVIDENCE]], children, [2, 1, 0])
    assert missed(case, Cut(k=1), [19, 29, 5]) == [("rank", 2)]
    assert missed(case, Cut(k=1), [19, 25, 5]) == [("window", 2)]


def test_evidence_of_which_a_part_is_delivered_was_cut_by_a_boundary() -> None:
    halves = [(0, 0, 19), (0, 20, 40), (1, 0, 5)]
    assert missed(case_of([TEXT, "other"], [[EVIDENCE]], halves, [0, 2, 1]), Cut(k=1)) == [("boundary", 1)]
    # With both halves far below it is their rank.
    assert missed(case_of([TEXT, "other"], [[EVIDENCE]], halves, [2, 0, 1]), Cut(k=1)) == [("rank", 2)]


def test_an_alternative_that_is_whole_takes_the_blame_from_the_boundary() -> None:
    both = [[(0, 15, 29), (1, 0, 5)]]
    case = case_of([TEXT, "other"], [both], [(0, 0, 19), (0, 20, 40), (1, 0, 5)], [0, 1, 2])
    assert missed(case, Cut(k=1)) == [("rank", 3)]


def test_children_of_a_parent_that_holds_the_evidence_cut_nothing() -> None:
    children = [(0, 0, 19, 0, 40), (0, 20, 40, 0, 40), (1, 0, 5)]
    assert missed(case_of([TEXT, "other"], [[EVIDENCE]], children, [2, 0]), Cut(k=1)) == [("rank", 2)]


@pytest.mark.parametrize(
    "again", [(0, 8, 14), (2, 0, 14)], ids=["a slice that overlaps one before it by half", "the same text in another document"]
)
def test_evidence_behind_repeated_text_would_be_delivered_without_it(again) -> None:
    case = case_of([TEXT, "other", "one two three."], [[EVIDENCE]], [(0, 0, 14), again, (0, 15, 29), (1, 0, 5)], [0, 1, 2])
    assert missed(case, Cut(k=2)) == [("duplicate", 3)]
    # One place more than the repeats free is its rank.
    assert missed(
        case_of([TEXT, "other", "one two three."], [[EVIDENCE]], [(0, 0, 14), again, (0, 15, 29), (1, 0, 5)], [0, 3, 1, 2]), Cut(k=2)
    ) == [("rank", 4)]


def test_what_overlaps_only_a_repeat_is_none() -> None:
    text = "abcdefghijklmnopqrstuvwxyz"
    case = case_of([text], [[[(0, 25, 26)]]], [(0, 0, 8), (0, 4, 12), (0, 8, 16), (0, 20, 26)], [0, 1, 2, 3])
    assert repeats(case, np.arange(4)).tolist() == [False, True, False, False]


def test_a_hit_beyond_the_tokens_is_a_matter_of_the_budget() -> None:
    case = case_of([TEXT, "other"], [[EVIDENCE]], [(0, 0, 14), (1, 0, 5), (0, 15, 29)], [0, 1, 2])
    # four five six . are four tokens, behind one two three . other
    assert missed(case, Cut(tokens=8)) == [("budget", 3)]
    assert missed(case, Cut(tokens=9)) == []
    assert missed(case, Cut(tokens=5)) == [("rank", 3)]
    assert missed(case, Cut(k=3, tokens=5)) == [("budget", 3)]
    assert missed(case, Cut(k=2, tokens=8)) == [("rank", 3)]


def test_pieces_among_the_k_hits_that_the_tokens_do_not_reach_are_a_matter_of_the_budget() -> None:
    halves = [(1, 0, 5), (0, 0, 19), (0, 20, 40)]
    case = case_of([TEXT, "other"], [[EVIDENCE]], halves, [0, 1, 2])
    assert missed(case, Cut(k=3, tokens=1)) == [("budget", 2)]
    assert missed(case, Cut(k=2, tokens=1)) == [("rank", 2)]
    assert missed(case, Cut(tokens=1)) == [("rank", 2)]
    assert missed(case, Cut(tokens=6)) == [("boundary", 2)]


def test_a_chunk_that_repeats_another_is_itself_left_out_with_the_repeats() -> None:
    case = case_of([TEXT, "other"], [[EVIDENCE]], [(0, 0, 26), (1, 0, 5), (0, 8, 29)], [0, 1, 2])
    assert repeats(case, np.arange(3)).tolist() == [False, False, True]
    assert missed(case, Cut(k=2)) == [("rank", 3)]


def test_repeats_pay_for_tokens_too() -> None:
    case = case_of([TEXT, "one two three."], [[EVIDENCE]], [(0, 0, 14), (1, 0, 14), (0, 15, 29)], [0, 1, 2])
    assert missed(case, Cut(tokens=8)) == [("duplicate", 3)]
    assert missed(case, Cut(tokens=7)) == [("rank", 3)]
    assert missed(case, Cut(k=3, tokens=7)) == [("budget", 3)]


def test_missed_documents_rank_too_low_or_were_cut_by_the_window() -> None:
    case = case_of([TEXT, "other", "third"], [], [*FOUR, (1, 0, 5), (2, 0, 5)], [0, 3], [3, 4], qrels=[(0, 0), (0, 1), (1, 0), (1, 2)])
    found = np.array([0 * 3 + 0, 1 * 3 + 1])
    table = missed_documents(case, found, seen(case, [14, 20, 40, 5, 5]), np.array([True, True]))
    rows = table[["query", "doc", "cause", "rank"]].to_numpy().tolist()
    assert rows == [[0, 1, "rank", 2], [1, 0, "window", 0], [1, 2, "rank", 2]]
    absent = case_of([TEXT, "other"], [], [(0, 0, 14)], [0], qrels=[(0, 1)])
    table = missed_documents(absent, np.zeros(0, dtype=np.int64), seen(absent), np.array([True]))
    assert table["cause"].tolist() == ["not_indexed"]
    assert {"not_indexed", "not_returned", "window", "rank"} == DOCUMENT_CAUSES


@st.composite
def cut_worlds(draw):
    """Worlds with the place where the embedder's window ends each chunk."""
    texts, needs, chunks, hits = draw(worlds())
    ends = [draw(st.sampled_from([chunk[2], chunk[2], (chunk[1] + chunk[2]) // 2])) for chunk in chunks]
    return texts, needs, chunks, ends, hits


cuts = st.tuples(st.none() | st.integers(1, 4), st.none() | st.integers(1, 12)).filter(any).map(lambda limits: Cut(*limits))


class Oracle:
    """One query's causes, from sets of (document, position)."""

    def __init__(self, world, q: int, cut: Cut) -> None:
        self.texts, _, self.chunks, self.ends, hits = world
        self.cut = cut
        pieces = [(self.chunks[row][0], *self.chunks[row][3:]) for row in hits[q]]
        self.slices = [piece for i, piece in enumerate(pieces) if piece not in pieces[:i]]

    def solid(self, doc: int, start: int, end: int) -> set[tuple[int, int]]:
        return {(doc, place) for place in range(start, end) if not self.texts[doc][place].isspace()}

    def tokens(self, doc: int, start: int, end: int) -> list[int]:
        return [place for place in tokenise(self.texts, BUDGET_VOCABULARY)[doc].starts.tolist() if start <= place < end]

    def repeated(self, place: int) -> bool:
        doc, start, end = self.slices[place]
        for earlier, (other, low, high) in enumerate(self.slices[:place]):
            if self.texts[other][low:high].strip() == self.texts[doc][start:end].strip():
                return True
            shared = min(end, high) - max(start, low)
            if other == doc and shared > 0 and 2 * shared >= min(end - start, high - low) and not self.repeated(earlier):
                return True
        return False

    def delivered(self, slices: list | None = None, whole: bool = False) -> set[tuple[int, int]]:
        """The characters delivered of some slices up to the cut, or those of the `whole` slices that are retrieved for it."""
        text: set = set()
        left = self.cut.tokens or np.inf
        for doc, start, end in (self.slices if slices is None else slices)[: self.cut.k]:
            inside = self.tokens(doc, start, end)
            if left > 0 or (whole and self.cut.k):
                text |= self.solid(doc, start, end if whole or len(inside) <= left else inside[int(left)])
            left -= len(inside)
        return text

    def embedded_with(self, piece: tuple[int, int, int]) -> set[tuple[int, int]]:
        """The characters embedded of the chunks that deliver a slice."""
        own = [(chunk, end) for chunk, end in zip(self.chunks, self.ends, strict=True) if (chunk[0], *chunk[3:]) == piece]
        return set().union(*(self.solid(*chunk[:2], end) for chunk, end in own))

    def is_cut(self, piece: tuple[int, int, int]) -> bool:
        return any(end < chunk[2] for chunk, end in zip(self.chunks, self.ends, strict=True) if (chunk[0], *chunk[3:]) == piece)

    def cause(self, need: list[tuple[int, int, int]]) -> str:
        wanted = [self.solid(*one) for one in need]
        if any(one <= self.delivered() for one in wanted):
            return ""
        chunked = set().union(*(self.solid(*chunk[:3]) for chunk in self.chunks))
        embedded = set().union(*(self.solid(*chunk[:2], end) for chunk, end in zip(self.chunks, self.ends, strict=True)))
        pieces = {(chunk[0], *chunk[3:]) for chunk in self.chunks}
        if not any(one <= chunked for one in wanted):
            return "not_indexed"
        whole = [(one, piece) for one in wanted if one <= chunked for piece in pieces if one <= self.solid(*piece)]
        if not whole and any(one & self.delivered() for one in wanted):
            return "boundary"
        if whole and not any(not self.is_cut(piece) or one <= self.embedded_with(piece) for one, piece in whole):
            return "window"
        if not whole and not any(one <= embedded for one in wanted):
            return "window"
        distinct = [piece for place, piece in enumerate(self.slices) if not self.repeated(place)]
        if any(one <= self.delivered(distinct) for one in wanted):
            return "duplicate"
        return "budget" if any(one <= self.delivered(whole=True) for one in wanted) else "rank"


@pytest.mark.slow
@settings(max_examples=250)
@given(world=cut_worlds(), cut=cuts)
def test_causes_equal_those_of_character_sets(world, cut: Cut) -> None:
    texts, queries, chunks, ends, hits = world
    case = case_of(texts, queries, chunks, *hits)
    table = missed_needs(case, cut, seen(case, ends))
    found = dict(zip(table["need"].tolist(), table["cause"], strict=True))
    needs = [(q, need) for q, own in enumerate(queries) for need in own]
    assert [found.get(place, "") for place in range(len(needs))] == [Oracle(world, q, cut).cause(need) for q, need in needs]


def test_every_query_that_is_not_complete_has_a_cause(outcome_of_sizes: Callable) -> None:
    outcome = outcome_of_sizes()
    for result in outcome.results:
        causes = causes_by_query(misses_of(outcome, result, "complete@2"), 6)
        scores = result.scores_table
        complete = scores[scores["metric"] == "complete@2"].set_index("query")["value"]
        assert ((causes == "") == (complete.reindex(range(6)) == 1)).all()


def test_what_the_window_cut_off_ends_where_its_last_token_ends(outcome_of_sizes: Callable) -> None:
    outcome = outcome_of_sizes()
    (result,) = [one for one in outcome.results if one.truncated.any()]
    found, chunks = extent_of(outcome, result), result.chunks_table
    moved = np.flatnonzero(found.ends < chunks["end"].to_numpy())
    assert len(moved)
    assert found.cut[moved].all()
    for row in moved.tolist():
        doc, start = chunks["doc"][row], chunks["start"][row]
        text = outcome.run.dataset.documents[doc].text
        # The window holds two special tokens besides.
        assert len(tokenise([text[start : found.ends[row]]], BUDGET_VOCABULARY)[0].starts) == result.configuration.window - 2


def test_without_evidence_documents_are_missed(run: Callable) -> None:
    outcome = run(evidence=False, name="labels", metrics=["recall@1", "recall@3"])
    table = misses_of(outcome, outcome.results[0], "recall@1")
    scores = outcome.results[0].scores_table
    lost = scores[(scores["metric"] == "recall@3") & (scores["value"] < 1)]["query"]
    assert set(lost) <= set(table["query"])
    assert (table["need"] == -1).all()
    assert set(table["cause"]) <= DOCUMENT_CAUSES
