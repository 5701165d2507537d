"""A mean with its confidence interval, for queries that come in clusters."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from workbench.errors import InputError
from workbench.metrics.coverage import Floats, Ints

# Rounding leaves a standard error of this order, relative to the largest value, where there is no variance.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean `value` with the bounds `low` and `high`, NaN where the data allow none, over `n` queries in so many `clusters`."""

    value: float
    low: float
    high: float
    n: int
    clusters: int


def mean_interval(values: npt.ArrayLike, clusters: npt.ArrayLike, level: float = 0.95, *, proportion: bool = False) -> Interval:
    """The mean of n scored values (n) and its interval; `clusters` (n) says which values hang together.

    Values that are all 0 or 1 get a Wilson interval with an effective n, others the cluster-robust t interval, whose bounds are
    clipped to [0, 1] where `proportion` says that the values are proportions. There are no bounds for one query or one
    cluster, nor where values other than 0 and 1 show no variance: an interval without width would claim certainty.
    """
    numbers, codes = checked(values, clusters, level)
    if np.isin(numbers, (0.0, 1.0)).all():
        return _wilson(numbers, codes, level)
    interval = robust_interval(numbers, codes, level)
    if not proportion:
        return interval
    low, high = np.clip([interval.low, interval.high], 0, 1).tolist()
    return Interval(interval.value, low, high, interval.n, interval.clusters)


def robust_interval(values: Floats, codes: Ints, level: float) -> Interval:
    """mean ± t(G - 1) · SE, where SE² = G / (G - 1) · Σ over clusters (Σ residuals)² / n² (CR1; Liang and Zeger 1986).

    `codes` (n) numbers the G clusters from 0. It is statsmodels' OLS on a constant with cov_type="cluster" and use_t.
    """
    n, groups, mean = len(values), int(codes.max()) + 1, float(values.mean())
    error = _standard_error(values, codes)
    if groups < 2 or error <= _ROUNDING * float(np.abs(values).max()):
        return Interval(mean, float("nan"), float("nan"), n, groups)
    half = _t(level, groups - 1) * error
    return Interval(mean, mean - half, mean + half, n, groups)


def checked(values: npt.ArrayLike, clusters: npt.ArrayLike, level: float) -> tuple[Floats, Ints]:
    """The values as floats and their clusters numbered from 0; refuses no values, NaN, unequal lengths and senseless levels."""
    numbers, names = np.asarray(values, dtype=np.float64), np.asarray(clusters)
    if numbers.shape != names.shape or numbers.ndim != 1:
        raise InputError(f"{numbers.shape} values and {names.shape} clusters do not match", "give one cluster for each value")
    if not len(numbers):
        raise InputError("there is no mean of no values", "leave out what no query was scored on")
    if not np.isfinite(numbers).all():
        raise InputError("a value is NaN or infinite", "leave out what is unscored, and count it")
    if not 0 < level < 1:
        raise InputError(f"{level} is no confidence level", "give one between 0 and 1, such as 0.95")
    return numbers, np.unique(names, return_inverse=True)[1].astype(np.int64)


def _wilson(values: Floats, codes: Ints, level: float) -> Interval:
    """Wilson's interval (1927) with the effective n of a clustered sample: n / design effect · (t(n - 1) / t(G - 1))².

    The design effect, at least 1, is the variance of the mean with clusters over that without. Where all values are equal it
    cannot be seen and is taken at its largest (clusters of one mind, Kish 1965: Σ size² / n). The second factor pays for few
    clusters (Korn and Graubard 1998): 5 clusters of 10, p = .8, correlation .3 are covered .95 with it and .87 without. One query
    a cluster gives the plain interval.
    """
    n, groups, mean = len(values), int(codes.max()) + 1, float(values.mean())
    if n < 2 or groups < 2:
        return Interval(mean, float("nan"), float("nan"), n, groups)
    variance = mean * (1 - mean) / (n - 1)
    largest = float((np.bincount(codes) ** 2).sum()) / n
    design = max(1.0, _standard_error(values, codes) ** 2 / variance) if variance else largest
    effective = n / design * (_t(level, n - 1) / _t(level, groups - 1)) ** 2
    low, high = proportion_confint(mean * effective, effective, alpha=1 - level, method="wilson")
    return Interval(mean, float(min(max(low, 0.0), mean)), float(max(min(high, 1.0), mean)), n, groups)


def _standard_error(values: Floats, codes: Ints) -> float:
    groups = int(codes.max()) + 1
    if groups < 2:
        return float("nan")
    sums = np.bincount(codes, weights=values - values.mean())
    return float(np.sqrt(groups / (groups - 1) * (sums**2).sum())) / len(values)


def _t(level: float, freedom: int) -> float:
    return float(stats.t.ppf((1 + level) / 2, freedom))
