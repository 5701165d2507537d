"""Estimate of the leader's score, corrected for the winner's curse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.metrics.coverage import Floats, Ints
from workbench.statistics.intervals import by_unit

_SPLITS = 200


@dataclass(frozen=True, slots=True)
class Selected:
    """The leader's corrected `value`; `optimism` is how far the plain mean is above it, in the metric's direction of better.

    `chosen` is the share of halves on which each configuration came first; ties share it.
    """

    value: float
    optimism: float
    chosen: Mapping[str, float]


def corrected_first(values: Floats, codes: Ints, names: Sequence[str], seed: int) -> Selected | None:
    """The leader of one random half of the units, measured on the other half and the reverse; the mean over 200 splits.

    `values` (c, q; higher is better, NaN where unscored) of configurations by `names` (c), `codes` (q) the units; None with fewer than
    two. This is cross-validation (Stone 1974); half the questions choose a little worse than all, so the value errs downwards.
    """
    count = int(codes.max(initial=-1)) + 1
    if count < 2:
        return None
    scored = ~np.isnan(values)
    sums, sizes = by_unit(np.where(scored, values, 0.0), codes).T, by_unit(scored.astype(np.float64), codes).T
    order = np.random.default_rng(seed).random((_SPLITS, count)).argsort(axis=1)
    half = (order < count // 2).astype(np.float64)
    picked, other = _firsts(half, sums, sizes), _firsts(1 - half, sums, sizes)
    total = (picked * ((1 - half) @ sums) + other * (half @ sums)).sum(axis=1)
    weight = (picked * ((1 - half) @ sizes) + other * (half @ sizes)).sum(axis=1)
    if not weight.all():
        return None
    value = float((total / weight).mean())
    naive = float((sums.sum(axis=0) / np.maximum(sizes.sum(axis=0), 1))[sizes.any(axis=0)].max())
    return Selected(value, naive - value, dict(zip(names, ((picked + other) / 2).mean(axis=0).tolist(), strict=True)))


def _firsts(members: Floats, sums: Floats, sizes: Floats) -> Floats:
    """(splits, c) 1 for the configuration with the highest mean over the `members` (splits, units), divided where several have it."""
    counts = members @ sizes
    means = np.divide(members @ sums, counts, out=np.full(counts.shape, -np.inf), where=counts > 0)
    first = (means >= means.max(axis=1, keepdims=True) - 1e-12) & np.isfinite(means)
    return np.asarray(first / np.maximum(first.sum(axis=1, keepdims=True), 1))
