"""How the configurations of an experiment stand: means with intervals, ordered where an order means something."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workbench.core.formatting import interval, number
from workbench.execution.local import Outcome, Result
from workbench.metrics.coverage import Floats
from workbench.metrics.names import Metric
from workbench.pipeline.context import RunContext
from workbench.statistics.clusters import query_clusters
from workbench.statistics.comparison import paired_difference
from workbench.statistics.intervals import Interval
from workbench.statistics.summary import summarise


@dataclass(frozen=True)
class Mean:
    """A metric's mean over the scored queries with its interval, clustered by document; NaN where there is none."""

    metric: str
    value: float
    low: float
    high: float
    n: int
    clusters: int
    unscored: int
    attainable: float

    def text(self, digits: int = 3) -> str:
        """Value and interval."""
        return f"{number(self.value, digits)} {interval(self.low, self.high, digits)}"

    @property
    def of_attainable(self) -> str:
        """The value beside the largest that is possible."""
        return number(self.value) if np.isnan(self.attainable) else f"{number(self.value)} of {number(self.attainable)}"


@dataclass(frozen=True)
class Standing:
    """One configuration's result and the means of its metrics by name."""

    result: Result
    means: dict[str, Mean]

    @property
    def name(self) -> str:
        """The configuration's name."""
        return self.result.configuration.name

    @property
    def beyond_window(self) -> bool:
        """Whether any chunk is longer than what the embedder sees: then scores tell of the window, not of the chunking."""
        return bool(self.result.truncated.any())


@dataclass(frozen=True)
class Standings:
    """Configurations by the primary metric, the best value first; those beyond the embedder's window stand apart, unordered."""

    primary: Metric
    ranked: tuple[Standing, ...]
    windowed: tuple[Standing, ...]
    baseline: Standing | None

    def by(self, metric: Metric) -> tuple[Standing, ...]:
        """The ranked configurations ordered by another metric."""
        return tuple(_ordered(self.ranked, metric))


def means_of(bench: RunContext, result: Result) -> dict[str, Mean]:
    """The means of all metrics over all queries, in the order asked for."""
    table = summarise(result.scores.table("scores"), query_clusters(bench.labels))
    return {str(row["metric"]): _mean(row) for _, row in table.iterrows()}


def standings(outcome: Outcome) -> Standings:
    """All results ordered; differences are taken from the baseline, or from the first where the baseline cannot be ranked."""
    found = [Standing(result, means_of(outcome.bench, result)) for result in outcome.results]
    ranked = _ordered([standing for standing in found if not standing.beyond_window], outcome.primary)
    named = [standing for standing in ranked if standing.name == outcome.experiment.baseline]
    windowed = tuple(standing for standing in found if standing.beyond_window)
    return Standings(outcome.primary, tuple(ranked), windowed, next(iter([*named, *ranked]), None))


def difference(bench: RunContext, metric: Metric, one: Standing, other: Standing) -> Interval | None:
    """The mean of `one` - `other` on the queries that both have a value for; None where there are none."""
    first, second = _per_query(bench, one, metric), _per_query(bench, other, metric)
    if np.isnan(first + second).all():
        return None
    return paired_difference(first, second, query_clusters(bench.labels))


def _per_query(bench: RunContext, standing: Standing, metric: Metric) -> Floats:
    scores = standing.result.scores.table("scores")
    chosen = scores[scores["metric"] == str(metric)].set_index("query")["value"]
    values: Floats = chosen.reindex(range(bench.labels.queries)).to_numpy(np.float64)
    return values


def _ordered(found: Sequence[Standing], metric: Metric) -> list[Standing]:
    sign = -1 if metric.higher_is_better else 1

    def place(standing: Standing) -> tuple[bool, float]:
        value = standing.means[str(metric)].value
        return (True, 0.0) if np.isnan(value) else (False, sign * value)

    return sorted(found, key=place)


def _mean(row: "pd.Series[float]") -> Mean:
    bounds = (float(row["value"]), float(row["low"]), float(row["high"]))
    return Mean(str(row["metric"]), *bounds, int(row["n"]), int(row["clusters"]), int(row["unscored"]), float(row["attainable"]))
