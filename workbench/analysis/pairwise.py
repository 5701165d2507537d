"""Where two configurations differ: the queries that each alone wins, by the cause of the other's miss, and by slice."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.attribution.evidence_causes import CAUSES, causes_by_query, misses_of
from workbench.execution.local import Result
from workbench.metrics.case import Case
from workbench.metrics.coverage import Bools, Floats, Ints
from workbench.metrics.documents import judged
from workbench.metrics.names import Metric
from workbench.pipeline.context import RunContext
from workbench.pipeline.stages import retrieved_of
from workbench.statistics.clusters import query_clusters
from workbench.statistics.comparison import paired_difference
from workbench.statistics.intervals import Interval
from workbench.statistics.summary import query_slices

# Values may differ where the loser misses nothing.
OTHER = "other"
OTHER_TOLD = "all that was looked for was delivered: the values differ by blanks at seams, by order, or by what else was delivered"
FEWEST_QUERIES, FEWEST_CLUSTERS = 20, 5
# Values that differ by less are the same: rounding.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Examined:
    """One configuration query by query: `values` (q) of a metric, NaN where it has none, its `misses` as `misses_of` has them, and the
    earliest of their `causes` (q), empty where it misses nothing.
    """

    result: Result
    values: Floats
    misses: pd.DataFrame
    causes: NDArray[np.object_]

    @property
    def name(self) -> str:
        """The configuration's name."""
        return self.result.configuration.name


@dataclass(frozen=True)
class Won:
    """The ids of the queries that one configuration alone wins, by the cause of the other's miss, causes in their order."""

    winner: str
    loser: str
    causes: dict[str, tuple[str, ...]]

    @property
    def queries(self) -> int:
        """How many there are."""
        return sum(len(ids) for ids in self.causes.values())


@dataclass(frozen=True)
class Part:
    """A slice of the queries that both have a value for, `all` or `field=value`.

    `difference` is the mean of a - b with its interval and n; `won_by_a` and `won_by_b` count queries by the cause of the other's miss.
    `small` says why the slice is too small to tell anything; empty where it is not.
    """

    name: str
    difference: Interval
    won_by_a: dict[str, int]
    won_by_b: dict[str, int]
    ties: int
    small: str


@dataclass(frozen=True)
class Contrast:
    """Two configurations on one metric; the first part holds all queries.

    `judged` are the shares of a's and of b's first k documents that have a judgement, for metrics over documents: where they differ,
    so does what the metric could see. None for the others.
    """

    metric: Metric
    a: Won
    b: Won
    parts: tuple[Part, ...]
    judged: tuple[float, float] | None

    @property
    def ties(self) -> int:
        """The queries that both do equally well."""
        return self.parts[0].ties


def contrast(bench: RunContext, a: Result, b: Result, metric: Metric) -> Contrast | None:
    """Where a and b differ; None where no query has a value for both."""
    return contrast_of(bench, metric, examined(bench, a, metric), examined(bench, b, metric))


def examined(bench: RunContext, result: Result, metric: Metric) -> Examined:
    """A configuration's values and causes; to be kept where one is held against several."""
    scores = result.scores.table("scores")
    chosen = scores[scores["metric"] == str(metric)].set_index("query")["value"]
    values: Floats = chosen.reindex(range(bench.labels.queries)).to_numpy(np.float64)
    misses = misses_of(bench, result, metric)
    return Examined(result, values, misses, causes_by_query(misses, bench.labels.queries))


def contrast_of(bench: RunContext, metric: Metric, a: Examined, b: Examined) -> Contrast | None:
    """Where two examined configurations differ; None where no query has a value for both."""
    both = ~np.isnan(a.values + b.values)
    if not both.any():
        return None
    gap = np.where(both, a.values - b.values, 0.0) * (1 if metric.higher_is_better else -1)
    wins = (gap > _SAME, gap < -_SAME)
    causes = tuple(np.where(loser.causes == "", OTHER, loser.causes) for loser in (b, a))
    ids = np.array([query.query_id for query in bench.dataset.queries], dtype=object)
    sides = _won(a, b, ids, wins[0], causes[0]), _won(b, a, ids, wins[1], causes[1])
    clusters = query_clusters(bench.labels)
    parts = []
    for name, members in query_slices([query.metadata for query in bench.dataset.queries], len(ids)).items():
        here = members & both
        if here.any():
            difference = paired_difference(a.values[here], b.values[here], clusters[here])
            counted = _counted(causes[0][wins[0] & here]), _counted(causes[1][wins[1] & here])
            parts.append(Part(name, difference, *counted, int((here & ~wins[0] & ~wins[1]).sum()), small(clusters[here])))
    return Contrast(metric, *sides, tuple(parts), _judged(bench, metric, a.result, b.result, both))


def small(clusters: Ints) -> str:
    """Why queries in these clusters (n) are too few to tell anything; empty where they are not."""
    few = [f"fewer than {FEWEST_QUERIES} questions"] if len(clusters) < FEWEST_QUERIES else []
    few += [f"from fewer than {FEWEST_CLUSTERS} documents"] if len(np.unique(clusters)) < FEWEST_CLUSTERS else []
    return ", ".join(few)


def _won(winner: Examined, loser: Examined, ids: NDArray[np.object_], won: Bools, causes: NDArray[np.object_]) -> Won:
    found = {cause: tuple(ids[won & (causes == cause)].tolist()) for cause in (*CAUSES, OTHER)}
    return Won(winner.name, loser.name, {cause: some for cause, some in found.items() if some})


def _counted(causes: NDArray[np.object_]) -> dict[str, int]:
    counts = {cause: int((causes == cause).sum()) for cause in (*CAUSES, OTHER)}
    return {cause: many for cause, many in counts.items() if many}


def _judged(bench: RunContext, metric: Metric, a: Result, b: Result, both: Bools) -> tuple[float, float] | None:
    if metric.family != "documents":
        return None
    cases = [Case(bench.labels, retrieved_of(one.chunks, one.hits, one.search), bench.spans) for one in (a, b)]
    shares = [float(judged(case, metric.cut).value[both].mean()) for case in cases]
    return shares[0], shares[1]
