"""The tie set: configurations that are statistically indistinguishable from the best."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from workbench.metrics.coverage import Floats, Ints
from workbench.statistics.pairs import Pairs
from workbench.statistics.resampling.sign_flips import TIE

# One-sided. Two equal configurations would each be left out in this share of cases, and the other one called the winner.
LEVEL = 0.025
# The share of it that is spent on finding rivals that are far behind.
_SPENT = LEVEL / 20


@dataclass(frozen=True, slots=True, eq=False)
class BestSetTest:
    """A test of "no other is better" for each of c configurations, by the largest `lead` (c) of its rivals in U.

    `columns` (c, c - 1) are the pairs with each other configuration, `signs` (c, c - 1) turn them into the rival's lead, `slack`
    (c, c - 1) is how far a rival is surely behind (0 or less).
    """

    columns: Ints
    signs: Floats
    slack: Floats
    lead: Floats

    @classmethod
    def of(cls, pairs: Pairs, observed: Floats) -> "BestSetTest":
        """The test for the observed U (p) of all pairs.

        The test of "no other is better than i" compares the largest lead with its distribution under flips. Rivals that are far behind
        i only make it blunt: one whose lead is below -q, q the normal quantile at 1 - spent / (c - 1), is surely behind, and its flips
        count less by lead + q (two steps: Romano, Shaikh and Wolf 2014; confidence sets of the best: Mogstad et al. 2024, Hsu 1984).
        """
        count = int(pairs.b.max(initial=0)) + 1
        position = np.zeros((count, count), dtype=np.int64)
        position[pairs.a, pairs.b] = position[pairs.b, pairs.a] = np.arange(len(observed))
        others = ~np.eye(count, dtype=np.bool_)
        columns = position[others].reshape(count, count - 1)
        signs = np.where(np.tri(count, k=-1) > 0, 1.0, -1.0)[others].reshape(count, count - 1)
        leads = signs * observed[columns]
        q = stats.norm.isf(_SPENT / max(1, count - 1))
        return cls(columns, signs, np.minimum(0.0, leads + q), leads.max(axis=1, initial=-np.inf))

    def reached(self, flipped: Floats) -> Ints:
        """(c) in how many of the flips (b, p) the largest lead is at least the observed one."""
        counts = np.zeros(len(self.columns), dtype=np.int64)
        for place, (columns, signs, slack) in enumerate(zip(self.columns, self.signs, self.slack, strict=True)):
            leads = flipped[:, columns] * signs + slack
            counts[place] = (leads.max(axis=1, initial=-np.inf) >= self.lead[place] - TIE).sum()
        return counts


def unrejected(unbeaten: Floats, pairs: Pairs, p: Floats) -> Ints:
    """The positions of the configurations (c) in the tie set, which contains the true best with 97.5 % confidence.

    A configuration is left out if its p of "no other is better" (`unbeaten`) rejects it and the paired t tests agree: `p` (p) of some
    pair, two-sided at 5 %, finds another one better. Where a few large documents decide, the tests disagree and nothing is claimed.
    """
    worse = np.where(pairs.mean < 0, pairs.a, pairs.b)[p <= 2 * LEVEL]
    behind = np.isin(np.arange(len(unbeaten)), worse)
    return np.flatnonzero((unbeaten > LEVEL - _SPENT) | ~behind).astype(np.int64)
