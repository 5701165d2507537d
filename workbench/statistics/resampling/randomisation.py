"""Randomisation tests of many pairs at once: each alone, a family corrected by max-T, and which configuration may be the best."""

from dataclasses import dataclass

import numpy as np

from workbench.metrics.coverage import Bools, Floats
from workbench.statistics.pairs import Pairs
from workbench.statistics.resampling.best_set import BestSetTest
from workbench.statistics.resampling.sign_flips import FLIPS, MOST_EXACT, TIE, Totals, exact_blocks, exact_p, sign_blocks


@dataclass(frozen=True, slots=True, eq=False)
class Randomised:
    """p values: of each pair alone (p), corrected for the family (p; NaN outside it), of "no other is better" (c)."""

    alone: Floats
    adjusted: Floats
    unbeaten: Floats


def randomise(pairs: Pairs, family: Bools, seed: int, flips: int = FLIPS) -> Randomised:
    """Flip the signs of whole units, the same flips for all pairs, and count how often the observed values are reached.

    A pair's p is (b + 1) / (B + 1) for b of B random flips with |Σ ± S| >= |Σ S|; exact where at most 16 of its units are non-zero.
    Corrected by max-T (Westfall and Young 1993, step-down, algorithm 4.1): U of the pairs in `family` (p) in falling order, each against
    the maximum of its own and all smaller ones. `BestSetTest` tests "no other is better".
    """
    live = (pairs.sums != 0).any(axis=0)
    totals, units = Totals.of(pairs.a, pairs.b, pairs.sums[:, live]), int(live.sum())
    observed = totals.under(np.ones((1, units)))[0]
    # The family by falling |U|.
    order = np.flatnonzero(family)[np.argsort(-np.abs(observed[family]), kind="stable")]
    best = BestSetTest.of(pairs, observed)
    exact = units <= MOST_EXACT
    # How often each observed value is reached; random flips count the observed signs as one more.
    count = 0 if exact else 1
    alone, stepped, unbeaten = (np.full(size, count) for size in (len(observed), len(order), len(best.columns)))
    for signs in exact_blocks(units) if exact else sign_blocks(units, flips, seed):
        flipped = totals.under(signs)
        far = np.abs(flipped)
        highest = np.maximum.accumulate(far[:, order[::-1]], axis=1)[:, ::-1]
        count += len(flipped)
        alone += (far >= np.abs(observed) - TIE).sum(axis=0)
        stepped += (highest >= np.abs(observed[order]) - TIE).sum(axis=0)
        unbeaten += best.reached(flipped)
    p = alone / count
    few = np.flatnonzero((pairs.sums != 0).sum(axis=1) <= MOST_EXACT)
    p[few] = [exact_p(pairs.sums[pair]) for pair in few]
    adjusted = np.full(len(observed), np.nan)
    # Step-down: no hypothesis is rejected before those with a larger U. And no corrected p is below the plain one.
    adjusted[order] = np.maximum(np.maximum.accumulate(stepped / count), p[order])
    return Randomised(p, adjusted, unbeaten / count)
