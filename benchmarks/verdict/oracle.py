"""The decisions of an oracle that knows the true covariance of the means, and so the exact critical values."""

from dataclasses import dataclass

import numpy as np

from benchmarks.verdict.worlds import Floats, World, covariance
from workbench.measures.metrics.coverage import Bools
from workbench.measures.statistics.intervals import ALPHA

_DRAWS = 10_000
# A rival whose true mean is this many standard errors behind is known to be behind.
_FAR = 4.0


@dataclass(frozen=True, eq=False)
class Oracle:
    """The tests by true standard errors `errors` (c, c), in the steps of the tie set and of the pairs with configuration 0.

    `rivals` (c, c) are those not known to be far behind, `leads` (draws, c) the largest lead of a rival if all means are equal, and
    `against` the critical value of the pairs with configuration 0.
    """

    errors: Floats
    rivals: Bools
    leads: Floats
    against: float

    @classmethod
    def of(cls, world: World, random: np.random.Generator) -> "Oracle":
        """Simulate the critical values."""
        means, known = np.array(world.means), covariance(world, random)
        variance, count = np.diag(known), len(means)
        errors = np.sqrt(np.maximum(variance[:, None] + variance[None] - 2 * known, 0)) + np.eye(count)
        rivals = ((means[None] - means[:, None]) / errors > -_FAR) & ~np.eye(count, dtype=np.bool_)
        draws = random.multivariate_normal(np.zeros(count), known, _DRAWS)
        leads = np.stack([_lead(draws, errors[each], rivals[each], each) for each in range(count)], axis=1)
        two_sided = np.abs((draws[:, 1:] - draws[:, [0]]) / errors[0, 1:]).max(axis=1)
        return cls(errors, rivals, leads, float(np.quantile(two_sided, 1 - ALPHA)))

    def best(self, means: Floats) -> Bools:
        """The tie set (c) for the observed means (c): all true bests, in steps from the largest lead of a rival."""
        each_lead = (_lead(means[None], self.errors[each], self.rivals[each], each)[0] for each in range(len(means)))
        lead = np.fromiter(each_lead, dtype=np.float64)
        left = np.ones(len(means), dtype=np.bool_)
        for each in np.argsort(-lead):
            if np.isneginf(lead[each]) or lead[each] <= np.quantile(self.leads[:, left].max(axis=1), 1 - ALPHA):
                break
            left[each] = False
        return left

    def differs(self, means: Floats, index: int) -> bool:
        """Return True if configuration `index` differs from configuration 0 in the family of all against 0, two-sided at 5 %."""
        return bool(abs(means[index] - means[0]) / self.errors[0, index] > self.against)


def _lead(means: Floats, errors: Floats, rivals: Bools, place: int) -> Floats:
    """The largest lead (draws) of the `rivals` (c) over the configuration at `place`, by means (draws, c) and `errors` (c)."""
    return np.asarray(((means[:, rivals] - means[:, [place]]) / errors[rivals]).max(axis=1, initial=-np.inf))
