"""Differences between two configurations on the same queries, and their tests."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.core.errors import InputError
from workbench.measures.metrics.coverage import Bools, Floats
from workbench.measures.statistics.clusters import CONDITIONAL, Clusters, alike
from workbench.measures.statistics.intervals import ALPHA, Interval, SimultaneousInterval, checked_clusters, robust_intervals
from workbench.measures.statistics.pairs import Pairs, from_zero
from workbench.measures.statistics.randomisation import Randomised


@dataclass(frozen=True, slots=True)
class Comparison:
    """The mean of a - b with its clustered 95 % interval, and two-sided p values. `identical`: both have the same value on every query.

    `low_adjusted` and `high_adjusted` are the bounds that hold with 95 % confidence for all comparisons of the family at once. `p` comes from
    the clustered paired t test (from randomisation if the difference does not vary), `p_random` from sign flips, and `p_holm` from Holm's
    correction of `p`. `p_adjusted` is corrected by max-T over the family, for skew and for unseen losses, and never below `p`. All p
    and bounds are NaN with fewer than 5 documents, or if the queries must not be tested. `tests` is the number of comparisons of the family, `level` that of its simultaneous intervals.
    `equivalence_margin` is the smallest margin within which the two are shown to be equivalent (`equivalence_margins`), NaN without an interval.
    """

    a: str
    b: str
    difference: Interval
    low_adjusted: float
    high_adjusted: float
    identical: bool
    tests: int
    level: float
    p: float
    p_random: float
    p_adjusted: float
    p_holm: float
    equivalence_margin: float

    @property
    def simultaneous(self) -> SimultaneousInterval:
        """The difference with the bounds that hold for the whole family."""
        plain = self.difference
        bounds = (plain.value, self.low_adjusted, self.high_adjusted)
        return SimultaneousInterval(*bounds, plain.n, plain.clusters, plain.conditional, excludes_zero=self.p_adjusted <= ALPHA)

    def reversed(self) -> "Comparison":
        """The comparison of b with a."""
        bounds = (self.difference.value, self.difference.high, self.difference.low, self.high_adjusted, self.low_adjusted)
        value, low, high, low_adjusted, high_adjusted = (0.0 - bound for bound in bounds)
        difference = replace(self.difference, value=value, low=low, high=high)
        return replace(self, a=self.b, b=self.a, difference=difference, low_adjusted=low_adjusted, high_adjusted=high_adjusted)


class Bounds(NamedTuple):
    """The smallest and the largest possible mean difference."""

    low: float
    high: float


def paired_difference(a: npt.ArrayLike, b: npt.ArrayLike, clusters: Clusters | npt.ArrayLike) -> Interval:
    """The mean of a - b over the queries of both (q, NaN if unscored), by `paired_differences`."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return paired_differences(first[None], second[None], clusters)[0]


def paired_differences(a: Floats, b: Floats, clusters: Clusters | npt.ArrayLike) -> list[Interval]:
    """Compute the mean of a - b with its cluster-robust t interval, for each row of values (r, q; NaN if unscored).

    Queries without a value on either side are left out of both and of `n`. Fewer than 5 documents have no bounds, nor have queries that must not be
    tested, nor has a constant difference, because an interval without width would claim certainty. If all values are equal, that is 0.
    """
    if a.shape != b.shape:
        raise InputError(f"{a.shape[1:]} and {b.shape[1:]} values cannot be paired", "compare results of the same queries")
    intervals, observed = dict[int, Interval](), Clusters.of(clusters)
    for rows, scored in alike(~(np.isnan(a) | np.isnan(b))):
        differences = (a[rows] - b[rows])[:, scored]
        means = robust_intervals(differences, checked_clusters(differences, observed[scored]))
        if not observed.tested:
            means = [replace(mean, low=np.nan, high=np.nan, conditional="") for mean in means]
        intervals |= zip(rows.tolist(), means, strict=True)
    return [intervals[row] for row in range(len(a))]


def judged_bounds(a_low: npt.ArrayLike, a_high: npt.ArrayLike, b_low: npt.ArrayLike, b_high: npt.ArrayLike) -> Bounds:
    """Compute bounds of mean(a - b) over queries (q), if unjudged documents leave each value between `low` and `high`.

    They are mean(a_low - b_high) and mean(a_high - b_low) over the queries with all four values (`metrics.evaluate.unjudged_values`);
    NaN without such a query.
    """
    parts = [np.asarray(part, dtype=np.float64) for part in (a_low, a_high, b_low, b_high)]
    if len({part.shape for part in parts}) > 1:
        raise InputError("values by configuration have different shapes", "give those of the same queries")
    values = np.array(parts)
    first_low, first_high, second_low, second_high = values[:, ~np.isnan(values).any(axis=0)]
    if not len(first_low):
        return Bounds(np.nan, np.nan)
    return Bounds(float((first_low - second_high).mean()), float((first_high - second_low).mean()))


def p_values(pairs: Pairs, tests: Randomised) -> tuple[Floats, Floats]:
    """p (p) of the clustered t test, or of randomisation for constant differences, and the corrected p, never below the cautious one.

    NaN for untested pairs.
    """
    plain = np.where(np.isnan(pairs.t_p), tests.alone, pairs.t_p)
    cautious = np.fmax(plain, pairs.cautious_p)
    return np.where(pairs.untested, np.nan, plain), np.where(pairs.untested, np.nan, np.maximum(tests.adjusted, cautious))


def adjusted_bounds(pairs: Pairs, level: float, adjusted: Floats) -> tuple[Floats, Floats]:
    """Bounds at the family's `level`, both (p), that agree with the corrected p.

    They are extended to the mean after unseen losses where these would undo the difference, and to 0 where the corrected p is above .05
    for another reason. Step-down tests reject more than one critical value for all: the bounds of what they reject end at 0.
    """
    low, high = pairs.bounds(level)
    low, high = np.fmin(low, np.where(pairs.mean > 0, pairs.worst, np.nan)), np.fmax(high, np.where(pairs.mean < 0, pairs.worst, np.nan))
    rejected, up = adjusted <= ALPHA, pairs.mean > 0
    low = np.where(up, np.where(rejected, np.maximum(low, 0), np.minimum(low, 0)), low)
    return low, np.where(up, high, np.where(rejected, np.minimum(high, 0), np.maximum(high, 0)))


def equivalence_margins(pairs: Pairs, level: float, low: Floats, high: Floats) -> Floats:
    """The smallest margin (p) such that each pair is equivalent within it: the whole simultaneous interval is inside plus and minus the margin.

    `low` and `high` (p) are the simultaneous bounds, at the family's `level`. A claim that nothing that matters was lost must also survive losses of which
    the sample has too few: with the bounds corrected for skew, and after losses of documents that were not seen. 0 is no bound of identical pairs, so that
    only the last counts for them. NaN for untested pairs, and for a constant difference, which has no interval.
    """
    ends = np.array([low, high, *pairs.skewed_bounds(level)])
    known = np.where(pairs.identical, 0.0, np.abs(ends).max(axis=0))
    return np.where(pairs.untested, np.nan, np.maximum(known, pairs.unseen))


def widened_margin(pair: Comparison, differences: Floats, lost: Bools, clusters: Clusters, loss: float) -> float:
    """The margin of equivalence of a pair with these differences (q, NaN if unscored) if the queries `lost` (q) were total losses on one side.

    With equal documents a single query can be all that is known of a document, so that it weighs more than one of n. Others are lost in other
    samples, so that the interval of the filled differences must be inside as well.
    """
    known = np.where(lost, np.nan, differences)
    filled = [np.where(lost, end, known) for end in (loss, -loss)]
    share = np.where(lost | ~np.isnan(known), lost.astype(np.float64), np.nan)
    up, down, part = np.nanmean(clusters.averaged(np.array([*filled, share]))[0], axis=1).tolist()
    margin = float(max(abs(up), abs(down)) + (1 - part) * (pair.equivalence_margin - abs(pair.difference.value)))
    if not lost.any():
        return margin
    pairs = from_zero(np.array(filled), clusters, loss)
    return float(np.fmax(margin, np.abs([*pairs.bounds(pair.level), *pairs.skewed_bounds(pair.level)]).max()))


def comparisons(pairs: Pairs, tests: Randomised, family: Bools, names: Sequence[str], sign: float = 1.0) -> list[Comparison]:
    """Convert the pairs in `family` (p) to comparisons by configuration name, with differences multiplied by `sign`."""
    chosen = np.flatnonzero(family)
    p, adjusted = p_values(pairs, tests)
    random, plain, wide = np.where(np.isnan(p), np.nan, tests.alone), pairs.bounds(ALPHA), adjusted_bounds(pairs, tests.level, adjusted)
    corrected = np.full(len(p), np.nan)
    corrected[chosen] = holm(p[chosen])
    margins = equivalence_margins(pairs, tests.level, *wide)
    rows = []
    for pair in chosen.tolist():
        mean = sign * float(pairs.mean[pair]) + 0.0  # avoid negative zero
        (low, high), (low_adjusted, high_adjusted) = (sorted(sign * float(end[pair]) + 0.0 for end in ends) for ends in (plain, wide))
        conditional = CONDITIONAL if pairs.conditional[pair] else ""
        interval = Interval(mean, low, high, int(pairs.n[pair]), int(pairs.clusters[pair]), conditional)
        tested_by = (float(values[pair]) for values in (p, random, adjusted, corrected, margins))
        sides, identical = (names[pairs.a[pair]], names[pairs.b[pair]]), bool(pairs.identical[pair])
        rows.append(Comparison(*sides, interval, low_adjusted, high_adjusted, identical, len(chosen), tests.level, *tested_by))
    return rows


def holm(p: Floats) -> Floats:
    """Return Holm's adjusted p of a family. NaN stays NaN and does not count.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6.
    """
    # Not statsmodels' multipletests, which collects garbage at every call and takes 40 ms.
    adjusted, known = p.copy(), np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)))
    return adjusted
