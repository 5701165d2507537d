"""Limits of shares of labelled items, and how much shared documents widen them."""

from collections.abc import Sequence

import numpy as np
import scipy

from workbench.measures.metrics.coverage import Bools, Floats, Ints
from workbench.measures.statistics.intervals import ALPHA, wilson

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
