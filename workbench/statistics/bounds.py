"""What a difference could be if documents that nobody judged were relevant, or not."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError


class Bounds(NamedTuple):
    """The least and the largest that a mean difference can be."""

    low: float
    high: float


def judged_bounds(a_low: npt.ArrayLike, a_high: npt.ArrayLike, b_low: npt.ArrayLike, b_high: npt.ArrayLike) -> Bounds:
    """Bounds of mean(a - b) over queries (q), where each value is only known to lie between its `low` and its `high` (q).

    They are mean(a_low - b_high) and mean(a_high - b_low), over the queries with all four values; these come from
    `metrics.unjudged.unjudged_values`. NaN where there is no such query.
    """
    parts = [np.asarray(part, dtype=np.float64) for part in (a_low, a_high, b_low, b_high)]
    if len({part.shape for part in parts}) > 1:
        raise InputError("values by configuration have different shapes", "give those of the same queries")
    values = np.array(parts)
    first_low, first_high, second_low, second_high = values[:, ~np.isnan(values).any(axis=0)]
    if not len(first_low):
        return Bounds(float("nan"), float("nan"))
    return Bounds(float((first_low - second_high).mean()), float((first_high - second_low).mean()))
