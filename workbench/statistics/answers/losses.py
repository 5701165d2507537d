"""The losses of answers under degraded contexts against the same questions with a clean one."""

from collections.abc import Mapping

import numpy as np

from workbench.metrics.coverage import Bools, Floats
from workbench.statistics.clusters import Clusters
from workbench.statistics.effects import Effect, effects
from workbench.statistics.intervals import Interval, mean_intervals
from workbench.statistics.randomisation import FLIPS

LOSS_METHODS = (
    "losses: the clean context minus the degraded one on the questions with a value in both, clustered by source document",
    "repeats are averaged within each question first",
    "simultaneous intervals and corrected p of losses: max-T over all losses of a configuration by sign flips of whole documents' sums",
)
# The range of a metric between 0 and 1.
_TOTAL = 1.0


def losses(pairs: Mapping[tuple[str, str], tuple[Floats, Floats]], clusters: Clusters, flips: int = FLIPS) -> dict[tuple[str, str], Effect]:
    """Estimate each loss from the values (q, NaN if unscored) in the clean and in the degraded context, by the names of both.

    A positive difference is a loss, and its `reading` is `loss` only if the corrected p is at most .05 with enough questions and documents.
    A pair without a question that has both values is left out.
    """
    changes = {names: clean - degraded for names, (clean, degraded) in pairs.items() if not np.isnan(clean - degraded).all()}
    found = effects([change[None] for change in changes.values()], list(changes), clusters, _TOTAL, sign=-1.0, flips=flips)
    return dict(zip(changes, found, strict=True))


def mean_interval(values: Floats, clusters: Clusters, proportion: bool) -> Interval | None:
    """The mean of values (q, NaN if unscored) with its 95 % interval, None without a value."""
    scored: Bools = ~np.isnan(values)
    return mean_intervals(values[None, scored], clusters[scored], proportion=np.array([proportion]))[0] if scored.any() else None


def mean_of_repeats(repeats: Floats) -> Floats:
    """The mean (q) of the rows of values (r, q), without their NaN; NaN where all are."""
    scored = ~np.isnan(repeats)
    counts = scored.sum(axis=0)
    return np.where(counts > 0, np.where(scored, repeats, 0.0).sum(axis=0) / np.maximum(counts, 1), np.nan)
