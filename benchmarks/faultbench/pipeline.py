"""The bench's pipeline, one query at a time: the best k chunks, a context by rank up to a budget, a reader."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from benchmarks.faultbench.cases import IndexedChunk, Observation, RankedChunk
from benchmarks.faultbench.readers import Reader, Reading, accepted, names, numbers, read_perfectly
from benchmarks.faultbench.run import BenchIndex
from workbench.components.context.packing import BEYOND_K, pack
from workbench.core.records import Chunk, Need, Query, Span


class Question(NamedTuple):
    """A query with its needs, and the texts of all documents by doc_id, indexed or not."""

    query: Query
    needs: tuple[Need, ...]
    texts: Mapping[str, str]


# The words of an answer that is in no text by chance.
_LONG = 4
# More than k chunks ever cost, so that the sound pipeline cuts nothing.
BUDGET = 6000


@dataclass(frozen=True)
class BenchPipeline:
    """Every stage that can be broken: the index with its ranking, the chunks k, the tokens of the context, the reader."""

    index: BenchIndex
    k: int
    budget: int = BUDGET
    reader: Reader = read_perfectly


class Change(NamedTuple):
    """A change of one stage: its cause or kind of harmless change, its variant, and the pipeline fields it replaces."""

    kind: str
    variant: str
    fields: Mapping[str, Any]


def observe(pipeline: BenchPipeline, question: Question) -> Observation | None:
    """Run a query through a pipeline. Returns None if the reader has no answer."""
    index, (query, needs, texts) = pipeline.index, question
    hits, context = deliver(index, query.query_id, pipeline.k, pipeline.budget)
    reply = pipeline.reader(Reading(query, needs, texts, context, readable(question, context)))
    if reply is None:
        return None
    answer = (reply.text, reply.refused, reply.correct, reply.relevant, reply.claims, reply.truncated)
    return Observation(query, needs, index.documents, index.window, index.entries, pipeline.k, hits, pipeline.budget, context, *answer)


def deliver(index: BenchIndex, query_id: str, k: int, budget: int) -> tuple[tuple[RankedChunk, ...], tuple[Span, ...]]:
    """The chunks listed for a query, and the context packed from them."""
    places, scores = index.best[query_id]
    entries = [index.entries[place] for place in places.tolist()]
    tokens = np.array([entry.tokens for entry in entries], dtype=np.int64)
    packed = pack(np.zeros_like(places), index.slices[places], tokens, k, budget)
    hits = zip(entries, scores.tolist(), packed.reason.tolist(), strict=True)
    rows = np.flatnonzero(packed.delivered).tolist()
    context = tuple(_delivered(index, entries[row], int(packed.delivered_tokens[row])) for row in rows)
    return tuple(RankedChunk(entry.chunk, rank, score, reason) for rank, (entry, score, reason) in enumerate(hits, 1)), context


def _delivered(index: BenchIndex, entry: IndexedChunk, tokens: int) -> Span:
    start, end = entry.chunk.delivered
    if tokens < entry.tokens:
        starts = index.token_starts[entry.chunk.doc_id]
        end = int(starts[np.searchsorted(starts, start) + tokens])
    return Span(entry.chunk.doc_id, start, end)


def retrieved(index: BenchIndex, query_id: str, k: int) -> list[Chunk]:
    """The first k chunks listed for a query."""
    return [hit.chunk for hit in deliver(index, query_id, k, BUDGET)[0] if hit.cut_reason != BEYOND_K]


def proven(question: Question, sound: BenchPipeline, faults: Sequence[Change]) -> Observation | None:
    """The observation with all the faults, if the query succeeds without them and fails with any of them, else None.

    Thus a single fault is the only cause of failure, and repairing one of two faults does not repair the query.
    """
    observation = None
    for count in range(len(faults) + 1):
        for planted in itertools.combinations(faults, count):
            observation = observe(changed(sound, planted), question)
            if observation is None or went_well(observation) != (count == 0):
                return None
    return observation


def changed(sound: BenchPipeline, changes: Iterable[Change]) -> BenchPipeline:
    """The pipeline with these stages replaced."""
    return replace(sound, **{name: value for change in changes for name, value in change.fields.items()})


def went_well(observation: Observation) -> bool:
    """Return True if the answer is as expected, and no claim is known to be unsupported."""
    return observation.correct and not any(claim.verdict in ("contradicted", "absent") for claim in observation.claims)


def complete(needs: Sequence[Need], spans: Sequence[Span], texts: Mapping[str, str]) -> bool:
    """Return True if the spans together contain an alternative of every need."""
    return all(any(contains(span, spans, texts[span.doc_id]) for span in need.alternatives) for need in needs)


def readable(question: Question, context: Sequence[Span]) -> bool:
    """Return True if a reader can answer from a context: it meets every need, or has the expected answer word for word.

    An answer of a few words must be in the delivered part of each piece of evidence that is not whole. A single word other than a number shows
    nothing.
    """
    query, needs, texts = question
    unmet = [need for need in needs if not complete([need], context, texts)]
    if not unmet:
        return True
    answers = [answer for answer in accepted(query) if numbers(answer) or len(answer.split()) > 1]
    pieces = [texts[span.doc_id][span.start : span.end] for span in context]
    if any(names(piece, answer.rstrip(".")) for answer in answers if len(answer.split()) >= _LONG for piece in pieces):
        return True
    return all(any(names(part, answer.rstrip(".")) for answer in answers for part in _parts(need, context, texts)) for need in unmet)


def _parts(need: Need, context: Sequence[Span], texts: Mapping[str, str]) -> Iterator[str]:
    """The delivered parts of a piece of evidence."""
    for wanted, span in itertools.product(need.alternatives, context):
        if wanted.doc_id == span.doc_id:
            yield texts[span.doc_id][max(wanted.start, span.start) : min(wanted.end, span.end)]


def contains(wanted: Span, spans: Iterable[Span], text: str) -> bool:
    """Return True if spans together contain every non-blank character of a span. Chunkers omit blanks between chunks."""
    reached = wanted.start
    for start, end in sorted((span.start, span.end) for span in spans if span.doc_id == wanted.doc_id):
        if text[reached : min(start, wanted.end)].strip():
            break
        reached = max(reached, end)
    return not text[reached : wanted.end].strip()


def in_one_chunk(needs: Sequence[Need], chunks: Sequence[Chunk], texts: Mapping[str, str]) -> bool:
    """Return True if a single chunk contains an alternative, for every need."""
    return all(any(complete([need], [span_of(chunk)], texts) for chunk in chunks) for need in needs)


def span_of(chunk: Chunk) -> Span:
    """The slice that a chunk delivers."""
    return Span(chunk.doc_id, *chunk.delivered)
