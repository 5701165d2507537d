"""Find the runs at which the level of a metric changed, by permutation tests."""

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from workbench.measures.metrics.coverage import Ints

# With four results on one level and five on another, the clearest step has p = 2 * 2 / 126. Fewer never reach significance.
FEWEST_RESULTS = 9
# Older observations are ignored because the cost is quadratic in their number.
MOST_OBSERVATIONS = 200
LEVEL = 0.05
# The fewest observations of a level. A single outlier is not a level.
_LEAST = 2
# Differences between results on one level that are rounding errors, as a share of the range of all.
_ROUNDING = 1e-9
# Values that depend more on the one before are a drift.
_MOST_CORRELATED = 0.9
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
    """The change points in a history of `runs` runs.

    Consecutive runs with the same result are one of `observations`, of which only `results` are different.
    """

    runs: int
    observations: int
    results: int
    points: tuple[ChangePoint, ...]

    @property
    def enough(self) -> bool:
        """True if there are enough different results to distinguish a change from noise."""
        return self.results >= FEWEST_RESULTS


def change_points(series: "pd.Series[float]", results: "pd.Series[int] | None" = None) -> Levels:
    """Find the runs at which the level of a metric (indexed by run, oldest first) changed. NaN is ignored.

    `results` gives runs that repeat each other (equal settings, data and value) the same number, as in the column `result` of
    `results.history.changes`; by default all differ. Consecutive repeats are one observation. Only the last MOST_OBSERVATIONS are used.

    Apply two of scipy's permutation tests, each at half of LEVEL. The first looks for a step, the largest
    standardised difference of means max |mean(part) - mean(rest)| sqrt(m (n - m) / n) over all first parts of m of n observations (binary
    segmentation, Scott and Knott 1974). If no such point exists, the second looks for a stretch that differs, over all parts in the middle
    (circular binary segmentation, Olshen et al. 2004). p combines both tests. The parts are tested in the same way if they have
    FEWEST_RESULTS different results.

    The permutations exchange the values of different results, and a result that returns keeps its value everywhere. Without a change
    any result could have had any of the values if they are independent with the same spread: then at most 5 % of unchanged histories are split, for any
    pattern of repeats. Two corrections are for others. Values that depend on the one before are first made independent by the lag-one autocorrelation around
    the best two levels (prewhitening). And the signs of deviations are flipped, too, which allows for a spread that changes: the larger p counts.
    Results that drift are not exchangeable: a split then means that the level was not constant, not that it jumped once.

    References
    ----------
    Serinaldi and Kilsby (2016), The importance of prewhitening in change point analysis under persistence, Stochastic Environmental
    Research and Risk Assessment 30.
    """
    scored = series.dropna()
    numbers = np.arange(len(scored)) if results is None else pd.factorize(results[series.notna()])[0]
    # The first run of each observation.
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))[-MOST_OBSERVATIONS:]
    values: NDArray[np.float64] = np.asarray(scored, dtype=np.float64)[starts]
    codes: Ints = numbers[starts].astype(np.int64)
    splits = sorted(_split(values, codes, 0, len(values)))
    edges = [0, *(edge for edge, _ in splits), len(values)]
    levels = [float(values[start:end].mean()) for start, end in itertools.pairwise(edges)] if splits else []
    runs = [str(scored.index[starts[edge]]) for edge, _ in splits]
    points = zip(runs, itertools.pairwise(levels), (p for _, p in splits), strict=True)
    changes = tuple(ChangePoint(run, before, after, p) for run, (before, after), p in points)
    return Levels(len(scored), len(values), len(np.unique(codes)), changes)


def _split(values: NDArray[np.float64], codes: Ints, start: int, end: int) -> list[tuple[int, float]]:
    part, first, places = values[start:end], *np.unique(codes[start:end], return_index=True, return_inverse=True)[1:]
    if len(first) < FEWEST_RESULTS or np.ptp(part) == 0:
        return []
    starts, ends = np.triu_indices(len(part) + 1, _LEAST)
    fitting = ends <= len(part) - _LEAST
    independent = _prewhitened(part[np.sort(first)])[np.argsort(np.argsort(first))]
    for inside in (fitting & (starts == 0), fitting & (starts >= _LEAST)):  # steps, then stretches
        parts = starts[inside], ends[inside]
        p = 2 * max(_p(independent, places, parts, kind) for kind in ("pairings", "samples"))
        if p <= LEVEL:
            best = int(np.argmax(_gaps(part, parts)))
            inner = [start + int(edge[best]) for edge in parts if 0 < edge[best] < len(part)]
            splits = [(edge, p) for edge in inner]
            for low, high in itertools.pairwise([start, *inner, end]):
                splits += _split(values, codes, low, high)
            return splits
    return []


def _prewhitened(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Subtract from deviations (n) the part that the deviation before explains, around a common level. The first keeps its share of the spread.

    The autocorrelation is that around the best two levels, corrected for its bias, (1 + 4 φ) / n (Marriott and Pope 1954). A negative one counts
    as 0, which makes tests careful.
    """
    starts, ends = np.triu_indices(len(values) + 1, _LEAST)
    parts = starts[ends <= len(values) - _LEAST], ends[ends <= len(values) - _LEAST]
    best = int(np.argmax(_gaps(values, parts)))
    inside = np.zeros(len(values), dtype=np.bool_)
    inside[parts[0][best] : parts[1][best]] = True
    rest = np.where(inside, values - values[inside].mean(), values - values[~inside].mean())
    level: NDArray[np.float64] = values - values.mean()
    together = rest[1:] * rest[:-1] * (inside[1:] == inside[:-1])
    if np.ptp(rest) <= _ROUNDING * np.ptp(values):
        return level
    autocorrelation = float(together.sum() / (rest**2).sum())
    correlation = min(max(autocorrelation + (1 + 4 * max(autocorrelation, 0.0)) / len(values), 0.0), _MOST_CORRELATED)
    return np.asarray(level - correlation * np.concatenate([level[:1], level[:-1]]))


def _p(values: NDArray[np.float64], places: Ints, parts: Parts, kind: Literal["pairings", "samples"]) -> float:
    """Permute the values of the different results, or flip their signs (`samples`). `places` (n) is the result of each observation."""
    answer = scipy.stats.permutation_test(
        (values - values.mean(),),
        lambda order, axis: _gaps(np.moveaxis(order, axis, -1)[..., places], parts).max(axis=-1),
        permutation_type=kind,
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
