"""How well scores agree with labels, with intervals from a bootstrap of clusters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Places = NDArray[np.intp]

RESAMPLES = 2_000
_SEED = 20261123
_FALSE_ALARMS = 0.1


@dataclass(frozen=True)
class Scored:
    """Scores of n items with their labels: whether to approve it, whether it is contradicted, and its cluster."""

    scores: Floats
    approve: Bools
    contradicted: Bools
    clusters: Sequence[str]

    def taken(self, places: Places) -> "Scored":
        """These items, some of them repeatedly."""
        return Scored(self.scores[places], self.approve[places], self.contradicted[places], ())


Measure = Callable[[Scored], float]


def auroc(scored: Scored) -> float:
    """P(score of an item to approve > that of another), counting ties half; NaN without both."""
    good, bad = int(scored.approve.sum()), int((~scored.approve).sum())
    if not good or not bad:
        return float("nan")
    return float((rankdata(scored.scores)[scored.approve].sum() - good * (good + 1) / 2) / (good * bad))


def balanced_accuracy(scored: Scored) -> float:
    """The mean of the shares of items to approve with at least 0.5 and of others with less."""
    yes = scored.scores >= 0.5
    if scored.approve.all() or not scored.approve.any():
        return float("nan")
    return float(0.5 * yes[scored.approve].mean() + 0.5 * (~yes[~scored.approve]).mean())


def found_contradictions(scored: Scored) -> float:
    """The share of contradicted items below the threshold that at most 10 % of the items to approve are below; NaN without any."""
    good = np.sort(scored.scores[scored.approve])
    if not scored.contradicted.any() or not len(good):
        return float("nan")
    threshold = good[int(_FALSE_ALARMS * len(good))]
    return float((scored.scores[scored.contradicted] < threshold).mean())


def with_interval(measure: Measure, scored: Scored, resamples: int = RESAMPLES) -> list[float] | None:
    """The measure with the 2.5 % and 97.5 % quantiles of resampled clusters; None if it is undefined."""
    value = measure(scored)
    if np.isnan(value):
        return None
    _, codes = np.unique(np.array(scored.clusters), return_inverse=True)
    members = [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]
    random = np.random.default_rng(_SEED)
    drawn = (random.integers(len(members), size=len(members)) for _ in range(resamples))
    values = [measure(scored.taken(np.concatenate([members[code] for code in some]))) for some in drawn]
    low, high = np.nanquantile(values, [0.025, 0.975])
    return [round(float(number), 4) for number in (value, low, high)]
