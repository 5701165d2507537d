"""The configurations of a sweep by their scores, and by their costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from workbench.core.memo import memoised
from workbench.core.text.formatting import number, two_digits
from workbench.measures.metrics.coverage import Bools, Floats
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.comparison import Comparison, paired_difference
from workbench.measures.statistics.intervals import Interval
from workbench.measures.statistics.verdict import Verdict, verdict, with_unscored
from workbench.report.analysis.values import clusters, per_query, unscored_queries
from workbench.report.results.run_tables import RETRIEVED, RunTables

# The share of questions with a value below which a mean is of other questions than those of other configurations.
COVERAGE = 0.9


@dataclass(frozen=True, kw_only=True)
class Mean(Interval):
    """A metric's mean over the scored queries with its interval, clustered by document. NaN if no query is scored."""

    metric: str
    unscored: int
    attainable: float

    @property
    def covered(self) -> bool:
        """True if at least 90 % of the questions that the metric applies to have a value. Below, the mean takes part in no comparison."""
        return self.n > 0 and self.n >= COVERAGE * (self.n + self.unscored)

    def text(self, digits: int = 3) -> str:
        """Value and interval."""
        return f"{number(self.value, digits)} {self.bounds(digits)}"


@dataclass(frozen=True)
class Standing:
    """A configuration with the means of its metrics by name and its `facts`, a row of the table `configurations`."""

    name: str
    means: Mapping[str, Mean]
    facts: Mapping[str, Any]

    @property
    def beyond_window(self) -> bool:
        """True if any chunk is longer than the embedder's window, so that scores measure the window, not the chunking."""
        return bool(self.facts["truncated_chunks"])


@dataclass(frozen=True)
class Standings:
    """Configurations in the verdict's order, those without any score last.

    Two kinds are separate and unordered: those beyond the embedder's window, and those in `uncovered`, which have a value of the primary metric for
    some questions, but fewer than 90 %. `baseline` is the experiment's baseline, or the first configuration if that cannot be compared.
    """

    ranked: tuple[Standing, ...]
    windowed: tuple[Standing, ...]
    uncovered: tuple[Standing, ...]
    baseline: Standing | None

    @property
    def finished(self) -> tuple[Standing, ...]:
        """All finished configurations, the ranked ones first."""
        return (*self.ranked, *self.uncovered, *self.windowed)

    def by(self, metric: Metric) -> tuple[Standing, ...]:
        """The ranked configurations ordered by another metric, those without a value for 90 % of its questions last."""
        sign = -1 if metric.higher_is_better else 1
        means = {standing.name: standing.means[str(metric)] for standing in self.ranked}
        values = {name: sign * mean.value if mean.covered else np.nan for name, mean in means.items()}
        return tuple(sorted(self.ranked, key=lambda standing: (np.isnan(values[standing.name]), np.nan_to_num(values[standing.name]))))


def standing_of(run: RunTables, configuration: str) -> Standing:
    """One finished configuration, with the means over all queries in the order of the run's metrics, NaN where a metric applies to none."""
    scored, unknown = _means(run).get(configuration, {}), (np.nan, np.nan, np.nan, 0, 0)
    means = {name: scored.get(name) or Mean(*unknown, metric=name, unscored=len(run.questions), attainable=np.nan) for name in run.measures}
    return Standing(configuration, means, run.facts[configuration])


@memoised(1)
def verdict_of(run: RunTables) -> Verdict | None:
    """The verdict on the configurations whose chunks all fit their embedder's window and that are covered. None if none of them has a score.

    The family is every configuration against the baseline if that is among them, else all pairs.
    """
    metric, fitting = run.primary, (name for name in run.names if _comparable(standing_of(run, name), str(run.primary)))
    values = {name: per_query(run, name, str(metric)) for name in fitting}
    values = {name: row for name, row in values.items() if not np.isnan(row).all()}
    if not values:
        return None
    judge = partial(
        verdict,
        str(metric),
        clusters=clusters(run),
        baseline=run.baseline if run.baseline in values else None,
        higher_is_better=metric.higher_is_better,
        smallest_difference=run.smallest_difference,
    )
    unscored = {name: np.isnan(row) & unscored_queries(run, name, str(metric)) for name, row in values.items()}
    return with_unscored(judge(values), values, unscored, clusters(run), judge, value_bounds(metric, values))


def value_bounds(metric: Metric, values: Mapping[str, Floats]) -> tuple[float, float]:
    """Return the worst and the best value of a metric: 0 and 1 of a proportion, else those of the run."""
    known = np.concatenate(list(values.values()))
    low, high = (0.0, 1.0) if metric.proportion else (float(np.nanmin(known)), float(np.nanmax(known)))
    return (low, high) if metric.higher_is_better else (high, low)


def standings(run: RunTables) -> Standings:
    """All finished configurations."""
    finished, verdict = [standing_of(run, name) for name in run.names], verdict_of(run)
    rank = {name: number for number, name in enumerate(verdict.ranked if verdict else ())}
    comparable = [standing for standing in finished if _comparable(standing, str(run.primary))]
    ranked = sorted(comparable, key=lambda standing: rank.get(standing.name, len(rank)))
    uncovered = tuple(standing for standing in finished if not (standing.beyond_window or standing in comparable))
    named = [standing for standing in ranked if standing.name == run.baseline and standing.name in rank]
    windowed = tuple(standing for standing in finished if standing.beyond_window)
    return Standings(tuple(ranked), windowed, uncovered, next(iter([*named, *ranked]), None))


def _comparable(standing: Standing, metric: str) -> bool:
    """Check that a configuration is ranked. One without any value is ranked last."""
    mean = standing.means[metric]
    return not standing.beyond_window and (mean.covered or mean.n == 0)


def comparison(run: RunTables, a: str, b: str) -> Comparison | None:
    """The comparison a - b by the primary metric, with its one interval and p wherever it is shown. None unless both are ranked.

    A pair with the experiment's baseline belongs to the family of all comparisons with it, any other pair to that of all pairs.
    """
    judged = verdict_of(run)
    return judged.between(a, b) if judged else None


def difference(run: RunTables, metric: str, a: str, b: str) -> Interval | None:
    """The mean of a - b on the queries that both have a value for. None if there are none.

    By the primary metric it is that of `comparison`, with its simultaneous interval. All others are exploratory, with a 95 % interval of each by itself.
    """
    if metric == str(run.primary) and (tested := comparison(run, a, b)):
        return tested.simultaneous
    first, second = per_query(run, a, metric), per_query(run, b, metric)
    return None if np.isnan(first + second).all() else paired_difference(first, second, clusters(run))


def shared_means(run: RunTables, metric: str, a: str, b: str) -> tuple[float, float]:
    """The means of two configurations over the queries that both have a value for, weighted as all means are."""
    first, second = per_query(run, a, metric), per_query(run, b, metric)
    unknown = np.isnan(first + second)
    (means, _) = clusters(run).averaged(np.where(unknown, np.nan, np.array([first, second])))
    one, other = np.nanmean(means, axis=1).tolist()
    return one, other


def slice_means(run: RunTables, configuration: str) -> pd.DataFrame:
    """The rows of `metrics` for the primary metric, one per slice and indexed by its name, `all` first."""
    rows = run.of("metrics", configuration)
    return rows[(rows["metric"] == str(run.primary)) & (rows["condition"] == RETRIEVED)].set_index("slice")


@memoised(1)
def _means(run: RunTables) -> dict[str, dict[str, Mean]]:
    table = run.metrics
    means: dict[str, dict[str, Mean]] = {}
    wanted = (table["slice"] == "all") & (table["condition"] == RETRIEVED) & table["metric"].isin(list(run.measures))
    for _, row in table[wanted].iterrows():
        means.setdefault(str(row["configuration"]), {})[str(row["metric"])] = mean_of(row)
    return means


def mean_of(row: "pd.Series[Any]") -> Mean:
    """Convert a row of the table `metrics`."""
    interval = float(row["value"]), float(row["low"]), float(row["high"]), int(row["n"]), int(row["clusters"]), row["conditional"]
    return Mean(*interval, metric=str(row["metric"]), unscored=int(row["unscored"]), attainable=float(row["attainable"]))


Cost = Literal["encoded", "index", "delivered", "p50", "p95"]


class CostKind(NamedTuple):
    """The name of a cost, its unit and its definition."""

    label: str
    unit: str
    definition: str


class CostRange(NamedTuple):
    """The smallest and the largest measurement of a cost. Both are infinite for a time that was measured only once."""

    low: float
    high: float

    @property
    def repeated(self) -> bool:
        """True if the range is known."""
        return self.low > -np.inf


_UNKNOWN = CostRange(-np.inf, np.inf)
_QUESTION_TIME = (
    "to embed a question, to search and to rerank, one question at a time on a warm system; lowest to highest of several rounds"
)
COSTS: dict[Cost, CostKind] = {
    "encoded": CostKind("encoding", "tokens", "that the embedder reads of all chunks, shared ones included: the cost on any machine"),
    "index": CostKind("index", "MB", "on disk; 0 without an index"),
    "delivered": CostKind("delivered text", "tokens a question", "up to the cut-off of the primary metric; repeated text counts twice"),
    "p50": CostKind("median time a question", "ms", _QUESTION_TIME),
    "p95": CostKind("p95 time a question", "ms", _QUESTION_TIME),
}
# Budgets in tokens at which recall is measured in every run on data with evidence.
CURVE = (500, 1000, 2000, 4000)
# Costs that differ from run to run. They are compared, and shown, with two significant digits.
TIMES: tuple[Cost, ...] = ("p50", "p95")
# The same search, timed twice within minutes, may take this many times as long the second time (docs/decisions.md).
DRIFT = 3
_SAME_DIGITS = 9
# What every question costs comes first, then what is paid once.
_DECIDING: tuple[Cost, ...] = ("p50", "delivered", "index", "encoded")
# A saving of less than a tenth decides nothing.
_SAVING = 0.9


@dataclass(frozen=True)
class CostedConfiguration:
    """A configuration's mean of the primary metric, its costs (NaN: unknown) and the ranges of their measurements.

    `frontier` names the costs for which no other configuration has at least its quality at less cost, or more quality at no more
    cost. Times differ only if they are `separated`. A configuration that is not `ranked` is on no frontier and excludes no other.
    """

    name: str
    quality: Mean
    costs: dict[Cost, float]
    ranges: dict[Cost, CostRange]
    ranked: bool
    frontier: frozenset[Cost]


def frontier(run: RunTables, order: Standings) -> tuple[CostedConfiguration, ...]:
    """All finished configurations with their costs, the ranked ones first in ranking order."""
    standings, sign = order.finished, 1 if run.primary.higher_is_better else -1
    means, costs = [standing.means[str(run.primary)] for standing in standings], [costs_of(run, standing) for standing in standings]
    # The range of a time is that of its passes, of all other costs the cost itself.
    ranges: list[dict[Cost, CostRange]] = []
    for standing, amounts in zip(standings, costs, strict=True):
        timed = timings_of(run, standing.name)
        same = {cost: CostRange(round(value, _SAME_DIGITS), round(value, _SAME_DIGITS)) for cost, value in amounts.items()}
        ranges.append(same | {cost: passes_of(timed, f"latency_question_{cost}") for cost in TIMES})
    quality = np.array([sign * mean.value if rank < len(order.ranked) else np.nan for rank, mean in enumerate(means)])
    best = {}
    for cost in COSTS:
        known = np.array([not np.isnan(amounts[cost]) for amounts in costs])
        low, high = np.array([each[cost] for each in ranges]).reshape(-1, 2).T
        best[cost] = undominated(np.where(known, quality, np.nan), low, high * _slack(cost))
    return tuple(
        CostedConfiguration(
            each.name, means[row], costs[row], ranges[row], row < len(order.ranked), frozenset(cost for cost in COSTS if best[cost][row])
        )
        for row, each in enumerate(standings)
    )


def separated(cost: Cost, one: CostRange, other: CostRange) -> bool:
    """Check that one of two costs is shown to be lower: the ranges do not overlap, and those of times are more than `DRIFT` times apart."""
    return one.high * _slack(cost) < other.low or other.high * _slack(cost) < one.low


def _slack(cost: Cost) -> float:
    return DRIFT if cost in TIMES else 1


def cheapest(costed: Sequence[CostedConfiguration]) -> CostedConfiguration:
    """Return the configuration that costs least, by what a question costs first, then by what is paid once. The first of equal ones.

    Times that are not `separated` are equal, as are other costs within a tenth.
    """
    for cost in _DECIDING:
        costed = [each for each in costed if not any(_lower(other, each, cost) for other in costed)]
    return costed[0]


def _lower(one: CostedConfiguration, other: CostedConfiguration, cost: Cost) -> bool:
    """Check that a cost of one configuration is known to be lower than that of another."""
    if cost in TIMES:
        return one.costs[cost] < other.costs[cost] and separated(cost, one.ranges[cost], other.ranges[cost])
    return one.costs[cost] < _SAVING * other.costs[cost]


def recall_curves(standings: Sequence[Standing]) -> Mapping[str, Sequence[float]]:
    """Map each configuration to its recall of evidence at the budgets of `CURVE`. Empty if the data have no evidence.

    A configuration with a value for fewer than 90 % of the questions is left out.
    """
    names = [f"span_recall@{tokens}t" for tokens in CURVE]
    known = [each for each in standings if all(name in each.means and each.means[name].covered for name in names)]
    return {each.name: [each.means[name].value for name in names] for each in known}


def costs_of(run: RunTables, standing: Standing) -> dict[Cost, float]:
    """The costs of a configuration; NaN if unknown."""
    facts, timed = standing.facts, timings_of(run, standing.name)
    # What a target encodes is not known.
    known = facts["tokens"] is not None
    return {
        "encoded": float(facts["tokens"] - facts["truncated_tokens"]) if known else np.nan,
        # An index may be a page of its database larger in the next run.
        "index": round(timed.get("index_bytes", np.nan) / 1e6, 2) if facts["embedding"] is not None or not known else 0.0,
        "delivered": np.nan if facts["context_tokens"] is None else float(facts["context_tokens"]),
        "p50": timed.get("latency_question_p50", np.nan),
        "p95": timed.get("latency_question_p95", np.nan),
    }


def timings_of(run: RunTables, configuration: str) -> dict[str, float]:
    """The `timings` of a configuration by name."""
    rows = run.of("timings", configuration)
    return dict(zip(rows["name"].tolist(), rows["value"].tolist(), strict=True))


def passes_of(timings: Mapping[str, float], name: str) -> CostRange:
    """The range of a time over its passes. Runs of earlier versions have one pass, and so no range."""
    low, high = timings.get(f"{name}_low"), timings.get(f"{name}_high")
    return _UNKNOWN if low is None or high is None else CostRange(two_digits(low), two_digits(high))


def undominated(quality: Floats, low: Floats, high: Floats) -> Bools:
    """Mark the points that no other beats with at least their quality at less cost or more quality at no more cost.

    The arguments have shape (n,); costs differ only if their ranges from `low` to `high` do not overlap. The result is False where the
    quality or a range is NaN. Points equal in both values are all kept or all dropped.
    """
    finite = np.isfinite(quality) & ~np.isnan(low) & ~np.isnan(high)
    better, cheaper = quality[:, None] > quality[None, :], high[:, None] < low[None, :]
    as_good, not_dearer = quality[:, None] >= quality[None, :], ~cheaper.T
    beaten: Bools = np.logical_or.reduce(((as_good & cheaper) | (better & not_dearer)) & finite[:, None], axis=0)
    return finite & ~beaten
