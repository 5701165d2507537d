"""A planted case: the observation that an attribution sees, and the true cause."""

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.components.judging.base import Verdict
from workbench.core.records import Chunk, Need, Passage, Query, Span

NONE = "none"


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk of the index. Its text was searched up to `searched_end`, a position in its document, and costs `tokens` of the budget."""

    chunk: Chunk
    searched_end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A chunk that the search listed, rank from 1. `cut_reason` says why it is not in the context, and is empty if any of it is."""

    chunk: Chunk
    rank: int
    score: float
    cut_reason: str


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """A claim of the answer, with its verdict given the context, which is empty if the judge of claims fails."""

    text: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Observation:
    """One query's pass through a pipeline, with everything that an attribution may read.

    `needs` are the labels of the query. `documents` (doc_id to text) and `entries` are the index; the embedder reads the first `window`
    tokens of a chunk's input, None for all. `hits` are the chunks listed, `k` of them retrieved. `context` is the text of the
    delivered ones by rank, cut after `budget` tokens. `correct` says whether the answer is the expected one, or a refusal
    if none is expected, and `relevant` whether it is one to the question, right or wrong. `truncated` says that the answer was cut off at a
    token limit. The query fails if the answer is not correct or a claim is contradicted or absent, else it succeeds.
    """

    query: Query
    needs: tuple[Need, ...]
    documents: Mapping[str, str]
    window: int | None
    entries: tuple[IndexedChunk, ...]
    k: int
    hits: tuple[RankedChunk, ...]
    budget: int
    context: tuple[Span, ...]
    answer: str
    refused: bool
    correct: bool
    relevant: bool
    claims: tuple[CheckedClaim, ...]
    truncated: bool = False

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The context with its texts."""
        texts = ((span, self.documents[span.doc_id][span.start : span.end]) for span in self.context)
        return tuple(Passage(span.doc_id, span.start, span.end, text) for span, text in texts)


@dataclass(frozen=True, slots=True)
class PlantedCase:
    """An observation with a known cause: `broken` lists the broken stages by layer, and `cause` is the first of them.

    `case_id` encodes how it was made: cause, query, chunks and k, variant. A case without a broken stage has the cause `none`.
    """

    case_id: str
    cause: str
    broken: tuple[str, ...]
    observation: Observation


def overlap(a: Span, b: Span) -> bool:
    """Return True if two spans share a character."""
    return a.doc_id == b.doc_id and a.start < b.end and b.start < a.end
