"""The means of a run's configurations with intervals, ordered by the verdict on the primary metric."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from workbench.core.memo import memoised
from workbench.core.text.formatting import number
from workbench.measures.metrics.coverage import Floats
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.comparison import paired_difference
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
    return with_unscored(judge(values), values, unscored, judge, value_bounds(metric, values))


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


def difference(run: RunTables, metric: str, a: str, b: str) -> Interval | None:
    """The mean of a - b on the queries that both have a value for. None if there are none."""
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
