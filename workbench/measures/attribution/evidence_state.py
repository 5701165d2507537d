"""The embedded part of each chunk, and the part of each piece of evidence that survives indexing, chunking and embedding.

Positions of evidence count non-blank characters.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.llm.models.tokenizers import tokenise
from workbench.measures.metrics.case import Case
from workbench.measures.metrics.coverage import Bools, Ints, Union, meeting, totals
from workbench.measures.metrics.delivery import slices
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
