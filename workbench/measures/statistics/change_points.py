"""Find changes over time: the runs at which the level of a metric changed, alarms on data that keep arriving, and drift of vectors."""

import itertools
from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from workbench.measures.metrics.coverage import Floats, Ints

# With four results on one level and five on another, the clearest step has p = 2 * 2 / 126. Fewer never reach significance.
FEWEST_RESULTS = 9
# Older observations are ignored because the cost is quadratic in their number.
MOST_OBSERVATIONS = 200
LEVEL = 0.05
# The fewest observations of a level. A single outlier is not a level.
_LEAST = 2
# Differences between results on one level that are rounding errors, as a share of the range of all.
_ROUNDING = 1e-9
# Values that depend more on the one before are a drift.
_MOST_CORRELATED = 0.9
_RESAMPLES = 1999
_SEED = 20260101
# The most numbers in memory at once.
_BLOCK = 2_000_000

# Positions [start, end) of each part, in two arrays.
Parts = tuple[Ints, Ints]
Singles = NDArray[np.float32]


@dataclass(frozen=True)
class ChangePoint:
    """The first run of a new level, the means of the levels before and after it, and p."""

    run: str
    before: float
    after: float
    p: float


@dataclass(frozen=True)
class Levels:
    """The change points in a history of `runs` runs.

    Consecutive runs with the same result are one of `observations`, of which only `results` are different.
    """

    runs: int
    observations: int
    results: int
    points: tuple[ChangePoint, ...]

    @property
    def enough(self) -> bool:
        """True if there are enough different results to distinguish a change from noise."""
        return self.results >= FEWEST_RESULTS


def change_points(series: "pd.Series[float]", results: "pd.Series[int] | None" = None) -> Levels:
    """Find the runs at which the level of a metric (indexed by run, oldest first) changed. NaN is ignored.

    `results` gives runs that repeat each other (equal settings, data and value) the same number, as in the column `result` of
    `results.history.changes`; by default all differ. Consecutive repeats are one observation. Only the last MOST_OBSERVATIONS are used.

    Apply two of scipy's permutation tests, each at half of LEVEL. The first looks for a step, the largest
    standardised difference of means max |mean(part) - mean(rest)| sqrt(m (n - m) / n) over all first parts of m of n observations (binary
    segmentation, Scott and Knott 1974). If no such point exists, the second looks for a stretch that differs, over all parts in the middle
    (circular binary segmentation, Olshen et al. 2004). p combines both tests. The parts are tested in the same way if they have
    FEWEST_RESULTS different results.

    The permutations exchange the values of different results, and a result that returns keeps its value everywhere. Without a change
    any result could have had any of the values if they are independent with the same spread: then at most 5 % of unchanged histories are split, for any
    pattern of repeats. Two corrections are for others. Values that depend on the one before are first made independent by the lag-one autocorrelation around
    the best two levels (prewhitening). And the signs of deviations are flipped, too, which allows for a spread that changes: the larger p counts.
    Results that drift are not exchangeable: a split then means that the level was not constant, not that it jumped once.

    References
    ----------
    Serinaldi and Kilsby (2016), The importance of prewhitening in change point analysis under persistence, Stochastic Environmental
    Research and Risk Assessment 30.
    """
    scored = series.dropna()
    numbers = np.arange(len(scored)) if results is None else pd.factorize(results[series.notna()])[0]
    # The first run of each observation.
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))[-MOST_OBSERVATIONS:]
    values: NDArray[np.float64] = np.asarray(scored, dtype=np.float64)[starts]
    codes: Ints = numbers[starts].astype(np.int64)
    splits = sorted(_split(values, codes, 0, len(values)))
    edges = [0, *(edge for edge, _ in splits), len(values)]
    levels = [float(values[start:end].mean()) for start, end in itertools.pairwise(edges)] if splits else []
    runs = [str(scored.index[starts[edge]]) for edge, _ in splits]
    points = zip(runs, itertools.pairwise(levels), (p for _, p in splits), strict=True)
    changes = tuple(ChangePoint(run, before, after, p) for run, (before, after), p in points)
    return Levels(len(scored), len(values), len(np.unique(codes)), changes)


def _split(values: NDArray[np.float64], codes: Ints, start: int, end: int) -> list[tuple[int, float]]:
    part, first, places = values[start:end], *np.unique(codes[start:end], return_index=True, return_inverse=True)[1:]
    if len(first) < FEWEST_RESULTS or np.ptp(part) == 0:
        return []
    starts, ends = np.triu_indices(len(part) + 1, _LEAST)
    fitting = ends <= len(part) - _LEAST
    independent = _prewhitened(part[np.sort(first)])[np.argsort(np.argsort(first))]
    for inside in (fitting & (starts == 0), fitting & (starts >= _LEAST)):  # steps, then stretches
        parts = starts[inside], ends[inside]
        p = 2 * max(_p(independent, places, parts, kind) for kind in ("pairings", "samples"))
        if p <= LEVEL:
            best = int(np.argmax(_gaps(part, parts)))
            inner = [start + int(edge[best]) for edge in parts if 0 < edge[best] < len(part)]
            splits = [(edge, p) for edge in inner]
            for low, high in itertools.pairwise([start, *inner, end]):
                splits += _split(values, codes, low, high)
            return splits
    return []


def _prewhitened(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Subtract from deviations (n) the part that the deviation before explains, around a common level. The first keeps its share of the spread.

    The autocorrelation is that around the best two levels, corrected for its bias, (1 + 4 φ) / n (Marriott and Pope 1954). A negative one counts
    as 0, which makes tests careful.
    """
    starts, ends = np.triu_indices(len(values) + 1, _LEAST)
    parts = starts[ends <= len(values) - _LEAST], ends[ends <= len(values) - _LEAST]
    best = int(np.argmax(_gaps(values, parts)))
    inside = np.zeros(len(values), dtype=np.bool_)
    inside[parts[0][best] : parts[1][best]] = True
    rest = np.where(inside, values - values[inside].mean(), values - values[~inside].mean())
    level: NDArray[np.float64] = values - values.mean()
    together = rest[1:] * rest[:-1] * (inside[1:] == inside[:-1])
    if np.ptp(rest) <= _ROUNDING * np.ptp(values):
        return level
    autocorrelation = float(together.sum() / (rest**2).sum())
    correlation = min(max(autocorrelation + (1 + 4 * max(autocorrelation, 0.0)) / len(values), 0.0), _MOST_CORRELATED)
    return np.asarray(level - correlation * np.concatenate([level[:1], level[:-1]]))


def _p(values: NDArray[np.float64], places: Ints, parts: Parts, kind: Literal["pairings", "samples"]) -> float:
    """Permute the values of the different results, or flip their signs (`samples`). `places` (n) is the result of each observation."""
    answer = scipy.stats.permutation_test(
        (values - values.mean(),),
        lambda order, axis: _gaps(np.moveaxis(order, axis, -1)[..., places], parts).max(axis=-1),
        permutation_type=kind,
        alternative="greater",
        n_resamples=_RESAMPLES,
        batch=max(1, _BLOCK // len(parts[0])),
        vectorized=True,
        rng=np.random.default_rng(_SEED),
    )
    return float(answer.pvalue)


def _gaps(values: NDArray[np.float64], parts: Parts) -> NDArray[np.float64]:
    """The standardised difference of means (…, parts) between each part and the rest."""
    starts, ends = parts
    n, sizes = values.shape[-1], ends - starts
    sums = np.zeros((*values.shape[:-1], n + 1))
    np.cumsum(values - values.mean(axis=-1, keepdims=True), axis=-1, out=sums[..., 1:])
    return np.asarray(np.abs(sums[..., ends] - sums[..., starts]) / np.sqrt(sizes * (n - sizes) / n))


# Bets, as shares of the largest possible. For a rate, a share f bets on the alternative p1 = limit + f (1 - limit).
SHARES = np.array([0.01, 0.025, 0.0625, 0.156, 0.39, 0.9])

_FIRST_BLOCK, _LARGEST_BLOCK = 2**8, 2**17

# Changes that explain the data at most this many times worse than the best one are plausible.
_PLAUSIBLE = np.log(20.0)

# Permutations in memory at once.
_PERMUTED = 64

# Squared distances of equal vectors, and differences of equal samples, are at most this by rounding errors.
_EQUAL = 1e-6


def masses(periods: Ints, expected: int) -> Floats:
    """Return the weight of a change at each observation (n), whose sum is at most 1 in a period. `periods` (n) are sorted.

    The first `expected` observations of a period get 1 / (2 expected) each, and all later ones share the other half. So the bound of
    `first_alarm` holds for any number of observations, and `expected` only decides for which number the delay is shortest.
    """
    index = np.arange(len(periods), dtype=np.float64) - np.searchsorted(periods, periods)
    return np.asarray(_mass(index + 1, expected) - _mass(index, expected))


def first_alarm(values: Floats, limit: float, weights: Floats, threshold: float, start: int = 0) -> int | None:
    """Return the first observation at which the Shiryaev-Roberts e-detector of "the mean is at most `limit`" reaches `threshold`, or None.

    `values` (n) are within [0, 1], `limit` is within (0, 1). M_t is the mean over SHARES f of
    M_t(f) = (M_{t-1}(f) + w_t) (1 + f (x_t / limit - 1)), from 0 before `start`. As M_t minus the sum of w is a supermartingale if
    E[x_t | past] <= limit, an alarm up to t has at most the probability (w_start + … + w_t) / threshold. With w = 1 / m and the threshold
    1 / alpha this is c = m / alpha. Values need neither be independent nor have one distribution (Shin, Ramdas and Rinaldo 2023, NEJSDS).
    """
    size, total, inside = _FIRST_BLOCK, np.zeros((len(SHARES), 1)), np.full((len(SHARES), 1), -np.inf)
    while start < len(values):
        part = slice(start, start + size)
        steps = _steps(values[part], limit)
        after = total + np.cumsum(steps, axis=1)
        sums = np.logaddexp.accumulate(np.concatenate([inside, np.log(weights[part]) - (after - steps)], axis=1), axis=1)[:, 1:]
        reached = np.flatnonzero(np.logaddexp.reduce(after + sums, axis=0) >= np.log(threshold * len(SHARES)))
        if len(reached):
            return start + int(reached[0])
        total, inside = after[:, -1:], sums[:, -1:]
        start, size = start + size, min(2 * size, _LARGEST_BLOCK)
    return None


def change_estimate(values: Floats, limit: float) -> tuple[int, int]:
    """Return the most likely and the latest plausible first observation after the mean of `values` (n), which end with an alarm, rose."""
    # The evidence of all observations from each one on.
    gains = np.cumsum(_steps(values, limit)[:, ::-1], axis=1)[:, ::-1]
    bet, first = np.unravel_index(int(gains.argmax()), gains.shape)
    return int(first), int(np.flatnonzero(gains[bet] >= gains[bet, first] - _PLAUSIBLE)[-1])


def lower_bound(values: Floats, alpha: float, stopped: bool = False) -> float:
    """Return a lower bound of the mean of `values` (n) within [0, 1], with confidence 1 - alpha. Without values it is 0.

    It is the largest m that the capital prod(1 + b_t (x_t - m)) refutes by reaching 1 / alpha, with predictable bets
    b_t = sqrt(2 ln(1 / alpha) / (v_{t-1} h_t)), at most 3 / (4 m), where v is the running variance. h_t is n, or t ln(t + 1) if n depends on
    the values (`stopped`). It holds if E[x_t | past] is the mean (Waudby-Smith and Ramdas 2024, JRSS-B). The capital falls with m.
    """
    n = len(values)
    t = np.arange(1.0, n + 1)
    means = (0.5 + np.cumsum(values)) / (t + 1)
    variances = np.concatenate([[0.25], (0.25 + np.cumsum((values - means) ** 2)) / (t + 1)])[:-1]
    bets = np.sqrt(2 * np.log(1 / alpha) / (variances * (t * np.log(t + 1) if stopped else n)))
    low, high = 0.0, 1.0
    for _ in range(30 if n else 0):
        middle = (low + high) / 2
        capital = np.cumsum(np.log1p(np.minimum(bets, 0.75 / middle) * (values - middle)))
        low, high = (middle, high) if capital.max() >= np.log(1 / alpha) else (low, middle)
    return low


def _steps(values: Floats, limit: float) -> Floats:
    """Return the logarithms of the factors of each bet. Shape (bets, n)."""
    return np.asarray(np.log1p(SHARES[:, None] * (values / limit - 1)))


def _mass(number: Floats, expected: int) -> Floats:
    """Return the weight of the first `number` observations of a period. Shape (n,)."""
    return np.asarray(np.where(number <= expected, number / (2 * expected), 1 - 0.5 / (1 + np.log(np.maximum(number / expected, 1)))))


class DriftTest(NamedTuple):
    """The energy distance of two samples and the fall of the mean cosine to a direction, each with p."""

    energy: float
    energy_p: float
    fall: float
    fall_p: float


def drift_test(reference: Singles, sample: Singles, direction: Singles, level: float, seed: int) -> DriftTest:
    """Test whether unit vectors (n0, d) and (n, d) have one distribution, each test at `level`. Both share the permutations.

    The energy distance 2 E|x - y| - E|x - x'| - E|y - y'| (Székely and Rizzo 2013) finds new subjects within the corpus. The fall of the mean
    cosine to `direction` (d) finds off-topic questions earlier. Take the direction from other questions than the reference.
    2 / level permutations are drawn, and none after neither test can reach the level any more, which changes no decision.
    """
    vectors, counts = np.concatenate([reference, sample]).astype(np.float32), (len(reference), len(sample))
    labels = np.repeat(np.array([1 / counts[0], -1 / counts[1]], dtype=np.float32), counts)
    squared = (vectors**2).sum(axis=1)[:, None] + (vectors**2).sum(axis=1) - 2 * vectors @ vectors.T
    distances = np.sqrt(np.where(squared < _EQUAL, 0, squared), dtype=np.float32)
    cosines = vectors @ direction.astype(np.float32)
    observed = _statistics(labels[None], distances, cosines)
    wanted, drawn, reached = ceil(2 / level) - 1, 0, np.zeros((2, 1), dtype=np.int64)
    random = np.random.default_rng(seed)
    while drawn < wanted and 1 + reached.min() <= level * (wanted + 1):
        size = min(_PERMUTED, wanted - drawn)
        permuted = _statistics(random.permuted(np.tile(labels, (size, 1)), axis=1), distances, cosines)
        reached += (permuted >= observed - _EQUAL).sum(axis=1, keepdims=True)
        drawn += size
    p = (1 + reached[:, 0]) / (1 + drawn)
    return DriftTest(float(observed[0, 0]), float(p[0]), float(observed[1, 0]), float(p[1]))


def _statistics(labels: Singles, distances: Singles, cosines: Singles) -> Floats:
    """Return the energy distance and the fall of the cosine for each row of labels (b, n). Shape (2, b)."""
    return np.array([-np.einsum("bn,bn->b", labels, labels @ distances), labels @ cosines], dtype=np.float64)
