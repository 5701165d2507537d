"""Which slices of text reach the context: by rank, identical ones once, up to a cut."""

from typing import NamedTuple

import numpy as np

from workbench.metrics.case import Case, Cut
from workbench.metrics.coverage import Ints

NO_CUT = Cut()


class Slices(NamedTuple):
    """The s distinct delivered slices of a chunk table: `starts`, `ends` (s, global characters, sorted), `doc` (s).

    `of_chunk` (chunks) is the slice that is delivered for each chunk.
    """

    starts: Ints
    ends: Ints
    doc: Ints
    of_chunk: Ints


class Ordered(NamedTuple):
    """The distinct slices of all queries by rank: `query`, `position` (1 is the best of its query), `piece` (a row of Slices)."""

    query: Ints
    position: Ints
    piece: Ints


class Delivered(NamedTuple):
    """The text up to a cut: `query`, `piece` (a row of Slices), and global characters `starts`, `ends`."""

    query: Ints
    piece: Ints
    starts: Ints
    ends: Ints


def slices(case: Case, _: Cut) -> Slices:
    """All distinct delivered slices of the chunk table."""
    chunks = case.retrieved.chunks
    doc = chunks["doc"].to_numpy(dtype=np.int64)
    starts = case.labels.offsets[doc] + chunks["delivered_start"].to_numpy(dtype=np.int64)
    lengths = chunks["delivered_end"].to_numpy(dtype=np.int64) - chunks["delivered_start"].to_numpy(dtype=np.int64)
    longest = int(lengths.max(initial=0)) + 1
    first, of_chunk = np.unique(starts * longest + lengths, return_index=True, return_inverse=True)[1:]
    return Slices(starts[first], (starts + lengths)[first], doc[first], of_chunk)


def ordered(case: Case, _: Cut) -> Ordered:
    """Every query's hits as distinct slices, each at its best rank."""
    hits = case.retrieved.hits
    query = hits["query"].to_numpy(dtype=np.int64)
    table = case.shared(slices, NO_CUT)
    piece = table.of_chunk[hits["chunk"].to_numpy(dtype=np.int64)]
    rows = np.sort(np.unique(query * len(table.starts) + piece, return_index=True)[1])
    query, piece = query[rows], piece[rows]
    return Ordered(query, np.arange(len(query)) - np.searchsorted(query, query) + 1, piece)


def delivered(case: Case, cut: Cut) -> Delivered:
    """The slices that are delivered: the first k, or as many as N tokens pay for, the last one cut.

    A slice is charged every token that starts in it, also where it overlaps another: a prompt pays for both. It is cut at the
    start of the first token that no longer fits.
    """
    table, hits = case.shared(slices, NO_CUT), case.shared(ordered, NO_CUT)
    starts, ends = table.starts[hits.piece], table.ends[hits.piece]
    if cut.tokens is None:
        kept = hits.position <= cut.depth
        return Delivered(hits.query[kept], hits.piece[kept], starts[kept], ends[kept])
    token_starts = case.labels.token_starts
    first_token = np.searchsorted(token_starts, table.starts)
    tokens = (np.searchsorted(token_starts, table.ends) - first_token)[hits.piece]
    spent = np.concatenate([[0], np.cumsum(tokens)])
    left = cut.tokens - (spent[:-1] - spent[np.searchsorted(hits.query, hits.query)])
    over = np.flatnonzero((left > 0) & (tokens > left))
    ends[over] = token_starts[first_token[hits.piece[over]] + left[over]]
    kept = left > 0
    return Delivered(hits.query[kept], hits.piece[kept], starts[kept], ends[kept])
