"""Every two configurations of a finished run by every metric: the table of comparisons."""

import itertools
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.standings import verdict_of
from workbench.analysis.values import clusters, per_query
from workbench.results.run_tables import RunTables
from workbench.results.tables import conform, empty
from workbench.schemas import SCHEMAS
from workbench.statistics.comparison import paired_differences
from workbench.statistics.intervals import Interval

_SCHEMA = SCHEMAS["comparisons"]


def comparisons_table(run: RunTables) -> pd.DataFrame:
    """metric, a, b, difference (a - b), low, high, p, p_adjusted, n, clusters: all pairs on the same queries.

    `p` (clustered paired t) and `p_adjusted` (max-T) are those of the verdict's family: pairs by the primary metric, within the window,
    with the baseline where there is one. Elsewhere they are null: nothing was tested.
    """
    found = verdict_of(run)
    tested = {(row.a, row.b): row for row in found.comparisons} if found else {}
    differences = {metric: _differences(run, metric) for metric in run.measures}
    rows: list[dict[str, Any]] = []
    for a, b in itertools.combinations(run.names, 2):
        for metric, found_in in differences.items():
            if (a, b) not in found_in:
                continue
            mean, row = found_in[a, b], tested.get((a, b)) if metric == str(run.primary) else None
            interval = {"difference": mean.value, "low": mean.low, "high": mean.high}
            p = {"p": row.p if row else None, "p_adjusted": row.p_adjusted if row else None}
            rows.append({"metric": metric, "a": a, "b": b, **interval, **p, "n": mean.n, "clusters": mean.clusters})
    return conform(_SCHEMA, pd.DataFrame(rows)) if rows else empty(_SCHEMA)


def _differences(run: RunTables, metric: str) -> dict[tuple[str, str], Interval]:
    """The difference of each pair of configurations that have a value for the same query."""
    groups = clusters(run)
    values = np.array([per_query(run, name, metric) for name in run.names], dtype=np.float64).reshape(len(run.names), len(groups))
    scored = (~np.isnan(values)).astype(np.float64)
    pairs = np.argwhere(np.triu(scored @ scored.T > 0, 1))
    intervals = paired_differences(values[pairs[:, 0]], values[pairs[:, 1]], groups)
    return {(run.names[a], run.names[b]): interval for (a, b), interval in zip(pairs.tolist(), intervals, strict=True)}
