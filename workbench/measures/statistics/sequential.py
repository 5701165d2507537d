"""Tests of data that keep arriving: when the mean of a stream rises above a limit, bounds of means, and drift between two samples of vectors."""

from math import ceil
from typing import NamedTuple

import numpy as np

from workbench.core.storage.vector_cache import Vectors
from workbench.measures.metrics.coverage import Floats, Ints

# Bets, as shares of the largest possible. For a rate, a share f bets on the alternative p1 = limit + f (1 - limit).
SHARES = np.array([0.01, 0.025, 0.0625, 0.156, 0.39, 0.9])

_BLOCK, _LARGEST_BLOCK = 2**8, 2**17

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
    size, total, inside = _BLOCK, np.zeros((len(SHARES), 1)), np.full((len(SHARES), 1), -np.inf)
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


def drift_test(reference: Vectors, sample: Vectors, direction: Vectors, level: float, seed: int) -> DriftTest:
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


def _statistics(labels: Vectors, distances: Vectors, cosines: Vectors) -> Floats:
    """Return the energy distance and the fall of the cosine for each row of labels (b, n). Shape (2, b)."""
    return np.array([-np.einsum("bn,bn->b", labels, labels @ distances), labels @ cosines], dtype=np.float64)
