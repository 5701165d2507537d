"""Compare means with limits, clustered by source document."""

import math
from dataclasses import dataclass

import numpy as np
import scipy

from workbench.metrics.coverage import Floats
from workbench.statistics.clusters import Clusters
from workbench.statistics.gates.paired import Decision, MetricScale, Values, clustered_mean
from workbench.statistics.intervals import ALPHA, Interval, Robust, mean_intervals, robust

# Means that differ by less from a limit are equal to it.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class FloorTest:
    """A mean against a limit. `p` is one-sided for a failure, NaN for a specification, which is about these questions only.

    `low` and `high` are the 95 % interval, and cover the worst and the best case of the `unscored` questions.
    """

    value: float
    low: float
    high: float
    limit: float
    p: float
    n: int
    clusters: int
    unscored: int
    outcome: Decision
    conditional: str = ""


def floor_test(
    values: Values, clusters: Clusters, limit: float, *, inference: bool, proportion: bool = True, scale: MetricScale | None = None
) -> FloorTest:
    """Compare a mean with a limit, a floor if higher values are better, else a ceiling.

    Without `inference` the rule is about these questions only: PASS if the mean keeps to the limit. With it, PASS if the whole 95 % interval
    does, FAIL if none of it does. Unscored questions count at their worst for a PASS, and at their best for a FAIL.

    Raises
    ------
    InputError
        If the metric applies to no question.
    """
    known = scale or MetricScale()
    applies = ~np.isnan(values.values) | values.unscored
    sides, groups = np.array([values.filled(end)[applies] for end in (known.worst, known.best)]), clusters[applies]
    bad, good = mean_intervals(sides, groups, proportion=np.array([proportion, proportion]))
    low, high = (bad.low, good.high) if known.sign > 0 else (good.low, bad.high)
    binary = bool(np.isin(sides[1], (0, 1)).all())
    return FloorTest(
        value=clustered_mean(values.values, clusters),
        low=low,
        high=high,
        limit=limit,
        p=_floor_p(good, known.sign * (sides[1] - limit), groups, limit, proportion or binary) if inference else math.nan,
        n=int((~np.isnan(values.values)).sum()),
        clusters=bad.clusters,
        unscored=int(values.unscored.sum()),
        outcome=_kept(bad, good, limit, known.sign, inference),
        conditional=bad.conditional,
    )


def _kept(bad: Interval, good: Interval, limit: float, sign: float, inference: bool) -> Decision:
    """Decide by the mean, or with `inference` by its interval, with unscored questions at worst (`bad`) and at best (`good`)."""
    lowest, highest = ((bad.low, good.high) if sign > 0 else (-bad.high, -good.low)) if inference else (sign * bad.value, sign * good.value)
    if lowest >= sign * limit - _ROUNDING:
        return Decision.PASS
    return Decision.FAIL if highest < sign * limit - _ROUNDING else Decision.UNDECIDED


def _floor_p(interval: Interval, distances: Floats, clusters: Clusters, limit: float, wilson: bool) -> float:
    """Return the one-sided p of a mean beyond a limit, for `distances` from it that are negative beyond it. It is .025 if the interval ends at the limit.

    Wilson's interval ends at u, so its effective number of questions is z² u (1 - u) / (u - mean)². Other means have the clustered t test.
    """
    means = robust(distances[None], clusters)
    beyond = float(means.mean[0])
    end = interval.high if interval.value < limit else interval.low
    if not wilson or math.isnan(end):
        return _one_sided(means)
    if not 0 < limit < 1 or end == interval.value:
        return 0.0 if beyond < 0 else 1.0
    z = float(-scipy.special.ndtri(ALPHA / 2)) * abs(limit - interval.value) / abs(end - interval.value)
    z *= math.sqrt(end * (1 - end) / (limit * (1 - limit)))
    return float(scipy.special.ndtr(math.copysign(z, beyond)))


def _one_sided(means: Robust) -> float:
    """Return the one-sided p of the clustered t test that a mean is negative, NaN without an error."""
    return float(np.asarray(scipy.special.stdtr(means.freedom, means.mean / means.error))[0])
