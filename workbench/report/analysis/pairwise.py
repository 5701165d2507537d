"""Pairs of configurations: the table of all comparisons, and the queries on which two differ, by cause of the miss and by slice."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.components.context.conditions import RETRIEVED
from workbench.core.schemas import SCHEMAS
from workbench.measures.attribution.causes import CAUSE_NAMES
from workbench.measures.attribution.causes import causes_by_query as earliest_causes
from workbench.measures.metrics.coverage import Bools
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.comparison import Comparison, paired_difference, paired_differences
from workbench.measures.statistics.intervals import Interval
from workbench.report.analysis.causes import answer_cause_meanings, cause_meanings, causes_by_query, failed_answers
from workbench.report.analysis.standings import comparison, difference, verdict_of
from workbench.report.analysis.values import clusters, detail, per_query, places, slices, small
from workbench.report.results.run_tables import RunTables

# Values can differ even if the loser misses nothing.
OTHER = "other"
_NOTHING_MISSED = "nothing was missed: the values differ by blanks between chunks, by order, or by the other text delivered"
_NO_FAILURE = "no cause was attributed to the answer: it was not judged, or it counts as correct"
# Smaller differences are rounding errors.
SAME = 1e-9
_ALL = "all"


@dataclass(frozen=True)
class WonQueries:
    """The ids of the queries on which one configuration does better, by the cause of the other's miss, in order of precedence."""

    winner: str
    causes: dict[str, tuple[str, ...]]

    @property
    def queries(self) -> int:
        """The number of queries."""
        return sum(len(ids) for ids in self.causes.values())


@dataclass(frozen=True)
class Part:
    """A slice (`all` or `field=value`) of the queries that both configurations have a value for.

    `difference` is the mean of a - b with its interval and n, of all queries that of their `comparison`; `won_by_a` and `won_by_b` count queries by the cause of the other's miss.
    `small` says why the slice is too small to be conclusive, and is empty otherwise.
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

    For metrics over documents, `judged` are the shares of a's and b's first k documents that have a judgement: if they differ,
    so do the documents that the metric can count. None for other metrics.
    """

    metric: Metric
    a: WonQueries
    b: WonQueries
    parts: tuple[Part, ...]
    judged: tuple[float, float] | None

    @property
    def ties(self) -> int:
        """The number of queries on which both are equal."""
        return self.parts[0].ties


def contrast(run: RunTables, a: str, b: str) -> Contrast | None:
    """Compare two configurations on each query by the primary metric. Returns None if no query has a value for both."""
    values, groups = [per_query(run, name, str(run.primary)) for name in (a, b)], clusters(run)
    scored = ~np.isnan(values[0] + values[1])
    if not scored.any():
        return None
    gap = np.where(scored, values[0] - values[1], 0.0) * (1 if run.primary.higher_is_better else -1)
    won, ties = (gap > SAME, gap < -SAME), scored & (np.abs(gap) <= SAME)
    query_ids = run.questions["query_id"].to_numpy(object)

    def by_cause(members: Bools) -> list[dict[str, tuple[str, ...]]]:
        """The members that each side wins, by the cause of the other's miss."""
        sides = ((members & wins, loss_causes(run, loser)) for wins, loser in zip(won, (b, a), strict=True))
        return [_grouped(query_ids[rows], causes[rows]) for rows, causes in sides]

    parts = []
    for name, members in slices(run).items():
        common = members & scored
        if common.any():
            tested = comparison(run, a, b) if name == _ALL else None
            difference = tested.simultaneous if tested else paired_difference(values[0][common], values[1][common], groups[common])
            won_by_a, won_by_b = ({cause: len(ids) for cause, ids in side.items()} for side in by_cause(common))
            parts.append(Part(name, difference, won_by_a, won_by_b, int((common & ties).sum()), small(groups[common])))
    of_a, of_b = by_cause(scored)
    return Contrast(run.primary, WonQueries(a, of_a), WonQueries(b, of_b), tuple(parts), _judged(run, a, b, scored))


def meanings(run: RunTables) -> Mapping[str, str]:
    """Return the meanings of the causes by which questions are grouped: of failed answers if the run is ranked by answers."""
    if run.primary.of_answers:
        return {**answer_cause_meanings(run), OTHER: _NO_FAILURE}
    return {**cause_meanings(run), OTHER: _NOTHING_MISSED}


def loss_causes(run: RunTables, configuration: str) -> NDArray[np.object_]:
    """The cause of each query's miss, or of its failed answer if the run is ranked by answers. Shape (queries,), an empty string without one."""
    if not run.primary.of_answers:
        return causes_by_query(run, configuration)
    failed = failed_answers(run, configuration)
    failed = failed[failed["condition"] == RETRIEVED]
    return earliest_causes(failed.assign(query=places(run, failed["query_id"])), len(run.questions))


def _grouped(query_ids: NDArray[np.object_], causes: NDArray[np.object_]) -> dict[str, tuple[str, ...]]:
    """Group query ids by the cause of a miss in order of precedence, those that miss nothing last."""
    groups = {cause or OTHER: tuple(query_ids[causes == cause].tolist()) for cause in (*CAUSE_NAMES, "")}
    return {cause: ids for cause, ids in groups.items() if ids}


def _judged(run: RunTables, a: str, b: str, scored: Bools) -> tuple[float, float] | None:
    if run.primary.family != "documents":
        return None
    shares = [float(detail(run, name, "judged")[scored].mean()) for name in (a, b)]
    return shares[0], shares[1]


def comparisons_table(run: RunTables) -> pd.DataFrame:
    """Tabulate all pairs on the same queries: metric, a, b, difference (a - b), low, high, p, p_adjusted, n, clusters, and further bounds.

    `low`, `high` and `p` (clustered paired t) are of this comparison alone. `p_adjusted` (max-T), `low_adjusted`, `high_adjusted` and `equivalent` are
    those of `comparison`, for pairs of ranked configurations by the primary metric. Other rows are exploratory, and have null.
    """
    names = run.names
    differences = [(*pair, metric, mean) for metric in run.measures for pair, mean in _differences(run, metric)]
    rows = []
    for a, b, metric, mean in sorted(differences, key=lambda row: row[:2]):
        tested = comparison(run, names[a], names[b]) if metric == str(run.primary) else None
        ps, bounds = (
            ((tested.p, tested.p_adjusted), (tested.low_adjusted, tested.high_adjusted)) if tested else ((None, None), (None, None))
        )
        ends, beside = (mean.value, mean.low, mean.high), (mean.conditional, _equivalent(run, tested))
        rows.append((metric, names[a], names[b], *ends, *ps, mean.n, mean.clusters, *bounds, *beside))
    return SCHEMAS["comparisons"].conform(pd.DataFrame(rows, columns=SCHEMAS["comparisons"].names))


def _equivalent(run: RunTables, tested: Comparison | None) -> bool | None:
    """Check that a comparison shows equivalence. None if it was not tested."""
    judged = verdict_of(run)
    return None if judged is None or tested is None or np.isnan(tested.p) else judged.shown_equivalent(tested)


def compared(run: RunTables, a: str, b: str) -> pd.DataFrame:
    """Tabulate the difference (a - b) by each metric of a run with its one interval. Rows that are not tested are `exploratory`."""
    rows = []
    for metric in run.measures:
        if mean := difference(run, metric, a, b):
            tested = comparison(run, a, b) if metric == str(run.primary) else None
            p, known = (tested.p_adjusted, not np.isnan(tested.p)) if tested else (np.nan, False)
            rows.append(
                (metric, mean.value, mean.low, mean.high, p, mean.n, mean.clusters, mean.conditional, _equivalent(run, tested), not known)
            )
    columns = ["metric", "difference", "low", "high", "p_adjusted", "n", "clusters", "conditional", "equivalent", "exploratory"]
    return pd.DataFrame(rows, columns=columns).astype({"equivalent": "boolean"}).set_index("metric")


def _differences(run: RunTables, metric: str) -> Iterator[tuple[tuple[int, int], Interval]]:
    groups = clusters(run)
    values = np.array([per_query(run, name, metric) for name in run.names], dtype=np.float64).reshape(len(run.names), len(groups))
    scored = (~np.isnan(values)).astype(np.float64)
    pairs = np.argwhere(np.triu(scored @ scored.T > 0, 1))
    intervals = paired_differences(values[pairs[:, 0]], values[pairs[:, 1]], groups)
    return zip(((int(a), int(b)) for a, b in pairs), intervals, strict=True)
