"""Kendall's tau between the orders that two sets of questions give the same configurations."""

import numpy as np

from workbench.metrics.coverage import Floats, Ints
from workbench.statistics.clusters import FEWEST_FOR_INTERVAL
from workbench.statistics.intervals import ALPHA, Interval, by_unit

_RESAMPLES = 2_000
# Means that differ by less are equal.
_TIE = 1e-9


def order_agreement(first: tuple[Floats, Ints], second: tuple[Floats, Ints]) -> Interval:
    """Return tau-b (Kendall 1945) of the means of c configurations on two sets of questions, with a percentile interval.

    A set is its values (c, q), without NaN, and the clusters of its questions (q), which are resampled 2,000 times. Fewer than 5 clusters give no interval, and
    equal means everywhere no tau. Random errors of the means lower tau, so a low one can also mean few questions.
    """
    random, sums, resampled = np.random.default_rng(0), [], []
    for values, clusters in (first, second):
        codes = np.unique(clusters, return_inverse=True)[1]
        parts, sizes = by_unit(values, codes).T, np.bincount(codes)
        drawn = random.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=_RESAMPLES)
        sums.append(parts.sum(axis=0)[None] / sizes.sum())
        resampled.append((drawn @ parts) / (drawn @ sizes)[:, None])
    value, n = float(_tau(*sums)[0]), first[0].shape[1] + second[0].shape[1]
    count = min(len(np.unique(clusters)) for _, clusters in (first, second))
    if count < FEWEST_FOR_INTERVAL or np.isnan(value):
        return Interval(value, np.nan, np.nan, n, count)
    low, high = np.nanquantile(_tau(*resampled), [ALPHA / 2, 1 - ALPHA / 2]).tolist()
    return Interval(value, low, high, n, count)


def _tau(first: Floats, second: Floats) -> Floats:
    """Tau-b of rows of means (r, c), NaN where all means of a row are equal. Shape (r,)."""
    gaps = (means[:, :, None] - means[:, None, :] for means in (first, second))
    one, other = (np.where(np.abs(gap) > _TIE, np.sign(gap), 0.0) for gap in gaps)
    norm = np.sqrt((one**2).sum(axis=(1, 2)) * (other**2).sum(axis=(1, 2)))
    return np.asarray(np.divide((one * other).sum(axis=(1, 2)), norm, out=np.full(len(norm), np.nan), where=norm > 0))
