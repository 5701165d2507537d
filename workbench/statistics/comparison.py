"""Differences between two configurations on the same queries, and their tests."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from statsmodels.stats.multitest import multipletests

from workbench.errors import InputError
from workbench.metrics.coverage import Bools, Floats
from workbench.statistics.clusters import alike
from workbench.statistics.intervals import Interval, robust_intervals, units_of
from workbench.statistics.pairs import Pairs
from workbench.statistics.randomisation import Randomised


@dataclass(frozen=True, slots=True)
class Comparison:
    """The mean of a - b with its clustered 95 % interval, and two-sided p values.

    `p` comes from the clustered paired t test (from randomisation if the difference does not vary), `p_random` from sign flips,
    `p_adjusted` from max-T over the family, never below `p`, and `p_holm` from Holm's correction of `p`.
    """

    a: str
    b: str
    difference: Interval
    p: float
    p_random: float
    p_adjusted: float
    p_holm: float


class Bounds(NamedTuple):
    """The smallest and the largest possible mean difference."""

    low: float
    high: float


def paired_difference(a: npt.ArrayLike, b: npt.ArrayLike, clusters: npt.ArrayLike) -> Interval:
    """The mean of a - b over the queries of both (q, NaN if unscored), by `paired_differences`."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return paired_differences(first[None], second[None], clusters)[0]


def paired_differences(a: Floats, b: Floats, clusters: npt.ArrayLike) -> list[Interval]:
    """Compute the mean of a - b with its cluster-robust t interval, for each row of values (r, q; NaN if unscored).

    Queries without a value on either side are left out of both and of `n`. If all values are equal, the result is 0 with the bounds
    0 and 0. A single query, or any other constant difference, has no bounds.
    """
    if a.shape != b.shape:
        raise InputError(f"{a.shape[1:]} and {b.shape[1:]} values cannot be paired", "compare results of the same queries")
    intervals: dict[int, Interval] = {}
    for rows, scored in alike(~(np.isnan(a) | np.isnan(b))):
        differences = (a[rows] - b[rows])[:, scored]
        means = robust_intervals(differences, units_of(differences, np.asarray(clusters)[scored]))
        for row, differs, interval in zip(rows.tolist(), (differences != 0).any(axis=1).tolist(), means, strict=True):
            intervals[row] = interval if differs or interval.n == 1 else replace(interval, value=0.0, low=0.0, high=0.0)
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
    """p (p) of the clustered t test, or of randomisation for constant differences, and the corrected p, never below it."""
    plain = np.where(np.isnan(pairs.t_p), tests.alone, pairs.t_p)
    return plain, np.maximum(tests.adjusted, plain)


def comparisons(pairs: Pairs, tests: Randomised, family: Bools, names: Sequence[str], sign: float = 1.0) -> list[Comparison]:
    """Convert the pairs in `family` (p) to comparisons by configuration name, with differences multiplied by `sign`."""
    chosen = np.flatnonzero(family)
    (p, adjusted), half_width = p_values(pairs, tests), pairs.half_width
    holm = multipletests(p[chosen], method="holm")[1] if len(chosen) else p[chosen]
    rows = []
    for pair, corrected in zip(chosen.tolist(), holm.tolist(), strict=True):
        mean = sign * float(pairs.mean[pair]) + 0.0  # avoid negative zero
        half = float(half_width[pair])
        interval = Interval(mean, mean - half, mean + half, int(pairs.n[pair]), int(pairs.clusters[pair]))
        tested = (float(p[pair]), float(tests.alone[pair]), float(adjusted[pair]), corrected)
        rows.append(Comparison(names[pairs.a[pair]], names[pairs.b[pair]], interval, *tested))
    return rows
