"""Experiments with known true means: scores like span recalls, mostly 0 or 1, of questions clustered in documents."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """Configurations with true `means`, measured on `documents` of 1 to `most` questions each.

    A score is a normal variable cut off at 0 and 1. It is the sum of what the document, the question, the configuration on the document
    and the configuration on the question contribute (standard deviations); the errors of neighbouring configurations are correlated.
    """

    means: tuple[float, ...]
    documents: int = 61
    document: float = 0.25
    question: float = 0.35
    shift: float = 0.12
    noise: float = 0.30
    alike: float = 0.5
    most: int = 9

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """(q) the document of each question."""
        return np.repeat(np.arange(self.documents), np.arange(self.documents) % self.most + 1)

    @cached_property
    def places(self) -> Floats:
        """(c) the centres of the normal variables that have the true means once they are cut off."""
        spread = float(np.sqrt(self.document**2 + self.question**2 + self.shift**2 + self.noise**2))
        return np.array([optimize.brentq(_clipped_gap, -3, 4, args=(spread, mean)) for mean in self.means])

    @cached_property
    def mixing(self) -> Floats:
        """(c, c) turns independent errors into correlated ones."""
        apart = np.abs(np.subtract.outer(np.arange(len(self.means)), np.arange(len(self.means))))
        found: Floats = np.linalg.cholesky(self.alike**apart).astype(np.float64)
        return found

    def draw(self, random: np.random.Generator) -> Floats:
        """(c, q) the scores of one experiment."""
        count, queries = len(self.means), len(self.codes)
        common = self.document * random.standard_normal(self.documents)[self.codes] + self.question * random.standard_normal(queries)
        own = self.shift * random.standard_normal((count, self.documents))[:, self.codes] + self.noise * random.standard_normal(
            (count, queries)
        )
        return np.clip(self.places[:, None] + common + self.mixing @ own, 0, 1)

    def covariance(self, random: np.random.Generator, draws: int = 1_000) -> Floats:
        """(c, c) the covariance of the configurations' means over the questions, by simulation."""
        means = np.array(self.means)[:, None]
        starts = np.flatnonzero(np.diff(self.codes, prepend=-1))
        total = np.zeros((len(means), len(means)))
        for _ in range(draws):
            sums = np.add.reduceat(self.draw(random) - means, starts, axis=1)
            total += sums @ sums.T
        return total / draws / len(self.codes) ** 2


def _clipped_gap(place: float, spread: float, mean: float) -> float:
    """How far the mean of a normal variable cut off at 0 and 1 is from `mean`."""
    low, high = -place / spread, (1 - place) / spread
    inside = stats.norm.cdf(high) - stats.norm.cdf(low)
    return float(place * inside + spread * (stats.norm.pdf(low) - stats.norm.pdf(high)) + stats.norm.sf(high)) - mean


EQUAL = (0.6,) * 24
PROFILES: dict[str, tuple[float, ...]] = {
    "24 equal": EQUAL,
    "two best, 22 worse by .10": (0.6, 0.6, *(0.5,) * 22),
    "one better by .05": (0.65, *(0.6,) * 23),
    "ladder, steps of .01": tuple(0.7 - 0.01 * step for step in range(24)),
    "half worse by .10": (*(0.6,) * 12, *(0.5,) * 12),
    "one better by .02, half worse by .10": (0.62, *(0.6,) * 11, *(0.5,) * 12),
}
