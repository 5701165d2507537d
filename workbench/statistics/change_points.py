"""Find the runs at which the level of a metric changed, by permutation tests."""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import permutation_test

from workbench.metrics.coverage import Ints

# With four runs on one level and five on another, the clearest step has p = 2 * 2 / 126. Shorter histories never reach significance.
FEWEST_RUNS = 9
# Older runs are ignored because the cost is quadratic in the number of runs.
MOST_RUNS = 200
LEVEL = 0.05
# The fewest runs of a level. A single outlier is not a level.
_LEAST = 2
_RESAMPLES = 1999
_SEED = 20260101
# The most numbers in memory at once.
_BLOCK = 2_000_000

# Positions [start, end) of each part, in two arrays.
Parts = tuple[Ints, Ints]


@dataclass(frozen=True)
class ChangePoint:
    """The first run of a new level, the means of the levels before and after it, and p."""

    run: str
    before: float
    after: float
    p: float


@dataclass(frozen=True)
class Levels:
    """The change points in a history of `runs` runs."""

    runs: int
    points: tuple[ChangePoint, ...]

    @property
    def enough(self) -> bool:
        """Whether there are enough runs to distinguish a change from noise."""
        return self.runs >= FEWEST_RUNS


def change_points(series: "pd.Series[float]") -> Levels:
    """Find the runs at which the level of a metric (indexed by run, oldest first) changed. NaN is ignored.

    Apply two of scipy's permutation tests to a history, each at half of LEVEL. The first looks for a step, the largest
    standardised difference of means max |mean(part) - mean(rest)| sqrt(m (n - m) / n) over all first parts of m of n runs (binary
    segmentation, Scott and Knott 1974). If there is none, the second looks for a stretch that differs, over all parts in the middle
    (circular binary segmentation, Olshen et al. 2004). Without a change the order of the runs is arbitrary, so at most 5 % of
    unchanged histories are split, for any noise and any number of equal values. p combines both tests. The parts
    are tested in the same way if they have FEWEST_RUNS runs. Only the last MOST_RUNS runs are used. Runs that drift or repeat each
    other are not exchangeable: a split then means that the level was not constant, not that it jumped once.
    """
    scored = series.dropna().tail(MOST_RUNS)
    values: NDArray[np.float64] = np.asarray(scored, dtype=np.float64)
    splits = sorted(_split(values, 0, len(values)))
    edges = [0, *(place for place, _ in splits), len(values)]
    levels = [float(values[start:end].mean()) for start, end in itertools.pairwise(edges)] if splits else []
    points = zip(splits, itertools.pairwise(levels), strict=True)
    return Levels(len(values), tuple(ChangePoint(str(scored.index[place]), before, after, p) for (place, p), (before, after) in points))


def _split(values: NDArray[np.float64], start: int, end: int) -> list[tuple[int, float]]:
    part = values[start:end]
    if len(part) < FEWEST_RUNS or np.ptp(part) == 0:
        return []
    starts, ends = np.triu_indices(len(part) + 1, _LEAST)
    fitting = ends <= len(part) - _LEAST
    for inside in (fitting & (starts == 0), fitting & (starts >= _LEAST)):  # steps, then stretches
        parts = starts[inside], ends[inside]
        p = 2 * _p(part, parts)
        if p <= LEVEL:
            place = int(np.argmax(_gaps(part, parts)))
            inner = [start + int(edge[place]) for edge in parts if 0 < edge[place] < len(part)]
            splits = [(edge, p) for edge in inner]
            for low, high in itertools.pairwise([start, *inner, end]):
                splits += _split(values, low, high)
            return splits
    return []


def _p(values: NDArray[np.float64], parts: Parts) -> float:
    answer = permutation_test(
        (values,),
        lambda order, axis: _gaps(np.moveaxis(order, axis, -1), parts).max(axis=-1),
        permutation_type="pairings",
        alternative="greater",
        n_resamples=_RESAMPLES,
        batch=max(1, _BLOCK // len(parts[0])),
        vectorized=True,
        rng=np.random.default_rng(_SEED),
    )
    return float(answer.pvalue)


def _gaps(values: NDArray[np.float64], parts: Parts) -> NDArray[np.float64]:
    """The standardised difference of means (…, parts) between each part and the rest."""
    starts, ends = parts
    n, sizes = values.shape[-1], ends - starts
    sums = np.zeros((*values.shape[:-1], n + 1))
    np.cumsum(values - values.mean(axis=-1, keepdims=True), axis=-1, out=sums[..., 1:])
    return np.asarray(np.abs(sums[..., ends] - sums[..., starts]) / np.sqrt(sizes * (n - sizes) / n))
