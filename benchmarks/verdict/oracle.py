"""The decisions of an oracle that knows the true covariance of the means, and so the exact critical values."""

from dataclasses import dataclass

import numpy as np

from benchmarks.verdict.worlds import Floats, World

_DRAWS = 40_000
# A rival whose true mean is this many standard errors behind is known to be behind.
_FAR = 4.0


@dataclass(frozen=True, eq=False)
class Oracle:
    """The best set by true standard errors `errors` (c, c) and each configuration's exact critical value (c).

    `rivals` (c, c) are those that count in i's test: all others, or those not known to be far behind i.
    """

    errors: Floats
    rivals: np.ndarray
    critical: Floats
    against: float

    @classmethod
    def of(cls, world: World, covariance: Floats, level: float, random: np.random.Generator, *, knowing: bool = False) -> "Oracle":
        """An oracle at one-sided `level`; `knowing` adds the knowledge of which rivals are far behind."""
        means, variance = np.array(world.means), np.diag(covariance)
        errors = np.sqrt(variance[:, None] + variance[None] - 2 * covariance) + np.eye(len(means))
        rivals = ~np.eye(len(means), dtype=bool)
        if knowing:
            rivals &= (means[None] - means[:, None]) / errors > -_FAR
        draws = random.multivariate_normal(np.zeros(len(means)), covariance, _DRAWS, method="cholesky")
        critical = np.full(len(means), np.inf)
        for index in np.flatnonzero(rivals.any(axis=1)):
            leads = ((draws - draws[:, [index]]) / errors[index])[:, rivals[index]]
            critical[index] = np.quantile(leads.max(axis=1), 1 - level)
        two_sided = np.abs((draws[:, 1:] - draws[:, [0]]) / errors[0, 1:]).max(axis=1)
        return cls(errors, rivals, critical, float(np.quantile(two_sided, 0.95)))

    def best(self, means: Floats) -> np.ndarray:
        """(c) which configurations are not rejected as the best, given the means (c) seen."""
        leads = np.where(self.rivals, (means[None] - means[:, None]) / self.errors, -np.inf).max(axis=1)
        within: np.ndarray = leads <= self.critical
        return within

    def differs(self, means: Floats, index: int) -> bool:
        """Whether configuration `index` differs from configuration 0 in the family of all against 0, two-sided at 5 %."""
        return bool(abs(means[index] - means[0]) / self.errors[0, index] > self.against)
