"""The table of comparisons: every two configurations of a finished run by every metric."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from workbench.analysis.standings import verdict_of
from workbench.analysis.values import clusters, per_query
from workbench.results.run_tables import RunTables, conform
from workbench.schemas import SCHEMAS
from workbench.statistics.comparison import paired_differences
from workbench.statistics.intervals import Interval


def comparisons_table(run: RunTables) -> pd.DataFrame:
    """metric, a, b, difference (a - b), low, high, p, p_adjusted, n, clusters: all pairs on the same queries.

    `p` (clustered paired t) and `p_adjusted` (max-T) are those of the verdict's family: pairs by the primary metric, within the window,
    with the baseline where there is one. Elsewhere they are null: nothing was tested.
    """
    found, names = verdict_of(run), run.names
    tested = {(str(run.primary), row.a, row.b): (row.p, row.p_adjusted) for row in found.comparisons} if found else {}
    differences = [(*pair, metric, mean) for metric in run.measures for pair, mean in _differences(run, metric)]
    rows = [
        (
            metric,
            names[a],
            names[b],
            mean.value,
            mean.low,
            mean.high,
            *tested.get((metric, names[a], names[b]), (None, None)),
            mean.n,
            mean.clusters,
        )
        for a, b, metric, mean in sorted(differences, key=lambda row: row[:2])
    ]
    return conform(SCHEMAS["comparisons"], pd.DataFrame(rows, columns=SCHEMAS["comparisons"].names))


def _differences(run: RunTables, metric: str) -> Iterator[tuple[tuple[int, int], Interval]]:
    """The difference of each pair of configurations, by their places, that have a value for the same query."""
    groups = clusters(run)
    values = np.array([per_query(run, name, metric) for name in run.names], dtype=np.float64).reshape(len(run.names), len(groups))
    scored = (~np.isnan(values)).astype(np.float64)
    pairs = np.argwhere(np.triu(scored @ scored.T > 0, 1))
    intervals = paired_differences(values[pairs[:, 0]], values[pairs[:, 1]], groups)
    return zip(((int(a), int(b)) for a, b in pairs), intervals, strict=True)
