"""What the context holds, and what the perfect reader makes of it."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.faultbench.cases import IndexedChunk
from benchmarks.faultbench.pipeline import contains, deliver
from benchmarks.faultbench.readers import Reading, read_perfectly
from benchmarks.faultbench.run import BenchIndex
from workbench.components.context.packing import DELIVERED
from workbench.core.records import Chunk, Document, Query, Span

TEXT = "ab cd  ef g   hij k"
SPANS = st.tuples(st.integers(0, len(TEXT)), st.integers(0, len(TEXT))).map(lambda pair: Span("d", min(pair), max(pair)))


@given(SPANS, st.lists(SPANS))
def test_spans_contain_a_span_if_they_contain_all_of_its_non_blank_characters(wanted, spans):
    def solid(span):
        return {place for place in range(span.start, span.end) if TEXT[place] != " "}

    assert contains(wanted, spans, TEXT) == (solid(wanted) <= set().union(*map(solid, spans)))


def test_text_of_another_document_holds_nothing():
    assert not contains(Span("d", 0, 2), [Span("e", 0, 19)], TEXT)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(1, 30), st.integers(1, 8))
def test_the_context_is_packed_by_rank_and_the_last_chunk_cut_at_a_token(costs, budget, k):
    starts = np.arange(sum(costs), dtype=np.int64) * 2
    edges = [0, *np.cumsum(costs).tolist()]
    text = "ab" * sum(costs)
    document = Document("d", text)
    chunks = [Chunk(document, 2 * first, 2 * last) for first, last in itertools.pairwise(edges)]
    entries = tuple(IndexedChunk(chunk, chunk.end, cost) for chunk, cost in zip(chunks, costs, strict=True))
    places = np.arange(len(costs))
    index = BenchIndex({"d": text}, {"d": starts}, entries, places, None, {"q": (places, np.ones(len(costs)))})
    hits, context = deliver(index, "q", k, budget)
    assert len(hits) == len(costs)
    # The chunks lie in the order of their ranks, so the context is a piece of the text.
    assert sum(span.end - span.start for span in context) == 2 * min(budget, sum(costs[:k]))
    assert context[-1].end == 2 * min(budget, sum(costs[:k]))
    assert [hit.cut_reason == DELIVERED for hit in hits] == [rank < len(context) for rank in range(len(hits))]
    assert [hit.cut_reason for hit in hits[k:]] == ["beyond k"] * (len(costs) - k)


def test_the_perfect_reader_answers_if_it_can_and_refuses_otherwise():
    asked, unknown = Query("q", "?", True, "7"), Query("u", "?", False)
    replies = [read_perfectly(Reading(query, (), {}, (), complete)) for query in (asked, unknown) for complete in (True, False)]
    assert [(reply.refused, reply.correct) for reply in replies] == [(False, True), (True, False), (True, True), (True, True)]
