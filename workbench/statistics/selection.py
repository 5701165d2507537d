"""Estimate of the leader's score, corrected for the winner's curse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.metrics.coverage import Floats, Ints
from workbench.statistics.intervals import by_unit

_SPLITS = 200


@dataclass(frozen=True, slots=True)
class CorrectedLeader:
    """The leader's corrected `value`, and the `optimism` of the plain mean, in the metric's direction of better.

    `chosen` is the share of halves on which each configuration is first. Ties share it.
    """

    value: float
    optimism: float
    chosen: Mapping[str, float]


def corrected_first(values: Floats, codes: Ints, names: Sequence[str], seed: int) -> CorrectedLeader | None:
    """Choose the leader on a random half of the units, measure it on the other half and vice versa, and average over 200 splits.

    `values` (c, q; higher is better, NaN if unscored) of configurations `names` (c), `codes` (q) are the units. None with fewer than
    two. This is cross-validation (Stone 1974). Half the questions choose slightly worse than all, so the value is biased downwards.
    """
    count = int(codes.max(initial=-1)) + 1
    if count < 2:
        return None
    scored = ~np.isnan(values)
    sums, sizes = by_unit(np.where(scored, values, 0.0), codes).T, by_unit(scored.astype(np.float64), codes).T
    order = np.random.default_rng(seed).random((_SPLITS, count)).argsort(axis=1)
    half = (order < count // 2).astype(np.float64)
    first, second = _firsts(half, sums, sizes), _firsts(1 - half, sums, sizes)
    total = (first * ((1 - half) @ sums) + second * (half @ sums)).sum(axis=1)
    weight = (first * ((1 - half) @ sizes) + second * (half @ sizes)).sum(axis=1)
    if not weight.all():
        return None
    value = float((total / weight).mean())
    naive = float((sums.sum(axis=0) / np.maximum(sizes.sum(axis=0), 1))[sizes.any(axis=0)].max())
    return CorrectedLeader(value, naive - value, dict(zip(names, ((first + second) / 2).mean(axis=0).tolist(), strict=True)))


def _firsts(members: Floats, sums: Floats, sizes: Floats) -> Floats:
    """1 for the configuration with the highest mean over the `members` (splits, units), divided among ties. Shape (splits, c)."""
    counts = members @ sizes
    means = np.divide(members @ sums, counts, out=np.full(counts.shape, -np.inf), where=counts > 0)
    first = (means >= means.max(axis=1, keepdims=True) - 1e-12) & np.isfinite(means)
    return np.asarray(first / np.maximum(first.sum(axis=1, keepdims=True), 1))
