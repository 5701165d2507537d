"""Limits of shares of labelled items, and how much shared documents widen them."""

import numpy as np
from scipy import special

from workbench.metrics.coverage import Bools, Floats, Ints
from workbench.statistics.intervals import ALPHA

# With this many clusters that have a rare label, the observed design effect counts half.
_INFORMED = 2


def jeffreys(successes: float, n: float, alpha: float = ALPHA) -> tuple[float, float]:
    """Jeffreys' interval of a share: quantiles of Beta(s + ½, n - s + ½), 0 without successes and 1 without failures (Brown, Cai and DasGupta 2001).

    Without observations the share could be anything from 0 to 1. `successes` and `n` need not be whole numbers.
    """
    if n <= 0:
        return 0.0, 1.0
    failures = max(0.0, n - successes)
    low = special.betaincinv(successes + 0.5, failures + 0.5, alpha / 2) if successes > 1e-9 else 0.0
    high = special.betaincinv(successes + 0.5, failures + 0.5, 1 - alpha / 2) if failures > 1e-9 else 1.0
    return float(low), float(high)


def shrunk_design(observed: float, codes: Ints, rare: Bools) -> float:
    """Shrink an observed design effect towards the largest possible one, that of documents with equal labels, Σ size² / n (Kish 1965).

    `codes` (n) are the clusters of the labels, and `rare` (n) marks labels with the rarer outcome. Only the F clusters with such a label inform the
    observed effect, which gets the weight F² / (F² + 4). It is NaN if nothing varies.
    """
    largest = float((np.bincount(codes) ** 2).sum()) / len(codes)
    design = largest if np.isnan(observed) else max(1.0, observed)
    informed = len(np.unique(codes[rare])) ** 2
    return (informed * design + _INFORMED**2 * max(largest, design)) / (informed + _INFORMED**2)


def effective_number(weights: Floats) -> float:
    """The number of equally weighted values with the variance of a mean with these weights, (Σ w)² / Σ w² (Kish 1965)."""
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def rarer(labels: Floats) -> Bools:
    """Mark the labels (n) of the outcome that fewer of them have."""
    return labels < 1 if labels.mean() >= 0.5 else labels > 0
