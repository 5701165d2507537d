"""A mean with its confidence interval, for queries that come in clusters."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from workbench.errors import InputError
from workbench.metrics.coverage import Floats, Ints
from workbench.statistics.robust import robust
from workbench.statistics.units import Units, units


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean `value` with the bounds `low` and `high`, NaN where the data allow none, over `n` queries in so many `clusters` (source documents)."""

    value: float
    low: float
    high: float
    n: int
    clusters: int


def mean_interval(values: npt.ArrayLike, clusters: npt.ArrayLike, level: float = 0.95, *, proportion: bool = False) -> Interval:
    """The mean of n scored values (n) and its interval; `clusters` (n) are the source documents, `units` makes observations of them.

    Proportions, and values that are all 0 or 1, get a Wilson interval with an effective n, others the cluster-robust t interval. There
    are no bounds for one query, nor where values other than 0 and 1 show no variance: an interval without width would claim certainty.
    """
    numbers, names = checked(values, clusters, level)
    observed = units(names)
    binary = bool(np.isin(numbers, (0.0, 1.0)).all())
    if (binary or proportion) and (numbers.min() < 0 or numbers.max() > 1):
        raise InputError(f"values from {numbers.min():g} to {numbers.max():g} are no proportions", "they lie between 0 and 1")
    return _wilson(numbers, observed, level, binary) if binary or proportion else robust_interval(numbers, observed, level)


def robust_interval(values: Floats, observed: Units, level: float) -> Interval:
    """mean ± t · SE with the CR2 standard error and Satterthwaite's degrees of freedom; no bounds without variance between units."""
    found = robust(values[None], observed.codes)
    mean, half = float(found.mean[0]), _t(level, float(found.freedom[0])) * float(found.error[0])
    return Interval(mean, mean - half, mean + half, len(values), observed.clusters)


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


def _wilson(values: Floats, observed: Units, level: float, binary: bool) -> Interval:
    """Wilson's interval (1927) with the effective n of a clustered sample: n / design effect · (t(n - 1) / t(freedom))².

    The design effect is the variance of the mean over that of as many independent successes, p (1 - p) / (n - 1); for successes at
    least 1. It is seen only in the F units that hold a rare outcome (anything but 1 where the mean is above a half), and is drawn
    towards its largest value, that of units of one mind, Σ size² / n (Kish 1965), which has the weight 4 / (F² + 4): with F = 0 there
    is nothing else to go by. The last factor pays for few units (Korn and Graubard 1998). One query a unit gives the plain interval
    for successes.
    """
    n, mean, found = len(values), float(values.mean()), robust(values[None], observed.codes)
    if n < 2 or observed.count < 2 or (not binary and np.isnan(found.error[0])):
        return Interval(mean, float("nan"), float("nan"), n, observed.clusters)
    effective = n / _design(values, observed.codes, float(np.nan_to_num(found.error[0])), binary)
    effective *= (_t(level, n - 1) / _t(level, float(found.freedom[0]))) ** 2
    low, high = proportion_confint(mean * effective, effective, alpha=1 - level, method="wilson")
    return Interval(mean, float(min(max(low, 0.0), mean)), float(max(min(high, 1.0), mean)), n, observed.clusters)


def _design(values: Floats, codes: Ints, error: float, binary: bool) -> float:
    n, mean, sizes = len(values), float(values.mean()), np.bincount(codes)
    variance = mean * (1 - mean) / (n - 1)
    largest = float((sizes**2).sum()) / n
    seen = max(1.0 if binary else 0.0, error**2 / variance) if variance else largest
    rare = np.unique(codes[values < 1 if mean >= 0.5 else values > 0]).size
    return float((rare**2 * seen + 4 * max(largest, seen)) / (rare**2 + 4))


def _t(level: float, freedom: float) -> float:
    return float(stats.t.ppf((1 + level) / 2, freedom))
