"""Means with their confidence intervals, many rows at once, for queries that come in clusters."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from workbench.errors import InputError
from workbench.metrics.coverage import Bools, Floats, Ints
from workbench.statistics.clusters import Units, units
from workbench.statistics.robust import by_unit, robust

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean `value` with the bounds `low` and `high`, NaN where the data allow none, over `n` queries in `clusters` source documents."""

    value: float
    low: float
    high: float
    n: int
    clusters: int


def mean_intervals(values: Floats, clusters: npt.ArrayLike, *, proportion: Bools) -> list[Interval]:
    """The means of r rows of n scored values (r, n) with 95 % intervals; `clusters` (n) are the source documents.

    Proportions (r), and rows that are all 0 or 1, get a Wilson interval with an effective n, others the cluster-robust t interval. There
    are no bounds for one query, or if values other than 0 and 1 do not vary: an interval without width would claim certainty.
    """
    observed = units_of(values, clusters)
    binary = ((values == 0) | (values == 1)).all(axis=1)
    shares = binary | proportion
    for wrong in values[shares & ((values < 0) | (values > 1)).any(axis=1)]:
        raise InputError(f"values from {wrong.min():g} to {wrong.max():g} are no proportions", "give values between 0 and 1")
    intervals: dict[int, Interval] = {}
    for rows, method in ((shares, _wilson), (~shares, robust_intervals)):
        intervals |= zip(np.flatnonzero(rows).tolist(), method(values[rows], observed), strict=True)
    return [intervals[row] for row in range(len(values))]


def robust_intervals(values: Floats, observed: Units) -> list[Interval]:
    """mean ± t · SE of rows (r, n): CR2 standard error, Satterthwaite's degrees of freedom; no bounds without variance between units."""
    means = robust(values, observed.codes)
    half = t_quantile(means.freedom) * means.error
    return _intervals(means.mean, means.mean - half, means.mean + half, values.shape[1], observed)


def units_of(values: Floats, clusters: npt.ArrayLike) -> Units:
    """The units of inference of rows of values (r, n); InputError for no values, NaN and unequal lengths."""
    names = np.asarray(clusters)
    if values.ndim != 2 or names.ndim != 1 or values.shape[1] != len(names):
        raise InputError(f"{values.shape[1:]} values and {names.shape} clusters do not match", "give one cluster for each value")
    if not len(names):
        raise InputError("there is no mean of no values", "leave out metrics without a scored query")
    if not np.isfinite(values).all():
        raise InputError("a value is NaN or infinite", "leave out unscored queries, and count them")
    return units(names)


def t_quantile(freedom: Floats | int) -> Floats:
    """The two-sided 95 % quantile of Student's t for these degrees of freedom."""
    return np.asarray(stats.t.ppf((1 + LEVEL) / 2, freedom))


def _wilson(values: Floats, observed: Units) -> list[Interval]:
    """Wilson's interval (1927) with the effective n of a clustered sample: n / design effect · (t(n - 1) / t(freedom))².

    The design effect is the variance of the mean over that of as many independent successes, p (1 - p) / (n - 1); for successes at
    least 1. Only the F units with a rare outcome (anything but 1 if the mean is above a half) inform it, so the estimate is drawn
    towards its largest value, that of units of one mind, Σ size² / n (Kish 1965), which has the weight 4 / (F² + 4): with F = 0 it
    is the only information. The last factor pays for few units (Korn and Graubard 1998). One query a unit gives the plain interval
    for successes.
    """
    n, mean, means = values.shape[1], values.mean(axis=1), robust(values, observed.codes)
    binary = ((values == 0) | (values == 1)).all(axis=1)
    bounds = np.full((2, len(values)), np.nan)
    known = (binary | ~np.isnan(means.error)) & (n > 1) & (observed.count > 1)
    if known.any():
        effective = n / _design(values[known], observed.codes, np.nan_to_num(means.error[known]), binary[known])
        effective *= (t_quantile(n - 1) / t_quantile(means.freedom[known])) ** 2
        bounds[:, known] = proportion_confint(mean[known] * effective, effective, alpha=1 - LEVEL, method="wilson")
    return _intervals(mean, np.minimum(np.maximum(bounds[0], 0), mean), np.maximum(np.minimum(bounds[1], 1), mean), n, observed)


def _design(values: Floats, codes: Ints, error: Floats, binary: Bools) -> Floats:
    n, mean, sizes = values.shape[1], values.mean(axis=1), np.bincount(codes)
    variance = mean * (1 - mean) / (n - 1)
    largest = float((sizes**2).sum()) / n
    estimate = np.full(len(values), largest)
    np.divide(error**2, variance, out=estimate, where=variance != 0)
    estimate = np.where(variance != 0, np.maximum(np.where(binary, 1.0, 0.0), estimate), estimate)
    rare = np.where(mean[:, None] >= 0.5, values < 1, values > 0)
    units_with = (by_unit(rare.astype(np.float64), codes) > 0).sum(axis=1)
    drawn: Floats = (units_with**2 * estimate + 4 * np.maximum(largest, estimate)) / (units_with**2 + 4)
    return drawn


def _intervals(means: Floats, lows: Floats, highs: Floats, n: int, observed: Units) -> list[Interval]:
    rows = zip(means.tolist(), lows.tolist(), highs.tolist(), strict=True)
    return [Interval(mean, low, high, n, observed.clusters) for mean, low, high in rows]
