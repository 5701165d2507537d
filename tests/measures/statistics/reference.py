"""Intervals by their definitions, to test those of Workbench."""

from statistics import NormalDist

import numpy as np


def wilson(successes: float, n: float) -> tuple[float, float]:
    """The two p at which |successes / n - p| = z √(p (1 - p) / n), z = 1.96 (Wilson 1927): the roots of a quadratic equation."""
    mean, part = successes / n, NormalDist().inv_cdf(0.975) ** 2 / n
    low, high = np.sort(np.roots([1 + part, -2 * mean - part, mean**2]))
    return float(low), float(high)
