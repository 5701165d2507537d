"""How much two configurations differ on the same queries."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from statsmodels.stats.multitest import multipletests

from workbench.errors import InputError
from workbench.metrics.coverage import Bools, Floats
from workbench.statistics.clusters import alike, units
from workbench.statistics.intervals import Interval, checked, robust_intervals
from workbench.statistics.pairs import Pairs
from workbench.statistics.resampling.randomisation import Randomised

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Comparison:
    """How `a` differs from `b`: the mean of a - b with its clustered 95 % interval, and p values, all two-sided.

    `p` is the clustered paired t test's (the randomisation's where the difference does not vary), `p_random` that of sign flips,
    `p_adjusted` max-T over the family and never below `p`, `p_holm` Holm's of `p`.
    """

    a: str
    b: str
    difference: Interval
    p: float
    p_random: float
    p_adjusted: float
    p_holm: float


def paired_difference(a: npt.ArrayLike, b: npt.ArrayLike, clusters: npt.ArrayLike, level: float = LEVEL) -> Interval:
    """The mean of a - b over the q queries of both (q, NaN where unscored), as `paired_differences` has it."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return paired_differences(first[None], second[None], clusters, level)[0]


def paired_differences(a: Floats, b: Floats, clusters: npt.ArrayLike, level: float = LEVEL) -> list[Interval]:
    """For each of r rows the mean of a - b over the q queries of both (r, q; NaN where unscored) and its cluster-robust t interval.

    Queries that lack a value on either side are left out of both and of `n`. Equal values everywhere give 0 with the bounds
    0 and 0; one query, or another difference that does not vary, has no bounds.
    """
    if a.shape != b.shape:
        raise InputError(f"{a.shape[1:]} and {b.shape[1:]} values cannot be paired", "compare results of the same queries")
    found: dict[int, Interval] = {}
    for rows, scored in alike(~(np.isnan(a) | np.isnan(b))):
        differences, names = checked((a[rows] - b[rows])[:, scored], np.asarray(clusters)[scored], level)
        intervals = robust_intervals(differences, units(names), level)
        for row, differs, interval in zip(rows.tolist(), (differences != 0).any(axis=1).tolist(), intervals, strict=True):
            found[row] = interval if differs or interval.n == 1 else replace(interval, value=0.0, low=0.0, high=0.0)
    return [found[row] for row in range(len(a))]


def p_values(pairs: Pairs, tests: Randomised) -> tuple[Floats, Floats]:
    """(p) p of the clustered t test, that of the randomisation where a difference does not vary; and corrected, never below it."""
    plain = np.where(np.isnan(pairs.t_p), tests.alone, pairs.t_p)
    return plain, np.maximum(tests.adjusted, plain)


def comparisons(pairs: Pairs, tests: Randomised, family: Bools, names: Sequence[str], sign: float = 1.0) -> list[Comparison]:
    """The pairs in `family` (p) as comparisons of configurations by name, their differences multiplied by `sign`."""
    chosen = np.flatnonzero(family)
    p, adjusted = p_values(pairs, tests)
    half = pairs.half_width(LEVEL)
    holm = multipletests(p[chosen], method="holm")[1] if len(chosen) else p[chosen]
    rows = []
    for pair, corrected in zip(chosen.tolist(), holm.tolist(), strict=True):
        mean = sign * float(pairs.mean[pair]) + 0.0  # no negative zero
        found = Interval(mean, mean - float(half[pair]), mean + float(half[pair]), int(pairs.n[pair]), int(pairs.clusters[pair]))
        tested = (float(p[pair]), float(tests.alone[pair]), float(adjusted[pair]), corrected)
        rows.append(Comparison(names[pairs.a[pair]], names[pairs.b[pair]], found, *tested))
    return rows
