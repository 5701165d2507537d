"""Scatter of differences by document: the lower bound of their mean, and the number of questions that would bring it near enough."""

import math
from dataclasses import dataclass

import numpy as np
import scipy

from workbench.metrics.coverage import Floats
from workbench.statistics.clusters import Clusters
from workbench.statistics.intervals import by_unit, robust, t_quantile
from workbench.statistics.power import POWER

# More questions than anyone labels: the search for the number that would decide ends here.
_MOST_NEEDED = 10_000_000


@dataclass(frozen=True, slots=True)
class Scatter:
    """Scatter of differences around their mean by document, from which lower bounds are made.

    `residuals` (G) are the documents' sums minus those expected from the mean, `share` (G) their shares of the `n` questions. `error` is NaN if nothing
    varies.
    """

    mean: float
    error: float
    freedom: float
    n: float
    residuals: Floats
    share: Floats

    @classmethod
    def of(cls, row: Floats, clusters: Clusters) -> "Scatter":
        """Measure a row of differences (1, q; NaN if unscored)."""
        means = robust(row, clusters)
        sizes = by_unit((~np.isnan(row)).astype(np.float64), clusters.codes)[0]
        n = max(1.0, float(sizes.sum()))
        return cls(float(means.mean[0]), float(means.error[0]), float(means.freedom[0]), n, means.residuals[0], sizes / n)

    @property
    def varies(self) -> bool:
        """True if the mean has a standard error."""
        return math.isfinite(self.error)

    def lower(self, level: float) -> float:
        """Return the lower bound of the mean at a one-sided level."""
        return self.mean - self._reach(self._quantile(level), 1.0)

    def _quantile(self, level: float) -> float:
        return float(t_quantile(np.array([self.freedom]), 2 * level)[0])

    def _reach(self, quantile: float, times: float) -> float:
        """Return how far the lower bound is below the mean, on `times` as many questions and documents of this scatter.

        The larger of two distances. One is t · SE. The other solves d = t · SE(d), where SE(d) is the standard error of differences whose mean is
        known to be lower by d, as in the score interval of Wilson (1927): with few losses in few documents the first one is too small. t is corrected
        for skew towards losses.
        """
        quantile = self._corrected_for_skew(quantile, times)
        # SE(d)² = Σ (e + d w)² = E + 2 d C + d² W, with the residuals e and shares w of the documents.
        residuals = self.residuals / self.n
        squares, cross, weight = (float(part) / times for part in (residuals @ residuals, residuals @ self.share, self.share @ self.share))
        left = 1 - quantile**2 * weight
        if left <= 0:
            return math.inf
        middle = quantile**2 * cross
        score = (middle + math.sqrt(max(0.0, middle**2 + left * quantile**2 * squares))) / left
        return max(quantile * self.error / math.sqrt(times), score)

    def needed(self, n: int, left: float, level: float) -> int:
        """Return how many questions have a lower bound at `level` within `left` of the true mean, with 80 % power. `n` is their number now."""
        power, quantile = float(scipy.special.ndtri(POWER)), self._quantile(level)
        least, most = 1, _MOST_NEEDED if self.varies else 1
        while least < most:
            middle = (least + most) // 2
            enough = self._reach(quantile, middle / n) + power * self.error * math.sqrt(n / middle) <= left
            least, most = (least, middle) if enough else (middle + 1, most)
        return least

    def _corrected_for_skew(self, quantile: float, times: float) -> float:
        """Raise a quantile if the sums of the documents are skewed towards losses, of which a sample shows too few.

        t = q + A (1 + 2 q²) / 6 with A = -γ / √G (Johnson 1978), the inverse of `pairs.without_skew`.
        """
        skew = -float((self.residuals**3).sum()) / float((self.residuals**2).sum()) ** 1.5
        return float(quantile + max(0.0, skew) / math.sqrt(times) * (1 + 2 * quantile**2) / 6)
