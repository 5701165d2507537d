"""The slices of text that reach the context: distinct ones by rank, up to a cut."""

from typing import NamedTuple

import numpy as np

from workbench.components.context.packing import pack
from workbench.measures.metrics.case import Case, Cut
from workbench.measures.metrics.coverage import Ints
from workbench.measures.metrics.inputs import Labels


class Slices(NamedTuple):
    """The s distinct delivered slices of a chunk table: `starts`, `ends` (s; global characters, sorted), `doc` (s).

    `of_chunk` (chunks) is the slice delivered for each chunk.
    """

    starts: Ints
    ends: Ints
    doc: Ints
    of_chunk: Ints


class Ordered(NamedTuple):
    """The distinct slices of all queries by rank: `query`, `position` (1 is the query's best), `piece` (a row of Slices)."""

    query: Ints
    position: Ints
    piece: Ints


class Delivered(NamedTuple):
    """The text up to a cut: `row` of Ordered, `query`, `piece` (a row of Slices), and global characters `starts`, `ends`."""

    row: Ints
    query: Ints
    piece: Ints
    starts: Ints
    ends: Ints


def slices(case: Case, _: Cut) -> Slices:
    """Find the distinct delivered slices of the chunk table."""
    chunks = case.retrieved.chunks
    starts, ends = case.labels.positions(chunks, "delivered_start", "delivered_end")
    longest = int((ends - starts).max(initial=0)) + 1
    first, of_chunk = np.unique(starts * longest + ends - starts, return_index=True, return_inverse=True)[1:]
    return Slices(starts[first], ends[first], chunks["doc"].to_numpy(np.int64)[first], of_chunk)


def ordered(case: Case, _: Cut) -> Ordered:
    """Convert each query's hits to distinct slices, each at its best rank."""
    hits = case.retrieved.hits
    query = hits["query"].to_numpy(dtype=np.int64)
    piece = case.shared(slices).of_chunk[hits["chunk"].to_numpy(dtype=np.int64)]
    packed = pack(query, piece, np.zeros_like(query))
    rows = packed.delivered
    return Ordered(query[rows], packed.position[rows], piece[rows])


def delivered(case: Case, cut: Cut) -> Delivered:
    """Compute the text that `packing.pack` delivers under the cut.

    A slice costs every token that starts in it, even if it overlaps another: a prompt contains both.
    """
    return packed_text(case, case.shared(ordered), cut)


def delivered_documents(case: Case, cut: Cut) -> Ints:
    """The document of each delivered slice as a key, query * documents + document."""
    text = case.shared(delivered, cut)
    return text.query * case.labels.documents + case.shared(slices).doc[text.piece]


def packed_text(case: Case, hits: Ordered, cut: Cut) -> Delivered:
    """Compute the text delivered under the cut for these hits."""
    table, tokens = case.shared(slices), np.zeros_like(hits.piece)
    if cut.tokens is not None:
        tokens = case.labels.tokens_in(table.starts, table.ends)[hits.piece]
    packed = pack(hits.query, hits.piece, tokens, cut.depth if cut.tokens is None else cut.k, cut.tokens)
    row = np.flatnonzero(packed.delivered)
    piece, delivered_tokens = hits.piece[row], packed.delivered_tokens[row]
    starts = table.starts[piece]
    ends = delivered_ends(case.labels, starts, table.ends[piece], delivered_tokens, tokens[row])
    return Delivered(row, hits.query[row], piece, starts, ends)


def delivered_ends(labels: Labels, starts: Ints, ends: Ints, delivered_tokens: Ints, tokens: Ints) -> Ints:
    """End of the delivered part of each slice, of whose `tokens` the first `delivered_tokens` are delivered. Shape (n,)."""
    short, kept = delivered_tokens < tokens, ends.copy()
    if short.any():
        kept[short] = labels.token_starts[np.searchsorted(labels.token_starts, starts[short]) + delivered_tokens[short]]
    return kept
