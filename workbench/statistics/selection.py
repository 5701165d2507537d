"""Estimate of the leader's score, corrected for the winner's curse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.metrics.coverage import Floats
from workbench.statistics.clusters import Clusters
from workbench.statistics.intervals import by_unit, mean_intervals, robust

_SPLITS = 200


@dataclass(frozen=True, slots=True)
class CorrectedLeader:
    """The leader's corrected `value` with a 95 % interval, and the `optimism` of the plain mean, in the metric's direction of better.

    `chosen` is the share of halves on which each configuration is first. Ties share it.
    """

    value: float
    low: float
    high: float
    optimism: float
    chosen: Mapping[str, float]


def corrected_first(values: Floats, clusters: Clusters, names: Sequence[str], seed: int, sign: float = 1.0) -> CorrectedLeader | None:
    """Choose the leader on a random half of the clusters, measure it on the other half and vice versa, and average over 200 splits.

    `values` (c, q; higher is better, NaN if unscored) of configurations `names` (c), for queries in `clusters` (q). None with fewer than
    two clusters. `sign` is -1 if the values are negated; it turns the result back. This is cross-validation (Stone 1974). Half the
    questions choose slightly worse than all, so the value is biased downwards. Halves that share documents have a part of their luck in
    common, so their optimism is multiplied by `_underestimated`. The interval is the leader's own with its lower end
    moved by the optimism: the choice of the highest mean can only flatter.
    """
    values, clusters = clusters.averaged(values)
    codes, count = clusters.codes, int(clusters.codes.max(initial=-1)) + 1
    if count < 2:
        return None
    scored = ~np.isnan(values)
    sums, sizes = by_unit(np.where(scored, values, 0.0), codes).T, by_unit(scored.astype(np.float64), codes).T
    order = np.random.default_rng(seed).random((_SPLITS, count)).argsort(axis=1)
    half = (order < count // 2).astype(np.float64)
    firsts, seconds = _firsts(half, sums, sizes), _firsts(1 - half, sums, sizes)
    total = (firsts * ((1 - half) @ sums) + seconds * (half @ sums)).sum(axis=1)
    weight = (firsts * ((1 - half) @ sizes) + seconds * (half @ sizes)).sum(axis=1)
    if not weight.all():
        return None
    means = np.where(sizes.any(axis=0), sums.sum(axis=0) / np.maximum(sizes.sum(axis=0), 1), -np.inf)
    first = int(means.argmax())
    optimism = _underestimated(values, clusters) * (float(means.max()) - float((total / weight).mean()))
    value = float(means.max()) - optimism
    low, high = _bounds(sign * values[first], clusters, sign * max(0.0, optimism))
    chosen = dict(zip(names, ((firsts + seconds) / 2).mean(axis=0).tolist(), strict=True))
    return CorrectedLeader(sign * value, min(low, sign * value), max(high, sign * value), optimism, chosen)


def _bounds(values: Floats, clusters: Clusters, optimism: float) -> tuple[float, float]:
    """The interval of the leader's values (q, NaN if unscored), with the end that flatters moved by the `optimism` (negative if lower is better)."""
    scored = ~np.isnan(values)
    bounded = bool(((values[scored] >= 0) & (values[scored] <= 1)).all())
    own = mean_intervals(values[scored][None], clusters[scored], proportion=np.array([bounded]))[0]
    ends = own.low - max(0.0, optimism), own.high - min(0.0, optimism)
    low, high = np.clip(ends, 0, 1).tolist() if bounded else ends
    return low, high


def _underestimated(values: Floats, clusters: Clusters) -> float:
    """The factor by which halves that share documents show too little optimism, 1 if none do.

    Let a mean's error, apart from what all configurations have in common, have the variance p + s, s from shared documents. All questions
    choose with luck of √(p + s). A half has the variance 2p + s and s in common with the other half, where s / √(2p + s) of its luck remains.
    """
    means = robust(values - np.nanmean(values, axis=0), clusters)
    known = means.alone > 0
    shared = max(0.0, float(((means.error[known] / means.alone[known]) ** 2).mean()) - 1) if known.any() else 0.0
    return float(np.sqrt(1 + shared) / (np.sqrt(1 + shared) - shared / np.sqrt(2 + shared)))


def _firsts(members: Floats, sums: Floats, sizes: Floats) -> Floats:
    """1 for the configuration with the highest mean over the `members` (splits, clusters), divided among ties. Shape (splits, c)."""
    counts = members @ sizes
    means = np.divide(members @ sums, counts, out=np.full(counts.shape, -np.inf), where=counts > 0)
    first = (means >= means.max(axis=1, keepdims=True) - 1e-12) & np.isfinite(means)
    return np.asarray(first / np.maximum(first.sum(axis=1, keepdims=True), 1))
