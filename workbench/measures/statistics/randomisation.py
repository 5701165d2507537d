"""Randomisation tests of many pairs at once: single pairs, a family corrected by max-T, and the tie set."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from workbench.core.batching import blocks
from workbench.measures.metrics.coverage import Bools, Floats, Ints, ratio
from workbench.measures.statistics.intervals import ALPHA
from workbench.measures.statistics.pairs import Pairs

FLIPS = 9_999
MOST_EXACT = 16
# Sums that differ by less are tied, so that the order of addition does not matter.
TIE = 1e-9
_BLOCK = 256
# The largest error of S_0b - S_0a as S_ab, and the smallest S_ab relative to the largest. Their combined effect is far below TIE.
_OFF, _NEAR = 1e-12, 1e-3
# The part of the level that is spent on finding rivals that are far behind.
_SPENT = ALPHA / 20
# With fewer effective documents, and less than half of the documents, a few large ones make flips too coarse for the level of intervals.
_FEWEST_EFFECTIVE = 15


def sign_blocks(units: int, flips: int, seed: int) -> Iterator[Floats]:
    """Blocks (b, units) of -1 and 1, a column for each cluster, with `flips` random rows in total, independent of the values to be flipped."""
    random = np.random.default_rng(seed)
    for block in blocks(flips, _BLOCK):
        yield random.integers(0, 2, size=(block.stop - block.start, units)).astype(np.float64) * 2 - 1


def exact_blocks(units: int) -> Iterator[Floats]:
    """Blocks (b, units) that contain each of the 2^units rows of -1 and 1 once."""
    for block in blocks(2**units, _BLOCK):
        numbers = np.arange(block.start, block.stop)
        yield (numbers[:, None] >> np.arange(units) & 1).astype(np.float64) * 2 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """U = Σ S / √(Σ S²) of p pairs from their sums S (p, units), one for each cluster. Sign flips do not change the root, `norm` (p).

    U is a monotone function of the one-sample t statistic of the G sums, t = U √((G - 1) / (G - U²)). If configurations have values
    for the same queries, S_ab = S_0b - S_0a, so the flips of the c rows S_0b (`basis`: c, units) give those of all pairs a - b. Pairs for
    which this does not hold, or whose difference is so small that it would lose digits, are multiplied out: `apart`, with their `rows`.
    """

    a: Ints
    b: Ints
    norm: Floats
    basis: Floats
    apart: Ints
    rows: Floats

    @classmethod
    def of(cls, a: Ints, b: Ints, sums: Floats) -> "Totals":
        """Compute the totals of all pairs of configurations, with a < b."""
        norm = np.sqrt((sums**2).sum(axis=1))
        basis = np.zeros((int(b.max(initial=-1)) + 1, sums.shape[1]))
        basis[b[a == 0]] = sums[a == 0]
        off = np.array([np.abs(basis[j] - basis[i] - row).max(initial=0) for i, j, row in zip(a, b, sums, strict=True)])
        apart = np.flatnonzero((off > _OFF * norm) | (norm < _NEAR * norm.max(initial=0)))
        return cls(a, b, norm, basis, apart, sums[apart])

    def under(self, signs: Floats) -> Floats:
        """Compute U under flips (b, units). Shape (b, p), 0 for a pair without differences."""
        flipped = signs @ self.basis.T
        totals = flipped[:, self.b] - flipped[:, self.a]
        totals[:, self.apart] = signs @ self.rows.T
        return ratio(totals, self.norm)


def exact_p(sums: Floats) -> float:
    """The share of all 2^m sign flips of non-zero sums (m) with a total at least as far from 0 as the observed one."""
    totals = np.zeros(1)
    for value in sums[sums != 0]:
        totals = np.concatenate([totals - value, totals + value])
    reached = np.abs(totals) >= abs(sums.sum()) - TIE * np.abs(sums).max(initial=0)
    return float(reached.mean())


@dataclass(frozen=True, slots=True, eq=False)
class BestSetTest:
    """A test of "no other is better" for each of c configurations, by the largest `lead` (c) of its rivals in U.

    `columns` (c, c - 1) are the pairs with each other configuration, `signs` (c, c - 1) convert them to the rival's lead, `slack`
    (c, c - 1) is the distance by which a rival is certainly behind (0 or less). `order` (c) is by descending lead. Without all pairs of the
    configurations nothing is tested, and c is 0.
    """

    columns: Ints
    signs: Floats
    slack: Floats
    lead: Floats
    order: Ints

    @classmethod
    def of(cls, pairs: Pairs, observed: Floats) -> "BestSetTest":
        """The test for the observed U (p) of all pairs.

        The test of "no other is better than i" compares the largest lead with its distribution under flips. Rivals far behind
        i only reduce its power: one with a lead below -q, q the normal quantile at 1 - spent / (c - 1), is certainly behind, and its flips
        are shifted by lead + q (two steps: Romano, Shaikh and Wolf 2014; confidence sets of the best: Mogstad et al. 2024, Hsu 1984).
        """
        count = int(pairs.b.max(initial=0)) + 1
        if len(observed) < count * (count - 1) // 2:
            count = 0  # not all pairs, as those of a single position with all others
        position = np.zeros((count, count), dtype=np.int64)
        if count:
            position[pairs.a, pairs.b] = position[pairs.b, pairs.a] = np.arange(len(observed))
        others, rivals = ~np.eye(count, dtype=np.bool_), max(0, count - 1)
        columns = position[others].reshape(count, rivals)
        signs = np.where(np.tri(count, k=-1) > 0, 1.0, -1.0)[others].reshape(count, rivals)
        leads = signs * observed[columns]
        q = -scipy.special.ndtri(_SPENT / max(1, count - 1))
        lead = leads.max(axis=1, initial=-np.inf)
        return cls(columns, signs, np.minimum(0.0, leads + q), lead, np.argsort(-lead, kind="stable"))

    def largest(self, flipped: Floats) -> Floats:
        """The largest lead of a rival over each configuration, in `order`, under flips (b, p). Shape (b, c)."""
        places = zip(self.columns[self.order], self.signs[self.order], self.slack[self.order], strict=True)
        leads = [(flipped[:, columns] * signs + slack).max(axis=1, initial=-np.inf) for columns, signs, slack in places]
        return np.stack(leads, axis=1) if leads else np.zeros((len(flipped), 0))


def unrejected(tests: "Randomised", pairs: Pairs, level: float = ALPHA) -> Ints:
    """Find the positions of the tie set, which contains every true best with the confidence 1 - `level`. Shape (c,).

    A configuration is left out if its p of "no other is better" rejects it and the paired t tests agree: the cautious p of a pair, or that
    of the randomisation for constant differences, finds another one better at 5 %. If a few large documents decide, the tests disagree
    and it stays in the set.
    """
    p = np.where(np.isnan(pairs.cautious_p) & ~pairs.untested, tests.alone, pairs.cautious_p)
    behind = np.isin(np.arange(len(tests.unbeaten)), np.where(pairs.mean < 0, pairs.a, pairs.b)[p <= ALPHA])
    return np.flatnonzero((tests.unbeaten > level - _SPENT) | ~behind).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Randomised:
    """p values: of each pair alone (p), corrected for the family (p; NaN outside it), of "no other is better" (c).

    `level`: at this level for each, the intervals of all pairs of the family hold at once with 95 % confidence.
    """

    alone: Floats
    adjusted: Floats
    unbeaten: Floats
    level: float


def randomise(pairs: Pairs, family: Bools, seed: int, flips: int = FLIPS) -> Randomised:
    """Count how often sign flips of whole clusters, the same for all pairs, reach the observed values.

    A pair's p is (b + 1) / (B + 1) for b of B random flips with |Σ ± S| >= |Σ S|, or exact if at most 16 of its clusters are non-zero.
    Corrected by max-T (Westfall and Young 1993, step-down, algorithm 4.1): U of the pairs in `family` (p) in descending order, each against
    the maximum of itself and all smaller ones. `BestSetTest` tests "no other is better" in the same steps, so that what is left out no
    longer counts against the rest. Both use the observed U of a t reduced by `Pairs.damping`.
    """
    live = (pairs.sums != 0).any(axis=0)
    totals, units = Totals.of(pairs.a, pairs.b, pairs.sums[:, live]), int(live.sum())
    # Intervals are about the differences that there are: their flips are those of what remains without the means.
    centred = Totals.of(pairs.a, pairs.b, pairs.residuals[:, live])
    plain = totals.under(np.ones((1, units)))[0]
    # U of the t statistics times the damping. U has the sign of t and grows with it up to √G, t = U √((G - 1) / (G - U²)), for the G flipped units,
    # which can be more than the distinct documents.
    clusters = max(pairs.sums.shape[1], 2)
    t = pairs.damping * plain * np.sqrt((clusters - 1) / np.maximum(clusters - plain**2, TIE))
    observed = np.where(pairs.damping < 1, t * np.sqrt(clusters / (clusters - 1 + t**2)), plain)
    # The family by descending |U|.
    order = np.flatnonzero(family)[np.argsort(-np.abs(observed[family]), kind="stable")]
    best = BestSetTest.of(pairs, observed)
    exact = units <= MOST_EXACT
    # The count for each observed value. Random flips count the observed signs as one more.
    count = 0 if exact else 1
    alone, stepped, unbeaten = (np.full(size, count) for size in (len(observed), len(order), len(best.order)))
    maxima = []
    for signs in exact_blocks(units) if exact else sign_blocks(units, flips, seed):
        flipped = totals.under(signs)
        far, highest = np.abs(flipped), _from_last(np.abs(flipped[:, order]))
        count += len(flipped)
        alone += (far >= np.abs(plain) - TIE).sum(axis=0)
        stepped += (highest >= np.abs(observed[order]) - TIE).sum(axis=0)
        unbeaten += (_from_last(best.largest(flipped)) >= best.lead[best.order] - TIE).sum(axis=0)
        maxima.append(np.abs(centred.under(signs)[:, order]).max(axis=1, initial=0.0))
    p = alone / count
    few = np.flatnonzero((pairs.sums != 0).sum(axis=1) <= MOST_EXACT)
    p[few] = [exact_p(pairs.sums[pair]) for pair in few]
    adjusted, unrivalled = np.full(len(observed), np.nan), np.ones(len(best.order))
    # Step-down: no hypothesis is rejected before those with a larger U, and no corrected p is below the plain one.
    adjusted[order] = np.maximum(np.maximum.accumulate(stepped / count), p[order])
    unrivalled[best.order] = np.maximum.accumulate(unbeaten / count)
    dominated = bool((pairs.effective < np.minimum(_FEWEST_EFFECTIVE, pairs.clusters / 2))[family].any())
    level = ALPHA / max(1, len(order)) if dominated else _level(np.concatenate(maxima), units, len(order))
    return Randomised(p, adjusted, unrivalled, level)


def _from_last(values: Floats) -> Floats:
    """The maximum of each column and all later ones, for each row."""
    return np.maximum.accumulate(values[:, ::-1], axis=1)[:, ::-1]


def _level(maxima: Floats, units: int, pairs: int) -> float:
    """The level of a t test with `units` - 1 degrees of freedom that the largest U of a family exceeds in 5 % of flips, at least Bonferroni's."""
    if not pairs or units < 2:
        return ALPHA
    u = float(np.quantile(maxima, 1 - ALPHA, method="higher"))
    t = u * np.sqrt((units - 1) / max(units - u**2, TIE))
    return float(np.clip(2 * scipy.special.stdtr(units - 1, -t), ALPHA / pairs, ALPHA))
