"""Sums of differences under sign flips of whole units, as if either configuration could have had either result."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from workbench.core.batching import blocks
from workbench.metrics.coverage import Floats, Ints, ratio

FLIPS = 9_999
MOST_EXACT = 16
# Sums that differ by less are tied, whatever the order in which they were added.
TIE = 1e-9
_BLOCK = 256
# How far S_0b - S_0a may be off S_ab, and how small S_ab may be beside the largest: together far below TIE.
_OFF, _NEAR = 1e-12, 1e-3


def sign_blocks(units: int, flips: int, seed: int) -> Iterator[Floats]:
    """Blocks (b, units) of -1 and 1: `flips` random rows in all; independent of the values that are multiplied with them."""
    random = np.random.default_rng(seed)
    for block in blocks(flips, _BLOCK):
        yield random.integers(0, 2, size=(block.stop - block.start, units)).astype(np.float64) * 2 - 1


def exact_blocks(units: int) -> Iterator[Floats]:
    """Blocks (b, units) that hold every one of the 2^units rows of -1 and 1 once."""
    for block in blocks(2**units, _BLOCK):
        numbers = np.arange(block.start, block.stop)
        yield (numbers[:, None] >> np.arange(units) & 1).astype(np.float64) * 2 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """U = Σ S / √(Σ S²) of p pairs from their sums S (p, units): no flip of signs changes the root, the `norm` (p).

    U is a monotone function of the one-sample t statistic of the G sums, t = U √((G - 1) / (G - U²)). Where configurations have values
    for the same queries S_ab = S_0b - S_0a, so the flips of the c rows S_0b (`basis`: c, units) give those of all pairs a - b. Pairs for
    which that is not so, or whose difference is so small that it would lose digits, are multiplied out: `apart`, with their `rows`.
    """

    a: Ints
    b: Ints
    norm: Floats
    basis: Floats
    apart: Ints
    rows: Floats

    @classmethod
    def of(cls, a: Ints, b: Ints, sums: Floats) -> "Totals":
        """The totals of all pairs of configurations, every a before its b."""
        norm = np.sqrt((sums**2).sum(axis=1))
        basis = np.zeros((int(b.max(initial=-1)) + 1, sums.shape[1]))
        basis[b[a == 0]] = sums[a == 0]
        off = np.array([np.abs(basis[j] - basis[i] - row).max(initial=0) for i, j, row in zip(a, b, sums, strict=True)])
        apart = np.flatnonzero((off > _OFF * norm) | (norm < _NEAR * norm.max(initial=0)))
        return cls(a, b, norm, basis, apart, sums[apart])

    def under(self, signs: Floats) -> Floats:
        """(b, p) U under flips (b, units); 0 for a pair without differences."""
        flipped = signs @ self.basis.T
        totals = flipped[:, self.b] - flipped[:, self.a]
        totals[:, self.apart] = signs @ self.rows.T
        return ratio(totals, self.norm)


def exact_p(sums: Floats) -> float:
    """The share of all 2^m sign flips of m non-zero sums (m) whose total is at least as far from 0 as the observed one."""
    totals = np.zeros(1)
    for value in sums[sums != 0]:
        totals = np.concatenate([totals - value, totals + value])
    reached = np.abs(totals) >= abs(sums.sum()) - TIE * np.abs(sums).max(initial=0)
    return float(reached.mean())
