"""How much two configurations differ on the same queries."""

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.statistics.intervals import Interval, checked, robust_interval


def paired_difference(a: npt.ArrayLike, b: npt.ArrayLike, clusters: npt.ArrayLike, level: float = 0.95) -> Interval:
    """The mean of a - b over the q queries of both (q, NaN where unscored) and its cluster-robust t interval.

    Queries that lack a value on either side are left out of both and of `n`. Equal values everywhere give 0 with the bounds
    0 and 0; any other difference that does not vary has no bounds.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape:
        raise InputError(f"{first.shape} and {second.shape} values cannot be paired", "compare results of the same queries")
    scored = ~(np.isnan(first) | np.isnan(second))
    differences, codes = checked((first - second)[scored], np.asarray(clusters)[scored], level)
    if not differences.any():
        return Interval(0.0, 0.0, 0.0, len(differences), int(codes.max()) + 1)
    return robust_interval(differences, codes, level)
