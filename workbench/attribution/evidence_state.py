"""How much of each piece of evidence indexing, chunking and embedding keep. Positions count non-blank characters."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.attribution.embedded_extent import EmbeddedExtent
from workbench.metrics.case import Case
from workbench.metrics.coverage import Bools, Ints, Union, meeting, totals
from workbench.metrics.delivery import slices
from workbench.metrics.inputs import Labels


class EvidenceState(NamedTuple):
    """(alternatives) `chunked`: all of it is in searched chunks. `whole`: some delivered slice holds all of it besides.

    `embedded`: all of it was embedded, for a `whole` one in chunks that deliver one slice with all of it.
    """

    chunked: Bools
    whole: Bools
    embedded: Bools


def evidence_state(case: Case, extent: EmbeddedExtent, rows: Ints) -> EvidenceState:
    """The state of the alternatives of `rows`."""
    labels, chunks = case.labels, case.retrieved.chunks
    lows, highs = labels.solid(labels.alternative_start[rows]), labels.solid(labels.alternative_end[rows])
    starts, ends, seen_ends = map(labels.solid, labels.positions(chunks.assign(seen_end=extent.ends), "start", "end", "seen_end"))
    chunked, embedded = (Union.of(starts, last).covered(lows, highs) == highs - lows for last in (ends, seen_ends))
    whole = chunked & whole_alternatives(labels, chunks)[rows]
    return EvidenceState(chunked, whole, np.where(whole, _embedded_whole(case, extent, lows, highs), embedded))


def whole_alternatives(labels: Labels, chunks: pd.DataFrame) -> Bools:
    """(alternatives) whether some delivered slice holds the alternative whole, blanks at its borders aside."""
    starts, ends = map(labels.solid, labels.positions(chunks, "delivered_start", "delivered_end"))
    order = np.argsort(starts, kind="stable")
    # Of all slices that start at or before a span, the one that reaches farthest decides.
    reach = np.concatenate([[-1], np.maximum.accumulate(ends[order])])
    before = np.searchsorted(starts[order], labels.solid(labels.alternative_start), side="right")
    whole: Bools = reach[before] >= labels.solid(labels.alternative_end)
    return whole


def whole_needs(labels: Labels, chunks: pd.DataFrame) -> Bools:
    """(needs) whether some delivered slice holds one of the need's alternatives whole, blanks at its borders aside."""
    held: Bools = np.bincount(labels.alternative_need[whole_alternatives(labels, chunks)], minlength=len(labels.need_query)) > 0
    return held


def _embedded_whole(case: Case, extent: EmbeddedExtent, lows: Ints, highs: Ints) -> Bools:
    """(n) whether a slice holds [low, high) whole and no window cut any of that off the chunks that deliver the slice."""
    labels, table, chunks = case.labels, case.shared(slices), case.retrieved.chunks
    starts, ends = labels.solid(table.starts), labels.solid(table.ends)
    span, piece = meeting(starts, ends, lows, highs)
    whole = (starts[piece] <= lows[span]) & (ends[piece] >= highs[span])
    span, piece = span[whole], piece[whole]
    intact = np.bincount(table.of_chunk[extent.cut], minlength=len(starts))[piece] == 0
    # A line of characters for each slice holds what was embedded of the chunks that deliver it.
    rows = np.flatnonzero(np.isin(table.of_chunk, piece[~intact]))
    origin = table.of_chunk[rows] * labels.width
    starts, seen_ends = map(labels.solid, labels.positions(chunks.assign(seen_end=extent.ends).iloc[rows], "start", "seen_end"))
    seen, row = Union.of(origin + starts, origin + seen_ends), piece * labels.width
    covered = seen.covered(row + lows[span], row + highs[span]) == (highs - lows)[span]
    return totals(span, intact | covered, len(lows)) > 0
