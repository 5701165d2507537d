"""Compute means of clustered values with standard errors and confidence intervals, for many rows at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from workbench.core.errors import InputError
from workbench.core.text.formatting import interval, plural
from workbench.measures.metrics.coverage import Bools, Floats, Ints
from workbench.measures.statistics.clusters import CONDITIONAL, FEWEST_FOR_INTERVAL, Clusters

# Rounding gives constant values a standard error of this order, relative to the largest value.
_ROUNDING = 1e-12
# Intervals have 95 % confidence, and differences are significant at a p of at most this.
ALPHA = 0.05
# The legend of `bounds_text`.
THIS_CORPUS = (
    "An interval of this corpus covers other questions on the same documents only, because too many of its questions share documents."
)
# Of the error for shared documents.
_LEAST_FREEDOM = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Robust:
    """Means of r rows of values: `mean`, `error` (NaN without variance), `freedom`, `n`, in `clusters` (r).

    `effective` clusters of equal size would have the same weight (Kish 1965). `sums` (r, c) are those of each cluster, and `residuals` (r, c) those of the values minus the mean.
    `alone` and `alone_freedom` are the error and its degrees of freedom if shared documents are ignored. `conditional` (r): so many documents
    are shared that `error` ignores them too, and describes other questions on this corpus.
    """

    mean: Floats
    error: Floats
    freedom: Floats
    n: Ints
    clusters: Ints
    effective: Floats
    sums: Floats
    residuals: Floats
    alone: Floats
    alone_freedom: Floats
    conditional: Bools


def robust(values: Floats, clusters: Clusters) -> Robust:
    """CR2: SE² = Σ over clusters g of (Σ residuals in g)² / (1 - h_g) / n², where h_g = n_g / n (Bell and McCaffrey 2002).

    `values` (r, q) are NaN if unscored. With clusters of one size it is CR1, with one query per cluster the ordinary standard error. A
    row without values has the mean NaN, one with fewer than 5 clusters the error NaN. If queries share documents across clusters, the
    error is at least the one of `shared`.
    """
    if clusters.equal:
        return replace(robust(*clusters.averaged(values)), n=(~np.isnan(values)).sum(axis=1))
    scored, codes = ~np.isnan(values), clusters.codes
    known = np.where(scored, values, 0.0)
    sizes, sums = by_unit(scored.astype(np.float64), codes), by_unit(known, codes)
    n, observed = sizes.sum(axis=1), clusters.counts(scored.astype(np.float64))
    count = np.maximum(n, 1)[:, None]
    mean = sums.sum(axis=1, keepdims=True) / count
    share, residuals = sizes / count, sums - sizes * mean
    parts = np.where(scored, known - mean, 0.0)
    squares = (parts**2).sum(axis=1)
    several = (share < 1).all(axis=1) & (n > 1)
    weights = 1 / np.where(share < 1, 1 - share, 1)
    error = np.sqrt((weights * residuals**2).sum(axis=1)) / count[:, 0]
    freedom = satterthwaite(sizes, _correlation(residuals, squares, sizes), several)
    wide, wide_freedom, conditional = shared(parts, scored.astype(np.float64), error, freedom, clusters)
    visible = (observed >= FEWEST_FOR_INTERVAL) & (error > _ROUNDING * np.abs(known).max(axis=1, initial=0))
    return Robust(
        mean=np.where(n > 0, mean[:, 0], np.nan),
        error=np.where(visible, wide, np.nan),
        freedom=wide_freedom,
        n=n.astype(np.int64),
        clusters=observed,
        effective=n**2 / np.maximum((sizes**2).sum(axis=1), 1),
        sums=sums,
        residuals=residuals,
        alone=np.where(visible, error, np.nan),
        alone_freedom=freedom,
        conditional=visible & conditional,
    )


def shared(residuals: Floats, scored: Floats, error: Floats, freedom: Floats, clusters: Clusters) -> tuple[Floats, Floats, Bools]:
    """Widen the errors (r) for queries that share a document: error, degrees of freedom, and whether too much is shared.

    SE² = c Σ r_i r_j / n² over all queries i and j that share a document, the variance for dyads of Aronow, Samii and Assenova (2015), with
    c = 1 / (1 - L / n²) for L linked pairs, so that independent values have the usual variance. It has the degrees of freedom tr(M)² / tr(M²)
    of independent values, M being the centred matrix of links. The larger of this error and `error` is taken. With fewer than 4 degrees
    of freedom the documents cannot be treated as a sample: the error stays as it is, and the third result is True.
    """
    links = clusters.links
    if links is None:
        return error, freedom, np.full(len(error), clusters.too_many_links)
    # The number of scored queries linked to each scored query, itself included.
    n, degrees = np.maximum(scored.sum(axis=1), 1), np.asarray(scored * (scored @ links))
    linked = degrees.sum(axis=1)
    squared = linked - 2 * (degrees**2).sum(axis=1) / n + (linked / n) ** 2
    own_freedom = np.divide((n - linked / n) ** 2, squared, out=np.zeros_like(n), where=squared > 0)
    conditional = own_freedom < _LEAST_FREEDOM
    correction = 1 / np.maximum(1 - linked / n**2, 1 / n)
    squares = np.asarray((residuals * (residuals @ links)).sum(axis=1))
    own = np.sqrt(np.maximum(correction * squares, 0)) / n
    wider = ~conditional & (own > error)
    # An error that is equal because nothing is shared keeps its degrees of freedom.
    narrow = np.where(~conditional & (linked > n), np.minimum(freedom, own_freedom), freedom)
    return np.where(wider, own, error), np.where(wider, narrow, freedom), conditional


def by_unit(values: Floats, codes: Ints) -> Floats:
    """Sum values (r, q) over the queries of each cluster. Shape (r, clusters)."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.asarray(np.add.reduceat(values[:, order], starts, axis=1))


def satterthwaite(sizes: Floats, correlation: Floats, several: Bools) -> Floats:
    """Compute the degrees of freedom (Σ λ)² / Σ λ² (r) of the CR2 variance for clusters of `sizes` (r, clusters) (Imbens and Kolesár 2016).

    The λ are the eigenvalues of the covariance of the clusters' weighted residual sums, M_gj = a_g a_j (δ_gj v_g - h_g v_j - h_j v_g +
    h_g h_j V), with a_g² = 1 / (1 - h_g), v_g = n_g (1 + (n_g - 1) ρ) and V = Σ v_g. The traces of M and M² are expanded to avoid the
    matrix. Equal clusters have their number - 1 degrees of freedom, a single cluster (not `several`) has 1.
    """
    share = sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1)
    weights = 1 / np.where(share < 1, 1 - share, 1)
    v = sizes * (1 + np.maximum(sizes - 1, 0) * correlation[:, None])
    total = v.sum(axis=1, keepdims=True)
    diagonal, crossed = v * (1 - 2 * share) + share**2 * total, 2 * share * v - share**2 * total
    a, b, c = ((weights * part).sum(axis=1) for part in (share**2, share * v, v**2))
    squared = 2 * a * c + 2 * b**2 + (total[:, 0] * a) ** 2 - 4 * total[:, 0] * a * b
    squared += (weights**2 * (diagonal**2 - crossed**2)).sum(axis=1)
    trace = (weights * diagonal).sum(axis=1)
    return np.where(several, trace**2 / np.where(several, squared, 1), 1.0)


def _correlation(residuals: Floats, squares: Floats, sizes: Floats) -> Floats:
    """Estimate the correlation of values within a cluster by the method of moments, in [0, 1]. Shape (r,), 1 for constant rows."""
    pairs = (sizes * (sizes - 1)).sum(axis=1)
    variance = squares / np.maximum(sizes.sum(axis=1), 1)
    together = ((residuals**2).sum(axis=1) - squares) / np.maximum(pairs, 1)
    correlation = np.divide(together, variance, out=np.ones_like(variance), where=variance > 0)
    return np.asarray(np.clip(correlation, 0, 1))


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean `value` with bounds `low` and `high` (NaN if undefined), over `n` queries in `clusters` source documents.

    `conditional` is empty, or says that the interval covers other questions on the same corpus, not on other documents.
    """

    value: float
    low: float
    high: float
    n: int
    clusters: int
    conditional: str = ""

    def bounds(self, digits: int = 3) -> str:
        """Format the interval, or the number of documents if they are too few for one."""
        return bounds_text(self.low, self.high, self.clusters, self.conditional, digits)


@dataclass(frozen=True, slots=True)
class SimultaneousInterval(Interval):
    """An interval that holds for all comparisons of a family at once. With `excludes_zero` a bound of 0 is not part of it."""

    excludes_zero: bool = False

    def bounds(self, digits: int = 3) -> str:
        """Format the interval, with a round bracket at a bound that is shown as 0, which is not part of it."""
        text = Interval.bounds(self, digits)
        if self.excludes_zero and round(self.low, digits) == 0:
            return f"({text[1:]}"
        return f"{text[:-1]})" if self.excludes_zero and round(self.high, digits) == 0 else text


def bounds_text(low: float, high: float, clusters: int, conditional: str = "", digits: int = 3) -> str:
    """Format an interval, or the number of documents if they are too few for one, and say if it is of this corpus only."""
    if not (np.isfinite(low) and np.isfinite(high)):
        return f"[documents: {clusters}]" if 0 < clusters < FEWEST_FOR_INTERVAL else interval(low, high, digits)
    return f"{interval(low, high, digits)}{' this corpus' if conditional else ''}"


def counts_text(n: int, clusters: int) -> str:
    """Format the numbers of questions and of clusters, with the definition of a cluster."""
    return f"{plural(n, 'question')} in {plural(clusters, 'cluster')}, each the questions about one document"


def mean_intervals(values: Floats, clusters: Clusters | npt.ArrayLike, *, proportion: Bools) -> list[Interval]:
    """Compute the means of scored values (r, n) with 95 % intervals. `clusters` (n) are the source documents.

    Proportions (r), and rows that are all 0 or 1, get a Wilson interval with an effective n, others the cluster-robust t interval. Fewer
    than 5 clusters, or constant values other than 0 and 1, have no bounds, because an interval without width would claim certainty.
    """
    observed = checked_clusters(values, clusters)
    if observed.equal:
        means, alone = observed.averaged(values)
        return [replace(row, n=values.shape[1]) for row in mean_intervals(means, alone, proportion=proportion)]
    binary = ((values == 0) | (values == 1)).all(axis=1)
    shares = binary | proportion
    for outside in values[shares & ((values < 0) | (values > 1)).any(axis=1)]:
        raise InputError(f"values from {outside.min():g} to {outside.max():g} are not proportions", "give values between 0 and 1")
    intervals: dict[int, Interval] = {}
    for rows, method in ((shares, _wilson), (~shares, robust_intervals)):
        intervals |= zip(np.flatnonzero(rows).tolist(), method(values[rows], observed), strict=True)
    return [intervals[row] for row in range(len(values))]


def robust_intervals(values: Floats, clusters: Clusters) -> list[Interval]:
    """mean ± t · SE of rows (r, n): CR2 standard errors, Satterthwaite's degrees of freedom. No bounds without variance between clusters."""
    means = robust(values, clusters)
    half = t_quantile(means.freedom) * means.error
    return _intervals(means, means.mean - half, means.mean + half)


def checked_clusters(values: Floats, clusters: Clusters | npt.ArrayLike) -> Clusters:
    """The clusters of rows of values (r, n). Raises InputError for no values, NaN or unequal lengths."""
    observed = Clusters.of(clusters)
    if values.ndim != 2 or values.shape[1] != len(observed):
        raise InputError(f"{values.shape[1:]} values and {len(observed)} clusters do not match", "give one cluster for each value")
    if not len(observed):
        raise InputError("the mean of no values is undefined", "leave out metrics without a scored query")
    if not np.isfinite(values).all():
        raise InputError("a value is NaN or infinite", "leave out unscored queries, and count them")
    return observed


def t_quantile(freedom: Floats | int, alpha: Floats | float = ALPHA) -> Floats:
    """The two-sided quantile of Student's t at `alpha` for these degrees of freedom."""
    # Without the sign: that of the quantile of 0 is wrong in scipy 1.17.
    return np.asarray(np.abs(scipy.special.stdtrit(freedom, np.asarray(alpha) / 2)))


def wilson(mean: npt.ArrayLike, n: npt.ArrayLike, alpha: float = ALPHA) -> Floats:
    """Compute Wilson's interval (1927) of shares of n, the p with |mean - p| ≤ z √(p (1 - p) / n). Shape (2, ...)."""
    share, part = np.asarray(mean, dtype=np.float64), scipy.special.ndtri(alpha / 2) ** 2 / np.asarray(n, dtype=np.float64)
    centre, half = share + part / 2, np.sqrt(part * (share * (1 - share) + part / 4))
    return np.asarray(np.clip(np.array([centre - half, centre + half]) / (1 + part), 0, 1))


def _wilson(values: Floats, clusters: Clusters) -> list[Interval]:
    """Wilson's interval (1927) with the effective n of a clustered sample, n / design effect · (t(n - 1) / t(freedom))².

    The design effect is the variance of the mean over that of n independent successes, p (1 - p) / (n - 1); for successes at
    least 1. Only the F clusters with a rare outcome (anything but 1 if the mean is above a half) inform it, so the estimate is shrunk
    towards its maximum, that of clusters with equal values, Σ size² / n (Kish 1965), with the weight 4 / (F² + 4): with F = 0 it
    is the only information. The last factor corrects for few clusters (Korn and Graubard 1998). One query per cluster gives the plain interval.
    """
    n, mean, means = values.shape[1], values.mean(axis=1), robust(values, clusters)
    binary = ((values == 0) | (values == 1)).all(axis=1)
    bounds = np.full((2, len(values)), np.nan)
    known = (binary | ~np.isnan(means.error)) & (means.clusters >= FEWEST_FOR_INTERVAL)
    if known.any():
        effective = n / _design(values[known], clusters.codes, np.nan_to_num(means.error[known]), binary[known])
        effective *= (t_quantile(n - 1) / t_quantile(means.freedom[known])) ** 2
        bounds[:, known] = wilson(mean[known], effective)
    return _intervals(means, np.minimum(bounds[0], mean), np.maximum(bounds[1], mean))


def _design(values: Floats, codes: Ints, error: Floats, binary: Bools) -> Floats:
    n, mean, sizes = values.shape[1], values.mean(axis=1), np.bincount(codes)
    variance = mean * (1 - mean) / (n - 1)
    largest = float((sizes**2).sum()) / n
    estimate = np.full(len(values), largest)
    np.divide(error**2, variance, out=estimate, where=variance != 0)
    estimate = np.where(variance != 0, np.maximum(np.where(binary, 1.0, 0.0), estimate), estimate)
    rare = np.where(mean[:, None] >= 0.5, values < 1, values > 0)
    units_with = (by_unit(rare.astype(np.float64), codes) > 0).sum(axis=1)
    return np.asarray((units_with**2 * estimate + 4 * np.maximum(largest, estimate)) / (units_with**2 + 4))


def _intervals(means: Robust, lows: Floats, highs: Floats) -> list[Interval]:
    texts = np.where(means.conditional, CONDITIONAL, "")
    columns = (means.mean, lows, highs, means.n, means.clusters, texts)
    return [Interval(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


# With this many clusters that have a rare label, the observed design effect counts half.
_INFORMED = 2
_NONE = 1e-9
# A value with its limits.
Estimate = tuple[float, float, float]


def share_limits(successes: float, n: float, alpha: float = ALPHA) -> tuple[float, float]:
    """The wider of Wilson's (1927) and Jeffreys' limits of a share (Brown, Cai and DasGupta 2001). Without observations they are 0 and 1.

    Jeffreys' are quantiles of Beta(s + ½, n - s + ½), 0 without successes and 1 without failures. In sums of a few shares near 0 and 1 either alone misses the
    truth too often: Wilson's on its long side, Jeffreys' near ½. `successes` and `n` need not be whole numbers.
    """
    if n <= 0:
        return 0.0, 1.0
    successes = min(successes, n)
    a, b = successes + 0.5, n - successes + 0.5
    low = float(scipy.special.betaincinv(a, b, alpha / 2)) if successes > _NONE else 0.0
    high = float(scipy.special.betaincinv(a, b, 1 - alpha / 2)) if n - successes > _NONE else 1.0
    wilson_low, wilson_high = wilson(successes / n, n, alpha).tolist()
    return min(low, wilson_low), max(high, wilson_high)


def shrunk_design(observed: float, codes: Ints, rare: Bools, least: float = 1.0) -> float:
    """Shrink an observed design effect towards the largest possible one, that of documents with equal labels, Σ size² / n (Kish 1965).

    `codes` (n) are the clusters of the labels, and `rare` (n) marks labels with the rarer outcome. Only the F clusters with such a label inform the
    observed effect, which gets the weight F² / (F² + 4). It is NaN if nothing varies. `least` is 0 for values that vary less than shares.
    """
    largest = float((np.bincount(codes) ** 2).sum()) / len(codes)
    design = largest if np.isnan(observed) else max(least, observed)
    informed = len(np.unique(codes[rare])) ** 2
    return (informed * design + _INFORMED**2 * max(largest, design)) / (informed + _INFORMED**2)


def effective_number(weights: Floats) -> float:
    """The number of equally weighted values with the variance of a mean with these weights, (Σ w)² / Σ w² (Kish 1965)."""
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def rarer(labels: Floats) -> Bools:
    """Mark the labels (n) of the outcome that fewer of them have."""
    return labels < 1 if labels.mean() >= 0.5 else labels > 0


def mover_limits(value: float, strata: Sequence[tuple[float, float, float]], alpha: float, shared: float = 0.0) -> tuple[float, float]:
    """Return limits of the mean of strata, each with its share, mean and effective n: √(Σ (W (p - l))² + `shared`) away (MOVER, Zou and Donner 2008)."""
    below = above = shared
    for share, mean, n in strata:
        low, high = share_limits(mean * n, n, alpha)
        below += (share * max(0.0, mean - low)) ** 2
        above += (share * max(0.0, high - mean)) ** 2
    return max(0.0, value - below**0.5), min(1.0, value + above**0.5)


def independent_difference(first: Estimate, second: Estimate) -> Estimate:
    """Return the difference of independent estimates, each a value with its limits. The half-widths are √(a² + b²) of theirs (MOVER, Zou and Donner 2008)."""
    (a, a_low, a_high), (b, b_low, b_high) = first, second
    value = a - b
    return value, value - float(np.hypot(a - a_low, b_high - b)), value + float(np.hypot(a_high - a, b - b_low))
