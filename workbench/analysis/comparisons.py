"""Every two configurations of a finished run by every metric: the table of comparisons."""

import itertools
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.verdict import verdict_of
from workbench.execution.local import Outcome, Result
from workbench.metrics.coverage import Ints
from workbench.metrics.names import Metric
from workbench.statistics.clusters import query_clusters
from workbench.statistics.comparison import paired_differences
from workbench.statistics.intervals import Interval


def comparisons_table(outcome: Outcome) -> pd.DataFrame:
    """metric, a, b, difference (a - b), low, high, p, p_adjusted, n, clusters: all pairs on the same queries.

    `p` (clustered paired t) and `p_adjusted` (max-T) are those of the verdict's family: pairs by the primary metric, within the window,
    with the baseline where there is one. Elsewhere they are null: nothing was tested.
    """
    clusters, found = query_clusters(outcome.bench.labels), verdict_of(outcome)
    tested = {(row.a, row.b): row for row in found.comparisons} if found else {}
    names = [result.configuration.name for result in outcome.results]
    differences = _differences(outcome, clusters)
    rows: list[dict[str, Any]] = []
    for a, b in itertools.combinations(range(len(names)), 2):
        for metric, found_in in differences.items():
            if (a, b) not in found_in:
                continue
            mean, row = found_in[a, b], tested.get((names[a], names[b])) if metric == outcome.primary else None
            interval = {"difference": mean.value, "low": mean.low, "high": mean.high}
            p = {"p": row.p if row else None, "p_adjusted": row.p_adjusted if row else None}
            rows.append({"metric": str(metric), "a": names[a], "b": names[b], **interval, **p, "n": mean.n, "clusters": mean.clusters})
    columns = ["metric", "a", "b", "difference", "low", "high", "p", "p_adjusted", "n", "clusters"]
    return pd.DataFrame(rows, columns=columns).astype({"p": "float64", "p_adjusted": "float64"})


def _differences(outcome: Outcome, clusters: Ints) -> dict[Metric, dict[tuple[int, int], Interval]]:
    """By metric the difference of each pair of results that have a value for the same query."""
    wide = [_wide(result, len(clusters)) for result in outcome.results]
    found = {}
    for metric in outcome.bench.metrics:
        values = np.array([table[str(metric)] for table in wide], dtype=np.float64).reshape(len(wide), len(clusters))
        scored = (~np.isnan(values)).astype(np.float64)
        pairs = np.argwhere(np.triu(scored @ scored.T > 0, 1))
        intervals = paired_differences(values[pairs[:, 0]], values[pairs[:, 1]], clusters)
        found[metric] = {(a, b): interval for (a, b), interval in zip(pairs.tolist(), intervals, strict=True)}
    return found


def _wide(result: Result, queries: int) -> pd.DataFrame:
    return result.scores.table("scores").pivot(index="query", columns="metric", values="value").reindex(range(queries))
