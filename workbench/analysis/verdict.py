"""The verdict on a finished run, by its primary metric."""

from functools import lru_cache

import numpy as np

from workbench.execution.local import Outcome, Result
from workbench.metrics.coverage import Floats
from workbench.metrics.names import Metric
from workbench.statistics.clusters import query_clusters
from workbench.statistics.verdict import Verdict, verdict


def per_query(outcome: Outcome, result: Result, metric: Metric) -> Floats:
    """(queries) the metric's values, NaN where a query has none."""
    scores = result.scores.table("scores")
    chosen = scores[scores["metric"] == str(metric)].set_index("query")["value"]
    values: Floats = chosen.reindex(range(outcome.bench.labels.queries)).to_numpy(np.float64)
    return values


@lru_cache(maxsize=4)
def verdict_of(outcome: Outcome) -> Verdict | None:
    """The verdict on the configurations whose chunks all fit their embedder's window; None where none of them has a score. It is kept.

    The family is all against the baseline where that is among them, else all pairs.
    """
    fitting = [result for result in outcome.results if not result.truncated.any()]
    values = {result.configuration.name: per_query(outcome, result, outcome.primary) for result in fitting}
    values = {name: row for name, row in values.items() if not np.isnan(row).all()}
    if not values:
        return None
    baseline = outcome.experiment.baseline if outcome.experiment.baseline in values else None
    clusters, metric = query_clusters(outcome.bench.labels), outcome.primary
    return verdict(str(metric), values, clusters, baseline=baseline, higher_is_better=metric.higher_is_better)
