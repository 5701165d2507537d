"""Compare a configuration of one run with a configuration of another, on the same questions."""

import numpy as np
import pandas as pd

from workbench.analysis.values import clusters, per_query
from workbench.errors import InputError
from workbench.results.run_tables import RunTables
from workbench.statistics.comparison import paired_difference

_COLUMNS = ["metric", "difference", "low", "high", "n", "clusters", "conditional"]


def between_runs(run: RunTables, a: str, other: RunTables, b: str) -> pd.DataFrame:
    """Tabulate the difference (a - b) by each metric of both runs, paired by question, with its 95 % interval.

    No p: an interval of one pair, which was chosen from two runs, is corrected for nothing. Raises InputError if questions or labels differ.
    """
    prints = [each.manifest["fingerprints"]["questions"] for each in (run, other)]
    if prints[0] != prints[1] or list(run.questions["query_id"]) != list(other.questions["query_id"]):
        raise InputError(
            f"the runs {run.name} and {other.name} have other questions or labels", "compare runs of the same dataset and split"
        )
    rows = []
    for metric in (name for name in run.measures if name in other.measures):
        first, second = per_query(run, a, metric), per_query(other, b, metric)
        if np.isnan(first + second).all():
            continue
        found = paired_difference(first, second, clusters(run))
        rows.append((metric, found.value, found.low, found.high, found.n, found.clusters, found.conditional))
    return pd.DataFrame(rows, columns=_COLUMNS).set_index("metric")
