"""Sign flips of whole units: what sums of differences would be if either configuration could have had either result."""

from collections.abc import Iterator

import numpy as np

from workbench.metrics.coverage import Floats

FLIPS = 9_999
MOST_EXACT = 16
# Sums that differ by less are tied, whatever the order in which they were added.
TIE = 1e-9
_BLOCK = 256


def sign_blocks(units: int, flips: int, seed: int) -> Iterator[Floats]:
    """Blocks (b, units) of -1 and 1: `flips` random rows in all; the blocks do not depend on what is multiplied with them."""
    random = np.random.default_rng(seed)
    for start in range(0, flips, _BLOCK):
        size = min(_BLOCK, flips - start)
        yield random.integers(0, 2, size=(size, units)).astype(np.float64) * 2 - 1


def exact_blocks(units: int) -> Iterator[Floats]:
    """Blocks (b, units) that hold every one of the 2^units rows of -1 and 1 once."""
    for start in range(0, 2**units, _BLOCK):
        numbers = np.arange(start, min(start + _BLOCK, 2**units))
        yield (numbers[:, None] >> np.arange(units) & 1).astype(np.float64) * 2 - 1


def standardised(sums: Floats) -> Floats:
    """Sums (p, units) over the root of their squares' sum, which no flip changes; rows of zeros stay zeros.

    Added up they are U = Σ S / √(Σ S²), a monotone function of the one-sample t statistic of the G sums, t = U √((G - 1) / (G - U²)).
    """
    norm = np.sqrt((sums**2).sum(axis=1, keepdims=True))
    found: Floats = np.divide(sums, norm, out=np.zeros_like(sums), where=norm > 0)
    return found


def exact_p(sums: Floats) -> float:
    """The share of all 2^m sign flips of m non-zero sums (m) whose total is at least as far from 0 as the one seen."""
    totals = np.zeros(1)
    for value in sums[sums != 0]:
        totals = np.concatenate([totals - value, totals + value])
    reached = np.abs(totals) >= abs(sums.sum()) - TIE * np.abs(sums).max(initial=0)
    return float(reached.mean())
