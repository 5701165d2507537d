"""The part of each piece of evidence that survives indexing, chunking and embedding, and faults of a chunking that need no questions.

Positions of evidence count non-blank characters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.components.chunking.headers import outline
from workbench.core.records import Dataset
from workbench.llm.models.tokenizers import tokenise
from workbench.measures.metrics.case import Case, slices
from workbench.measures.metrics.coverage import Bools, Ints, Union, meeting, totals
from workbench.measures.metrics.inputs import Labels


class EmbeddedExtent(NamedTuple):
    """`ends` (chunks): where each chunk's searched text ends in its document. `cut` (chunks): whether a window cut it.

    For a cut chunk without a character of evidence it is the chunk's own end, since no attribution reads it.
    """

    ends: Ints
    cut: Bools


def embedded_extent(labels: Labels, chunks: pd.DataFrame, truncated: Ints, inputs: Sequence[str], vocabulary: str | None) -> EmbeddedExtent:
    """Locate where the embedded text of each chunk ends.

    `truncated` (chunks) counts the tokens beyond the window, in the embedder's `vocabulary`, of each of its `inputs` (chunks). Without an
    embedder chunks are searched to their ends, `truncated` is empty and `vocabulary` None.
    """
    ends = chunks["end"].to_numpy(np.int64).copy()
    cut = truncated > 0 if len(truncated) else np.zeros(len(chunks), dtype=np.bool_)
    evident = meeting(labels.alternative_start, labels.alternative_end, *labels.positions(chunks, "start", "end"))[0]
    rows = np.intersect1d(np.flatnonzero(cut), evident)
    if vocabulary is not None and len(rows):
        ends[rows] = embedded_ends(chunks.iloc[rows], truncated[rows], [inputs[row] for row in rows.tolist()], vocabulary)
    return EmbeddedExtent(ends, cut)


def embedded_ends(chunks: pd.DataFrame, truncated: Ints, inputs: Sequence[str], vocabulary: str) -> Ints:
    """End of each chunk's embedded text in its document. Shape (chunks,). Arguments as in `embedded_extent`."""
    # The window cuts the end of the input, so counting tokens from there avoids the prompt and special tokens.
    pairs = zip((tokens.starts for tokens in tokenise(inputs, vocabulary)), truncated.tolist(), map(len, inputs), strict=True)
    reached = [length if not lost else starts[-lost] if lost <= len(starts) else 0 for starts, lost, length in pairs]
    lengths = np.fromiter(map(len, inputs), dtype=np.int64, count=len(inputs))
    ends: Ints = chunks["end"].to_numpy(np.int64)
    clipped: Ints = np.clip(ends - lengths + np.array(reached, dtype=np.int64), chunks["start"].to_numpy(np.int64), ends)
    return clipped


class EvidenceState(NamedTuple):
    """(alternatives) `chunked`: all of it is in searched chunks. `whole`: a delivered slice also contains all of it.

    `embedded`: all of it was embedded; if `whole`, in chunks that deliver one slice with all of it.
    """

    chunked: Bools
    whole: Bools
    embedded: Bools


def evidence_state(case: Case, extent: EmbeddedExtent, rows: Ints) -> EvidenceState:
    """The state of the alternatives of `rows`."""
    labels, chunks = case.labels, case.retrieved.chunks
    lows, highs = labels.solid(labels.alternative_start[rows]), labels.solid(labels.alternative_end[rows])
    starts, ends, read_ends = map(labels.solid, labels.positions(chunks.assign(read_end=extent.ends), "start", "end", "read_end"))
    chunked, embedded = (Union.of(starts, last).covered(lows, highs) == highs - lows for last in (ends, read_ends))
    whole = chunked & whole_alternatives(labels, chunks)[rows]
    return EvidenceState(chunked, whole, np.where(whole, _embedded_whole(case, extent, lows, highs), embedded))


def whole_alternatives(labels: Labels, chunks: pd.DataFrame) -> Bools:
    """Mask of the alternatives in a delivered slice, apart from blanks at their borders. Shape (alternatives,)."""
    starts, ends = map(labels.solid, labels.positions(chunks, "delivered_start", "delivered_end"))
    order = np.argsort(starts, kind="stable")
    # The slice that reaches farthest decides, among those that start at or before a span.
    farthest = np.concatenate([[-1], np.maximum.accumulate(ends[order])])
    before = np.searchsorted(starts[order], labels.solid(labels.alternative_start), side="right")
    whole: Bools = farthest[before] >= labels.solid(labels.alternative_end)
    return whole


def whole_needs(labels: Labels, chunks: pd.DataFrame) -> Bools:
    """Mask of the needs with an alternative in a delivered slice, apart from blanks at its borders. Shape (needs,)."""
    contained: Bools = np.bincount(labels.alternative_need[whole_alternatives(labels, chunks)], minlength=len(labels.need_query)) > 0
    return contained


def _embedded_whole(case: Case, extent: EmbeddedExtent, lows: Ints, highs: Ints) -> Bools:
    """Mask of the places [low, high) in a slice from whose chunks no window cut any of them. Shape (n,)."""
    labels, table, chunks = case.labels, case.shared(slices), case.retrieved.chunks
    starts, ends = labels.solid(table.starts), labels.solid(table.ends)
    span, piece = meeting(starts, ends, lows, highs)
    whole = (starts[piece] <= lows[span]) & (ends[piece] >= highs[span])
    span, piece = span[whole], piece[whole]
    intact = np.bincount(table.of_chunk[extent.cut], minlength=len(starts))[piece] == 0
    # Each slice has a line of characters with the embedded text of the chunks that deliver it.
    rows = np.flatnonzero(np.isin(table.of_chunk, piece[~intact]))
    origin = table.of_chunk[rows] * labels.width
    starts, read_ends = map(labels.solid, labels.positions(chunks.assign(read_end=extent.ends).iloc[rows], "start", "read_end"))
    embedded, row = Union.of(origin + starts, origin + read_ends), piece * labels.width
    covered = embedded.covered(row + lows[span], row + highs[span]) == (highs - lows)[span]
    return totals(span, intact | covered, len(lows)) > 0


# The length of a short sentence. A smaller chunk says little by itself.
FEWEST_TOKENS = 16
# A second section counts from this share of a chunk's characters.
SECOND_TOPIC = 0.2
_EXAMPLES = 3
_PLACE = ("doc", "start", "end")


@dataclass(frozen=True)
class ChunkFault:
    """A fault: the number of affected items, its definition, and the first examples."""

    name: str
    found: int
    of: int
    unit: str
    definition: str
    examples: tuple[str, ...] = ()


def chunk_faults(
    labels: Labels, dataset: Dataset, chunks: pd.DataFrame, inputs: Sequence[str], lengths: Ints, window: int | None
) -> list[ChunkFault]:
    """All faults of a configuration's chunks.

    `inputs` (chunks) are the embedder's inputs, `lengths` (chunks) their tokens before truncation. `window` is None if nothing is embedded,
    or if the embedder does not truncate.
    """

    def of_chunks(name: str, chosen: Bools, definition: str) -> ChunkFault:
        rows = chunks[chosen][:_EXAMPLES]
        examples = (
            f"{dataset.documents[doc].doc_id}:{start}-{end}" for doc, start, end in zip(*(rows[name] for name in _PLACE), strict=True)
        )
        return ChunkFault(name, int(chosen.sum()), len(chosen), "chunks", definition, tuple(examples))

    faults = []
    if window is not None:
        beyond = np.maximum(lengths - window, 0)
        definition = f"the input with special tokens and header has more than the embedder's {window} tokens"
        faults.append(of_chunks("longer than the window", beyond > 0, definition))
        definition = "tokens beyond the window are never embedded"
        faults.append(ChunkFault("tokens never embedded", int(beyond.sum()), int(lengths.sum()), "tokens", definition))
    if dataset.needs:
        faults.append(_cut_evidence(labels, dataset, chunks))
    small = labels.tokens_in(*labels.positions(chunks, "start", "end")) < FEWEST_TOKENS
    faults.append(of_chunks("too small", small, f"fewer than {FEWEST_TOKENS} tokens of text, header not counted"))
    if (several := _several_topics(labels, chunks)) is None:
        definition = "not counted: no document has headings to distinguish topics"
        faults.append(ChunkFault("several topics", 0, 0, "chunks", definition))
    else:
        definition = f"two or more headed sections each make up at least {SECOND_TOPIC:.0%} of the chunk's characters"
        faults.append(of_chunks("several topics", several, definition))
    definition = "the embedded text equals that of an earlier chunk, so that only the tie breaker orders them"
    faults.append(of_chunks("exact duplicates", pd.Series(list(inputs)).duplicated().to_numpy(), definition))
    return [*faults, _left_out(labels, dataset, chunks)]


def _cut_evidence(labels: Labels, dataset: Dataset, chunks: pd.DataFrame) -> ChunkFault:
    split = np.flatnonzero(~whole_needs(labels, chunks))
    query_ids = dict.fromkeys(dataset.needs[need].query_id for need in split)
    definition = "no chunk, as it is delivered, holds any alternative of the piece of evidence whole"
    return ChunkFault(
        "evidence cut by a boundary", len(split), len(dataset.needs), "pieces of evidence", definition, tuple(query_ids)[:_EXAMPLES]
    )


def _several_topics(labels: Labels, chunks: pd.DataFrame) -> Bools | None:
    """Mask of the chunks that cover several sections. Shape (chunks,), or None if no document has headings."""
    several = np.zeros(len(chunks), dtype=np.bool_)
    any_headings = False
    docs = chunks["doc"].to_numpy()
    places, firsts = np.unique(docs, return_index=True)
    # The chunks of a document are neighbours.
    for place, rows in zip(places.tolist(), np.split(np.arange(len(docs)), firsts[1:]), strict=True):
        borders = _sections(labels)[place]
        any_headings = any_headings or len(borders) > 2
        if len(borders) > 2:
            starts, ends = (chunks[side].to_numpy()[rows] for side in ("start", "end"))
            several[rows] = second_longest(borders, starts, ends) >= SECOND_TOPIC * (ends - starts)
    return several if any_headings else None


def second_longest(borders: Ints, starts: Ints, ends: Ints) -> Ints:
    """The length of what each chunk has of the section of which it has the second most, 0 for a chunk in one section."""
    first = np.searchsorted(borders, starts, side="right") - 1
    counts = np.searchsorted(borders, ends, side="left") - first
    # One line per chunk and section, since a table of all chunks and all sections would be quadratic in the document's length.
    chunk = np.repeat(np.arange(len(starts)), counts)
    stops = np.cumsum(counts)
    section = np.arange(len(chunk)) - (stops - counts - first)[chunk]
    lengths = np.minimum(borders[section + 1], ends[chunk]) - np.maximum(borders[section], starts[chunk])
    ordered = lengths[np.lexsort((lengths, chunk))]
    return np.where(counts > 1, ordered[np.maximum(stops - 2, 0)], 0)


@lru_cache(maxsize=4)
def _sections(labels: Labels) -> tuple[Ints, ...]:
    return tuple(section_borders(text) for text in labels.texts)


def section_borders(text: str) -> Ints:
    """The starts of a text's sections, and its end. A heading with nothing under it belongs to the next section."""
    borders, headed = [0], False
    for heading in outline(text):
        above = text[borders[-1] : heading.start]
        # Skip the first line if it is a heading.
        if (above.lstrip().partition("\n")[2] if headed else above).strip():
            borders.append(heading.start)
        headed = True
    return np.array([*borders, len(text)], dtype=np.int64)


def _left_out(labels: Labels, dataset: Dataset, chunks: pd.DataFrame) -> ChunkFault:
    starts, ends = labels.positions(chunks, "start", "end")
    # The empty position after each document counts as covered, so that no gap crosses into the next document.
    # Documents that are missing from the corpus count as covered as a whole.
    missing = np.array([document.missing for document in dataset.documents], dtype=np.bool_)
    closed = np.where(missing, labels.offsets[:-1], labels.offsets[1:] - 1)
    covered = Union.of(np.concatenate([starts, closed]), np.concatenate([ends, labels.offsets[1:]]))
    gaps = labels.places(np.concatenate([labels.offsets[:1], covered.ends[:-1]]), covered.starts)
    outside = [(doc, count) for doc, low, high in gaps if (count := _solid(labels.texts[doc][low:high]))]
    lost, total = sum(count for _, count in outside), sum(_solid(document.text) for document in dataset.corpus)
    examples = [dataset.documents[doc].doc_id for doc in dict.fromkeys(doc for doc, _ in outside)]
    definition = "characters other than blanks that the splitter left out of every chunk: no question can find them"
    return ChunkFault("text in no chunk", lost, total, "characters", definition, tuple(examples[:_EXAMPLES]))


def _solid(text: str) -> int:
    return sum(map(len, text.split()))
