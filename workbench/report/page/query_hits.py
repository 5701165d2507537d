"""Which hits of a question the drill-down shows: what was delivered, what came next, and evidence further down."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.attribution.evidence_causes import looked_at
from workbench.context.delivery import NO_CUT, Ordered, Slices, delivered, ordered, slices
from workbench.execution.local import Result
from workbench.metrics.case import Case
from workbench.metrics.coverage import Bools, Ints, meeting
from workbench.metrics.names import Metric
from workbench.pipeline.context import RunContext
from workbench.pipeline.stages import retrieved_of

# Hits after the last delivered one, and slices with evidence after those.
_NEXT, _FURTHER = 2, 3


class Shown(NamedTuple):
    """A distinct slice of a query by rank; `kept` is where its delivered text ends, `start` where none of it was."""

    query: int
    rank: int
    doc: int
    start: int
    end: int
    kept: int
    score: float


def shown_hits(bench: RunContext, result: Result, metric: Metric) -> Iterator[Shown]:
    """The slices to show for every query, by query and rank."""
    labels = bench.labels
    case = Case(labels, retrieved_of(result.chunks, result.hits, result.search), bench.spans)
    hits, table = case.shared(ordered, NO_CUT), case.shared(slices, NO_CUT)
    text = case.shared(delivered, looked_at(metric, result))
    key, many = hits.query * len(table.starts) + hits.piece, len(hits.query)
    order = np.argsort(key)
    rows = order[np.searchsorted(key[order], text.query * len(table.starts) + text.piece)]
    kept = table.starts[hits.piece].copy()
    kept[rows] = text.ends
    within = np.zeros(many, dtype=np.bool_)
    within[rows] = True
    last = np.zeros(labels.queries, dtype=np.int64)
    np.maximum.at(last, hits.query[rows], hits.position[rows])
    beyond = hits.position - last[hits.query]
    evident = _evident(case, hits, table) & ~within & (beyond > _NEXT)
    wanted = np.flatnonzero(within | (beyond <= _NEXT) | (evident & (_nth(hits.query, evident) <= _FURTHER)))
    doc, scores = table.doc[hits.piece[wanted]], _scores(case, table, key[wanted])
    offsets = labels.offsets[doc]
    starts, ends = table.starts[hits.piece[wanted]] - offsets, table.ends[hits.piece[wanted]] - offsets
    columns = (hits.query[wanted], hits.position[wanted], doc, starts, ends, kept[wanted] - offsets, scores)
    for row in zip(*(column.tolist() for column in columns), strict=True):
        yield Shown(*row)


def _evident(case: Case, hits: Ordered, table: Slices) -> Bools:
    """(rows of `ordered`) whether a slice shares a character with evidence of its own query."""
    labels, width = case.labels, case.labels.width
    lows = labels.alternative_query * width + labels.alternative_start
    highs = labels.alternative_query * width + labels.alternative_end
    order = np.argsort(lows, kind="stable")
    starts, ends = hits.query * width + table.starts[hits.piece], hits.query * width + table.ends[hits.piece]
    found = np.zeros(len(hits.query), dtype=np.bool_)
    found[meeting(lows[order], highs[order], starts, ends)[0]] = True
    return found


def _nth(query: Ints, flags: Bools) -> Ints:
    """(n) the how-manieth flagged row of its query each row is."""
    counted = np.cumsum(flags)
    before = np.concatenate([np.zeros(1, dtype=np.int64), counted])[np.searchsorted(query, query)]
    nth: Ints = (counted - before).astype(np.int64)
    return nth


def _scores(case: Case, table: Slices, keys: Ints) -> Ints:
    """(n) the best score among the chunks that a slice, by its key, is delivered for."""
    hits = case.retrieved.hits
    own = hits["query"].to_numpy(np.int64) * len(table.starts) + table.of_chunk[hits["chunk"].to_numpy(np.int64)]
    best: Ints = pd.Series(hits["score"].to_numpy(np.float64)).groupby(own).max().reindex(keys).to_numpy()
    return best
