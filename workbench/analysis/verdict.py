"""The verdict on a finished run, by its primary metric."""

from functools import lru_cache

import numpy as np

from workbench.analysis.standings import beyond_window
from workbench.analysis.values import clusters, per_query
from workbench.results.run_tables import RunTables
from workbench.statistics.verdict import Verdict, verdict


@lru_cache(maxsize=4)
def verdict_of(run: RunTables) -> Verdict | None:
    """The verdict on the configurations whose chunks all fit their embedder's window; None where none of them has a score. It is kept.

    The family is all against the baseline where that is among them, else all pairs.
    """
    metric = run.primary
    fitting = [name for name in run.names if not beyond_window(run.facts[name])]
    values = {name: per_query(run, name, str(metric)) for name in fitting}
    values = {name: row for name, row in values.items() if not np.isnan(row).all()}
    if not values:
        return None
    baseline = run.baseline if run.baseline in values else None
    return verdict(str(metric), values, clusters(run), baseline=baseline, higher_is_better=metric.higher_is_better)
