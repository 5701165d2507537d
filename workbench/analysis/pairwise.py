"""Where two configurations differ: the queries that each alone wins, by the cause of the other's miss, and by slice."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.questions.miss_causes import causes_by_query
from workbench.analysis.values import clusters, detail, per_query, slices
from workbench.attribution.causes import CAUSE_NAMES
from workbench.metrics.coverage import Bools, Floats, Ints
from workbench.results.measures import Measure
from workbench.results.run_tables import RunTables
from workbench.statistics.comparison import paired_difference
from workbench.statistics.intervals import Interval

# Values may differ where the loser misses nothing.
OTHER = "other"
OTHER_TOLD = "all that was looked for was delivered: the values differ by blanks at seams, by order, or by what else was delivered"
FEWEST_QUERIES, FEWEST_CLUSTERS = 20, 5
# Values that differ by less are the same: rounding.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Examined:
    """One configuration query by query: `values` (q) of the primary metric, NaN where it has none, and the first in precedence of the
    `causes` (q) of what it misses, empty where it misses nothing.
    """

    name: str
    values: Floats
    causes: NDArray[np.object_]


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

    metric: Measure
    a: Won
    b: Won
    parts: tuple[Part, ...]
    judged: tuple[float, float] | None

    @property
    def ties(self) -> int:
        """The queries that both do equally well."""
        return self.parts[0].ties


def contrast(run: RunTables, a: str, b: str) -> Contrast | None:
    """Where a and b differ by the primary metric; None where no query has a value for both."""
    return contrast_of(run, examined(run, a), examined(run, b))


def examined(run: RunTables, configuration: str) -> Examined:
    """A configuration's values and causes; to be kept where one is compared with several."""
    return Examined(configuration, per_query(run, configuration, str(run.primary)), causes_by_query(run, configuration))


def contrast_of(run: RunTables, a: Examined, b: Examined) -> Contrast | None:
    """Where two examined configurations differ; None where no query has a value for both."""
    both = ~np.isnan(a.values + b.values)
    if not both.any():
        return None
    gap = np.where(both, a.values - b.values, 0.0) * (1 if run.primary.higher_is_better else -1)
    wins = (gap > _SAME, gap < -_SAME)
    causes = tuple(np.where(loser.causes == "", OTHER, loser.causes) for loser in (b, a))
    ids = run.questions["query_id"].to_numpy(dtype=object)
    sides = _won(a, b, ids, wins[0], causes[0]), _won(b, a, ids, wins[1], causes[1])
    groups = clusters(run)
    parts = []
    for name, members in slices(run).items():
        here = members & both
        if here.any():
            difference = paired_difference(a.values[here], b.values[here], groups[here])
            counted = _counted(causes[0][wins[0] & here]), _counted(causes[1][wins[1] & here])
            parts.append(Part(name, difference, *counted, int((here & ~wins[0] & ~wins[1]).sum()), small(groups[here])))
    return Contrast(run.primary, *sides, tuple(parts), _judged(run, a.name, b.name, both))


def small(groups: Ints) -> str:
    """Why queries in these clusters `groups` (n) are too few to tell anything; empty where they are not."""
    few = [f"fewer than {FEWEST_QUERIES} questions"] if len(groups) < FEWEST_QUERIES else []
    few += [f"from fewer than {FEWEST_CLUSTERS} documents"] if len(np.unique(groups)) < FEWEST_CLUSTERS else []
    return ", ".join(few)


def _won(winner: Examined, loser: Examined, ids: NDArray[np.object_], won: Bools, causes: NDArray[np.object_]) -> Won:
    found = {cause: tuple(ids[won & (causes == cause)].tolist()) for cause in (*CAUSE_NAMES, OTHER)}
    return Won(winner.name, loser.name, {cause: some for cause, some in found.items() if some})


def _counted(causes: NDArray[np.object_]) -> dict[str, int]:
    counts = {cause: int((causes == cause).sum()) for cause in (*CAUSE_NAMES, OTHER)}
    return {cause: many for cause, many in counts.items() if many}


def _judged(run: RunTables, a: str, b: str, both: Bools) -> tuple[float, float] | None:
    if run.primary.family != "documents":
        return None
    shares = [float(detail(run, name, "judged")[both].mean()) for name in (a, b)]
    return shares[0], shares[1]
