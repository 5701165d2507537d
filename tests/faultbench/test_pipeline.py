"""What the context holds, and what the perfect reader makes of it."""

from hypothesis import given
from hypothesis import strategies as st

from workbench.faultbench.cases import IndexedChunk
from workbench.faultbench.indexes import Index
from workbench.faultbench.pipeline import deliver, held
from workbench.faultbench.readers import Reading, read_perfectly
from workbench.records import Chunk, Query, Span

TEXT = "ab cd  ef g   hij k"
SPANS = st.tuples(st.integers(0, len(TEXT)), st.integers(0, len(TEXT))).map(lambda pair: Span("d", min(pair), max(pair)))


@given(SPANS, st.lists(SPANS))
def test_a_span_is_held_if_every_character_that_is_not_blank_is(wanted, spans):
    def solid(span):
        return {place for place in range(span.start, span.end) if TEXT[place] != " "}

    assert held(wanted, spans, TEXT) == (solid(wanted) <= set().union(*map(solid, spans)))


def test_text_of_another_document_holds_nothing():
    assert not held(Span("d", 0, 2), [Span("e", 0, 19)], TEXT)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(1, 30), st.integers(1, 8))
def test_chunks_are_delivered_by_rank_until_one_does_not_fit(costs, budget, k):
    entries = tuple(IndexedChunk(Chunk("d", place, place + 1), place + 1, cost) for place, cost in enumerate(costs))
    index = Index({"d": TEXT}, entries, None, {"q": tuple((place, 1.0) for place in range(len(costs)))})
    hits = deliver(index, "q", k, budget)
    assert len(hits) == min(k, len(costs))
    fitting = [sum(costs[: rank + 1]) <= budget for rank in range(len(hits))]
    assert [hit.delivered for hit in hits] == fitting
    assert [hit.cut_reason for hit in hits] == [None if fits else "budget" for fits in fitting]


def test_the_perfect_reader_answers_if_it_can_and_refuses_otherwise():
    asked, unknown = Query("q", "?", True, "7"), Query("u", "?", False)
    replies = [read_perfectly(Reading(query, (), {}, (), complete)) for query in (asked, unknown) for complete in (True, False)]
    assert [(reply.refused, reply.correct) for reply in replies] == [(False, True), (True, False), (True, True), (True, True)]
