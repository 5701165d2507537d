"""How near evidence came to the context: the state it is in in the chunks, and where the slices that hold it rank."""

from typing import NamedTuple

import numpy as np

from workbench.attribution.chunk_faults import whole_alternatives
from workbench.attribution.duplicate_hits import repeats
from workbench.attribution.embedded_extent import EmbeddedExtent
from workbench.context.delivery import NO_CUT, ordered, slices
from workbench.metrics.case import Case, Cut
from workbench.metrics.coverage import Bools, Floats, Ints, Union, meeting, totals


class Condition(NamedTuple):
    """(alternatives) whether all of each is in searched chunks, all of it was embedded, and it is whole in a slice besides."""

    chunked: Bools
    embedded: Bools
    sound: Bools


class EvidenceRanks(NamedTuple):
    """(alternatives) where the listed slices that hold each rank.

    `touched`: one with a part was delivered. `spared`: a whole one would be, were it not for repeats. `retrieved`: a whole one is among
    the k hits, beyond the tokens. `whole`, `part`: the best rank of one with all and with some of it, infinite where none is listed.
    """

    touched: Bools
    spared: Bools
    retrieved: Bools
    whole: Floats
    part: Floats


class _Spent(NamedTuple):
    """(rows of `ordered`) what each slice costs of the cut's `limit`, and what those before it cost: one each, or their tokens."""

    cost: Ints
    before: Ints
    limit: int


class _Meetings(NamedTuple):
    """Pairs of an alternative (its place in the rows asked for) and a listed slice (a row of `ordered`); `whole`: it holds all of it."""

    one: Ints
    row: Ints
    whole: Bools


def condition(case: Case, seen: EmbeddedExtent, rows: Ints) -> Condition:
    """The state of the alternatives of `rows`."""
    labels, chunks = case.labels, case.retrieved.chunks
    lows, highs = labels.solid(labels.alternative_start[rows]), labels.solid(labels.alternative_end[rows])
    offsets = labels.offsets[chunks["doc"].to_numpy()]
    starts = labels.solid(offsets + chunks["start"].to_numpy())

    def held(ends: Ints) -> Bools:
        covered: Bools = Union.of(starts, labels.solid(offsets + ends)).covered(lows, highs) == highs - lows
        return covered

    embedded = held(seen.ends)
    return Condition(held(chunks["end"].to_numpy()), embedded, embedded & whole_alternatives(labels, chunks)[rows])


def reach_of(case: Case, cut: Cut, rows: Ints, sound: Bools, k: int) -> EvidenceRanks:
    """How near to the cut the slices come that hold the alternatives of `rows`; `sound` (rows) says of which one would do."""
    hits, (one, row, whole) = case.shared(ordered, NO_CUT), _meetings(case, rows)
    spent, good = _spent(case, cut), whole & sound[one]
    saved = _repeated(case, spent, np.unique(hits.query[row[good]]))
    flags = (
        spent.before[row] < spent.limit,
        good & (spent.before[row] - saved[row] + _needed(case, cut, rows[one], row) <= spent.limit),
        good & (hits.position[row] <= k) & (cut.tokens is not None),
    )
    ranks = np.full((2, len(rows)), np.inf)
    np.minimum.at(ranks[0], one[whole], hits.position[row[whole]])
    np.minimum.at(ranks[1], one, hits.position[row])
    touched, spared, retrieved = (totals(one, flag, len(rows)) > 0 for flag in flags)
    return EvidenceRanks(touched, spared, retrieved, ranks[0], ranks[1])


def _meetings(case: Case, rows: Ints) -> _Meetings:
    labels, hits, table = case.labels, case.shared(ordered, NO_CUT), case.shared(slices, NO_CUT)
    query = labels.alternative_query[rows]
    listed = np.flatnonzero(np.isin(hits.query, query))
    origin, piece = hits.query[listed] * labels.width, hits.piece[listed]
    starts, ends = origin + labels.solid(table.starts)[piece], origin + labels.solid(table.ends)[piece]
    lows = query * labels.width + labels.solid(labels.alternative_start[rows])
    highs = query * labels.width + labels.solid(labels.alternative_end[rows])
    order = np.argsort(starts, kind="stable")
    one, place = meeting(starts[order], ends[order], lows, highs)
    place = order[place]
    return _Meetings(one, listed[place], (starts[place] <= lows[one]) & (ends[place] >= highs[one]))


def _needed(case: Case, cut: Cut, alternative: Ints, row: Ints) -> Ints:
    """(pairs) what of a slice must be paid for to get the alternative: the slice, or its tokens up to the alternative's end."""
    if cut.tokens is None:
        return np.ones(len(row), dtype=np.int64)
    labels, starts = case.labels, case.shared(slices, NO_CUT).starts[case.shared(ordered, NO_CUT).piece[row]]
    ends = labels.alternative_end[alternative]
    return np.searchsorted(labels.token_starts, ends) - np.searchsorted(labels.token_starts, starts)


def _spent(case: Case, cut: Cut) -> _Spent:
    hits, table = case.shared(ordered, NO_CUT), case.shared(slices, NO_CUT)
    if cut.tokens is None:
        return _Spent(np.ones(len(hits.query), dtype=np.int64), hits.position - 1, cut.depth)
    first, last = (np.searchsorted(case.labels.token_starts, side) for side in (table.starts, table.ends))
    cost = (last - first).astype(np.int64)[hits.piece]
    return _Spent(cost, _before(hits.query, cost), cut.tokens)


def _repeated(case: Case, spent: _Spent, queries: Ints) -> Ints:
    """(rows of `ordered`) what the repeats before each row cost, for the rows of some queries; 0 for the others."""
    hits = case.shared(ordered, NO_CUT)
    rows = np.flatnonzero(np.isin(hits.query, queries))
    cost = np.zeros(len(hits.query), dtype=np.int64)
    cost[rows] = np.where(repeats(case, rows), spent.cost[rows], 0)
    return _before(hits.query, cost)


def _before(query: Ints, cost: Ints) -> Ints:
    """What the rows before each row of the same query cost together."""
    total: Ints = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(cost)])
    return total[:-1] - total[np.searchsorted(query, query)]
