"""Randomisation tests of many pairs at once: each alone, a family corrected by max-T, and what the best of all could be."""

from dataclasses import dataclass

import numpy as np

from workbench.metrics.coverage import Bools, Floats, Ints
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
    """Flips the signs of whole units, the same flips for all pairs, and counts what reaches the values seen.

    A pair's p is (b + 1) / (B + 1) for b of B random flips with |Σ ± S| >= |Σ S|; exact where at most 16 of its units are non-zero.
    Corrected by max-T (Westfall and Young 1993, step-down, algorithm 4.1): U of the pairs in `family` (p) in falling order, each against
    the maximum of its own and all smaller ones. `BestSetTest` says what "no other is better" is tested by.
    """
    live = (pairs.sums != 0).any(axis=0)
    totals, units = Totals.of(pairs.a, pairs.b, pairs.sums[:, live]), int(live.sum())
    seen = totals.under(np.ones((1, units)))[0]
    rivals = BestSetTest.of(pairs, seen)
    exact = units <= MOST_EXACT
    counted = _Counts.of(seen, np.flatnonzero(family), rivals)
    for signs in exact_blocks(units) if exact else sign_blocks(units, flips, seed):
        counted.add(totals.under(signs))
    alone, stepped, unbeaten = counted.shares(0 if exact else 1)
    few = np.flatnonzero((pairs.sums != 0).sum(axis=1) <= MOST_EXACT)
    alone[few] = [exact_p(pairs.sums[pair]) for pair in few]
    adjusted = np.full(len(seen), np.nan)
    # Step-down: no hypothesis is rejected before those with a larger U. And no corrected p is below the plain one.
    adjusted[counted.order] = np.maximum(np.maximum.accumulate(stepped), alone[counted.order])
    return Randomised(alone, adjusted, unbeaten)


@dataclass(slots=True, eq=False)
class _Counts:
    """How many flips reach each value seen; `order` are the family's pairs by falling |U|."""

    seen: Floats
    order: Ints
    rivals: BestSetTest
    alone: Ints
    stepped: Ints
    unbeaten: Ints
    flips: int = 0

    @classmethod
    def of(cls, seen: Floats, family: Ints, rivals: BestSetTest) -> "_Counts":
        order = family[np.argsort(-np.abs(seen[family]), kind="stable")]
        alone, stepped, unbeaten = (np.zeros(size, dtype=np.int64) for size in (len(seen), len(order), rivals.count))
        return cls(seen, order, rivals, alone, stepped, unbeaten)

    def add(self, flipped: Floats) -> None:
        """Counts a block (b, p) of flipped U."""
        self.flips += len(flipped)
        self.unbeaten += self.rivals.reached(flipped)
        far = np.abs(flipped)
        self.alone += (far >= np.abs(self.seen) - TIE).sum(axis=0)
        highest = np.maximum.accumulate(far[:, self.order[::-1]], axis=1)[:, ::-1]
        self.stepped += (highest >= np.abs(self.seen[self.order]) - TIE).sum(axis=0)

    def shares(self, extra: int) -> tuple[Floats, Floats, Floats]:
        """The counts as p values, the values seen counted `extra` times."""
        whole = self.flips + extra
        return (self.alone + extra) / whole, (self.stepped + extra) / whole, (self.unbeaten + extra) / whole
