"""How the configurations of a run stand: means with intervals, ordered where an order means something."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.values import clusters, per_query
from workbench.core.formatting import interval, number
from workbench.results.measures import Measure
from workbench.results.run_tables import RunTables
from workbench.statistics.comparison import paired_difference
from workbench.statistics.intervals import Interval


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
    """One configuration with the means of its metrics by name and its `facts`, a row of the table `configurations`."""

    name: str
    means: Mapping[str, Mean]
    facts: Mapping[str, Any]

    @property
    def beyond_window(self) -> bool:
        """Whether any chunk is longer than the embedder's window: then scores measure the window, not the chunking."""
        return beyond_window(self.facts)


@dataclass(frozen=True)
class Standings:
    """Configurations by the primary metric, the best value first; those beyond the embedder's window are apart and unordered."""

    primary: Measure
    ranked: tuple[Standing, ...]
    windowed: tuple[Standing, ...]
    baseline: Standing | None

    def by(self, metric: Measure) -> tuple[Standing, ...]:
        """The ranked configurations ordered by another metric."""
        return tuple(_ordered(self.ranked, metric))


def beyond_window(facts: Mapping[str, Any]) -> bool:
    """Whether any chunk of a configuration is longer than its embedder's window."""
    return bool(facts["truncated_chunks"])


def means_of(run: RunTables, configuration: str) -> dict[str, Mean]:
    """The means of all metrics over all queries, in the order asked for."""
    return _means(run).get(configuration, {})


def standing_of(run: RunTables, configuration: str) -> Standing:
    """One finished configuration."""
    return Standing(configuration, means_of(run, configuration), run.facts[configuration])


def standings(run: RunTables) -> Standings:
    """All results ordered; differences are taken from the baseline, or from the first where the baseline cannot be ranked."""
    found = [standing_of(run, name) for name in run.names]
    ranked = _ordered([standing for standing in found if not standing.beyond_window], run.primary)
    named = [standing for standing in ranked if standing.name == run.baseline]
    windowed = tuple(standing for standing in found if standing.beyond_window)
    return Standings(run.primary, tuple(ranked), windowed, next(iter([*named, *ranked]), None))


def difference(run: RunTables, metric: str, one: str, other: str) -> Interval | None:
    """The mean of `one` - `other` on the queries that both have a value for; None where there are none."""
    first, second = per_query(run, one, metric), per_query(run, other, metric)
    return None if np.isnan(first + second).all() else paired_difference(first, second, clusters(run))


@lru_cache(maxsize=4)
def _means(run: RunTables) -> dict[str, dict[str, Mean]]:
    table = run.metrics
    found: dict[str, dict[str, Mean]] = {}
    for _, row in table[(table["slice"] == "all") & table["metric"].isin(list(run.measures))].iterrows():
        found.setdefault(str(row["configuration"]), {})[str(row["metric"])] = mean_of(row)
    return found


def mean_of(row: "pd.Series[Any]") -> Mean:
    """A row of the table `metrics` as a mean."""
    bounds = (float(row["value"]), float(row["low"]), float(row["high"]))
    return Mean(str(row["metric"]), *bounds, int(row["n"]), int(row["clusters"]), int(row["unscored"]), float(row["attainable"]))


def _ordered(found: Sequence[Standing], metric: Measure) -> list[Standing]:
    sign = -1 if metric.higher_is_better else 1

    def place(standing: Standing) -> tuple[bool, float]:
        value = standing.means[str(metric)].value
        return (True, 0.0) if np.isnan(value) else (False, sign * value)

    return sorted(found, key=place)
