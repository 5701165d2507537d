"""Compare all pairs of configurations on the queries that both have a value for, and find the differences that these queries can show."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import scipy

from workbench.core.batching import blocks, rows
from workbench.measures.metrics.coverage import Bools, Floats, Ints, ratio
from workbench.measures.statistics.clusters import BYTES_A_VALUE, FEWEST_FOR_INTERVAL, Clusters
from workbench.measures.statistics.intervals import ALPHA, Robust, by_unit, robust, t_quantile

# With fewer queries against a difference, total losses on _UNSEEN more queries must not undo it. If none of n queries is lost, up to
# 3 / n of all may be, with 95 % confidence (the rule of three).
_FEW_AGAINST, _UNSEEN = 5, 3
# This many documents that lose half of everything show how often documents lose.
FEWEST_LOSING = 3


@dataclass(frozen=True, slots=True, eq=False)
class Pairs(Robust):
    """Means of the differences a - b of p pairs of configurations at the positions `a` and `b` (p), with a < b.

    `error` and `alone` are NaN also if the pair is `untested`: there are too few documents for a test, or no test may be run on these queries. `sums` are
    all 0 for `identical` pairs. `cautious_p` is `t_p` corrected for skew and for unseen losses, `damping` (p, 0 to 1) the factor by which that reduces
    the t statistic of the clusters. `worst` is the mean after the unseen losses if these would undo the difference, else NaN. `unseen` is the largest
    mean in either direction, without its sign, if questions or documents that were not seen lose everything on one side. `conditional`: shared
    documents limit the comparison to this corpus.
    """

    a: Ints
    b: Ints
    identical: Bools
    cautious_p: Floats
    damping: Floats
    worst: Floats
    unseen: Floats
    untested: Bools

    @property
    def t_p(self) -> Floats:
        """Two-sided p of the clustered paired t test. Shape (p,), 1 for identical pairs, NaN if the difference does not vary."""
        return np.where(self.identical, 1.0, 2 * scipy.special.stdtr(self.freedom, -_t(self.mean, self.error)))

    def bounds(self, alpha: float) -> tuple[Floats, Floats]:
        """Bounds of the clustered t interval at `alpha`, both (p), NaN without an error, as for identical pairs."""
        half = t_quantile(self.freedom, alpha) * self.error
        return self.mean - half, self.mean + half

    def skewed_bounds(self, alpha: float) -> tuple[Floats, Floats]:
        """The same, each bound moved outwards if the clusters' sums are skewed towards it: `without_skew` solved for t.

        A sample that is skewed has seen too few of the rare clusters that decide the mean.
        """
        t, lean = t_quantile(self.freedom, alpha), skewness(self)
        corrected = (t + np.maximum(0.0, lean * side) * (1 + 2 * t**2) / 6 for side in (-1, 1))
        below, above = (reach * self.error for reach in corrected)
        return self.mean - below, self.mean + above


def all_pairs(values: Floats, clusters: Clusters) -> Pairs:
    """Every pair of the configurations in `values` (c, q; NaN if unscored), for queries in `clusters` (q)."""
    a, b = np.triu_indices(len(values), 1)
    loss = total_loss(values)
    levels = np.nanmean(values, axis=1) - np.nanmin(values, initial=np.inf)
    # Make one block even without pairs, for arrays of the right shape.
    parts = blocks(max(1, len(a)), rows(BYTES_A_VALUE * values.shape[1]))
    computed = [
        _block(values[a[part]] - values[b[part]], a[part], b[part], clusters, loss, np.maximum(levels[a[part]], levels[b[part]]))
        for part in parts
    ]
    return Pairs(*(np.concatenate([getattr(block, column.name) for block in computed]) for column in fields(Pairs)))


def from_zero(differences: Floats, clusters: Clusters, loss: float) -> Pairs:
    """Rows of differences (r, q; NaN if unscored) from 0, as the pairs of position 0 with the positions 1 to r. `loss` is a total loss."""
    count = len(differences)
    return _block(differences, np.zeros(count, dtype=np.int64), np.arange(1, count + 1), clusters, loss, np.full(count, loss))


def total_loss(values: Floats) -> float:
    """The range of values (c, q), and at least 1. A constant added to all values changes nothing."""
    return max(1.0, float(np.nanmax(values, initial=-np.inf)) - float(np.nanmin(values, initial=np.inf)))


def _block(differences: Floats, a: Ints, b: Ints, clusters: Clusters, loss: float, levels: Floats) -> Pairs:
    means = robust(differences, clusters)
    untested = (means.clusters < FEWEST_FOR_INTERVAL) | (not clusters.tested)
    error, alone = (np.where(untested, np.nan, column) for column in (means.error, means.alone))
    means = replace(means, error=error, alone=alone, conditional=means.conditional & ~untested)
    identical = (np.nan_to_num(differences) == 0).all(axis=1)
    worst = _worst(differences, means, loss)
    p = np.where(np.isnan(worst), 2 * scipy.special.stdtr(means.freedom, -without_skew(_t(means.mean, means.error), means)), 1.0)
    # The statistic of the clusters alone that has this p.
    plain = _t(means.mean, means.alone)
    damping = np.clip(ratio(t_quantile(means.alone_freedom, p), plain), 0, 1)
    return Pairs(
        **{column.name: getattr(means, column.name) for column in fields(Robust)},
        a=a.astype(np.int64),
        b=b.astype(np.int64),
        identical=identical,
        cautious_p=np.where(identical, 1.0, p),
        damping=np.where(np.isnan(worst), np.where(np.isnan(plain), 1.0, damping), 0.0),
        worst=worst,
        unseen=_unseen(differences, means, clusters, loss, levels),
        untested=untested,
    )


def _worst(differences: Floats, means: Robust, loss: float) -> Floats:
    """The mean (r) after total losses on unseen queries, NaN if the difference survives them or has enough queries against it."""
    sign = np.where(means.mean < 0, -1.0, 1.0)
    after = (np.abs(means.mean) * means.n - _UNSEEN * loss) / (means.n + _UNSEEN)
    few = (differences * sign[:, None] < 0).sum(axis=1) < _FEW_AGAINST
    return np.asarray(np.where(few & (after <= 0), sign * after, np.nan))


def _unseen(differences: Floats, means: Robust, clusters: Clusters, loss: float, levels: Floats) -> Floats:
    """The largest mean (r), without its sign, if a share of all questions or documents of which the sample has none lost everything on one side.

    A question can lose a total `loss`, and a document on average what a configuration has, `levels` (r). With 97.5 % confidence the share is at most
    1 - .025^(1 / n) if none of n is one of them (the rule of three, two-sided). If at least 3 lost half as much, the sample shows how often that happens.
    """
    values, groups = clusters.averaged(differences)
    sizes = by_unit((~np.isnan(values)).astype(np.float64), groups.codes)
    units = (
        (np.nan_to_num(differences), means.n, np.full(len(differences), loss)),
        (ratio(means.sums, sizes), means.clusters, levels),
    )
    ends = [np.abs(means.mean)]
    for lost, count, most in units:
        share = 1 - (ALPHA / 2) ** (1 / np.maximum(count, 1))
        for side in (-1, 1):
            few = (side * lost >= most[:, None] / 2).sum(axis=1) < FEWEST_LOSING
            ends.append(np.where(few, side * (1 - share) * means.mean + share * most, 0.0))
    return np.asarray(np.max(ends, axis=0))


def skewness(means: Robust) -> Floats:
    """γ / √G (r) for the skewness γ of the G clusters' sums."""
    return ratio((means.residuals**3).sum(axis=1), (means.residuals**2).sum(axis=1) ** 1.5)


def without_skew(t: Floats, means: Robust) -> Floats:
    """Reduce t (r, absolute values) where the clusters' sums are skewed towards losses.

    A difference that is small on most clusters and much against it on a few has a t that is too large until enough of the few were seen.
    With A = -γ / √G for the skewness γ of the G sums, Johnson (1978) corrects t by A (1 + 2 t²) / 6. Solved for the value c that t
    would have without skew, t = c + A (1 + 2 c²) / 6, the correction stays monotone. A skew towards gains would raise t and is ignored.
    """
    skew = np.maximum(0.0, np.where(means.mean < 0, 1.0, -1.0) * skewness(means))
    above = np.maximum(0.0, t - skew / 6)
    return np.asarray(2 * above / (1 + np.sqrt(1 + 4 * skew / 3 * above)))


def _t(mean: Floats, error: Floats) -> Floats:
    return np.asarray(np.divide(np.abs(mean), error, out=np.full(len(mean), np.nan), where=~np.isnan(error)))


POWER = 0.8
# The default of an experiment: differences below it do not matter.
SMALLEST_DIFFERENCE = 0.02
# An assumption about the standard deviation of a question's difference in span recall between two chunkings, for use before a sweep measures it.
SPREAD = 0.35
# Fewer questions support no estimate of a spread.
_FEWEST = 30


@dataclass(frozen=True, slots=True)
class Detectable:
    """The power of a comparison: a true `difference` of this size is shown in 80 % of experiments like this one.

    It is for configurations `a` and `b`, tested at `level`, so that all comparisons of the family hold at once. `needed` questions would
    show `smallest`, if the new questions come with new documents in the present proportion.
    """

    a: str
    b: str
    difference: float
    level: float
    smallest: float
    needed: int


def detectable(pairs: Pairs, pair: int, names: Sequence[str], level: float, smallest: float) -> Detectable | None:
    """The difference shown with 80 % power, (t + z) · SE with the family's t, and the number of questions n · (difference / smallest)².

    None if the difference of the pair does not vary.
    """
    if not np.isfinite(pairs.error[pair]):
        return None
    difference = float((t_quantile(pairs.freedom[pair], level) + scipy.special.ndtri(POWER)) * pairs.error[pair])
    needed = math.ceil(float(pairs.n[pair]) * (difference / smallest) ** 2)
    sides = names[pairs.a[pair]], names[pairs.b[pair]]
    return Detectable(*sides, difference, level, smallest, max(needed, _FEWEST))


def expected_difference(questions: int, comparisons: int) -> float:
    """Estimate the difference that some questions show, before anything was measured: (z + z) · SPREAD / √n, corrected for the comparisons."""
    return _quantiles(comparisons) * SPREAD / math.sqrt(max(1, questions))


def expected_questions(difference: float, comparisons: int) -> int:
    """Estimate the questions that show a difference, before anything was measured."""
    return max(_FEWEST, math.ceil((_quantiles(comparisons) * SPREAD / difference) ** 2))


def _quantiles(comparisons: int) -> float:
    # Bonferroni's correction, which needs no data.
    return float(scipy.special.ndtri(1 - 0.05 / 2 / max(1, comparisons)) + scipy.special.ndtri(POWER))
