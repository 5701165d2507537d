"""The mean effects of changes over matched pairs of configurations, and whether an effect differs between the pairs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from workbench.metrics.coverage import Floats
from workbench.statistics.clusters import Clusters
from workbench.statistics.comparison import Comparison, comparisons, p_values
from workbench.statistics.intervals import ALPHA
from workbench.statistics.pairs import Pairs, from_zero
from workbench.statistics.power import SMALLEST_DIFFERENCE, detectable
from workbench.statistics.randomisation import FLIPS, Randomised, randomise
from workbench.statistics.verdict import SEED, enough

# Differences that cancel each other leave no more than this.
_ROUNDING = 1e-12
EFFECT_METHODS = (
    "effects: the differences of the matched pairs are averaged within each question, then tested and bounded as differences of two configurations",
    "corrected p of effects: max-T over all effects on the primary metric by the same sign flips, step-down, with the same corrections",
    "whether an effect differs between pairs: each pair's difference from the mean effect, max-T over all pairs of all effects",
)


class EffectReading(StrEnum):
    """The conclusion about an effect on the primary metric."""

    GAIN = "gain"
    LOSS = "loss"
    UNDECIDED = "undecided"
    TOO_FEW = "too few data for a claim"


@dataclass(frozen=True, slots=True)
class Effect:
    """The mean effect of a change, over matched pairs of configurations that differ only in it.

    `comparison` is of the configurations with the change and those without, averaged within each query; its family are all effects.
    `p_differs`: that the effect is the same in all matched pairs, corrected for all pairs of all effects; NaN with a single pair.
    `detectable` is the difference that these queries show with 80 % power, NaN if the effect does not vary.
    """

    comparison: Comparison
    reading: EffectReading
    p_differs: float
    detectable: float


def effects(
    changes: Sequence[Floats], names: Sequence[tuple[str, str]], clusters: Clusters, loss: float, sign: float = 1.0, flips: int = FLIPS
) -> list[Effect]:
    """Estimate the effect of each change, which is an array (matched pairs, q; NaN if unscored) of differences on each query.

    A query counts if all of the pairs have a value. `names` are of the sides with and without the change. `loss` is the difference in a
    total loss (`statistics.pairs.total_loss`). A `sign` of -1 says that lower values are better.
    """
    if not changes:
        return []
    means = _rounded(np.array([change.mean(axis=0) for change in changes]))
    pairs = from_zero(means, clusters, loss)
    tests = randomise(pairs, np.ones(len(means), dtype=np.bool_), SEED, flips)
    labels = ["", *(str(place) for place in range(len(means)))]
    rows = comparisons(pairs, tests, np.ones(len(means), dtype=np.bool_), labels)
    differing = _differing(changes, means, clusters, flips)
    return [
        Effect(replace(row, a=a, b=b), _reading(row, sign), p, _detectable(pairs, tests, place, labels))
        for place, (row, (a, b), p) in enumerate(zip(rows, names, differing, strict=True))
    ]


def _reading(row: Comparison, sign: float) -> EffectReading:
    if not enough(row.difference.n, row.difference.clusters) or np.isnan(row.p):
        return EffectReading.TOO_FEW
    if not row.p_adjusted <= ALPHA:
        return EffectReading.UNDECIDED
    return EffectReading.GAIN if sign * row.difference.value > 0 else EffectReading.LOSS


def _detectable(pairs: Pairs, tests: Randomised, place: int, labels: Sequence[str]) -> float:
    power = detectable(pairs, place, labels, tests.level, SMALLEST_DIFFERENCE)
    return power.difference if power else np.nan


def _differing(changes: Sequence[Floats], means: Floats, clusters: Clusters, flips: int) -> list[float]:
    """The smallest corrected p of each change's pairs that a pair differs from the mean effect. NaN with a single pair."""
    several = [place for place, change in enumerate(changes) if len(change) > 1]
    if not several:
        return [np.nan] * len(changes)
    rows = _rounded(np.concatenate([changes[place] - means[place] for place in several]))
    # This is a warning, which losses that were not seen must not silence.
    pairs = from_zero(rows, clusters, 0.0)
    adjusted = p_values(pairs, randomise(pairs, pairs.n > 0, SEED, flips))[1]
    starts = np.cumsum([0, *(len(changes[place]) for place in several)])
    smallest = np.fmin.reduceat(adjusted, starts[:-1])
    by_place = dict(zip(several, smallest.tolist(), strict=True))
    return [by_place.get(place, np.nan) for place in range(len(changes))]


def _rounded(differences: Floats) -> Floats:
    return np.where(np.abs(differences) < _ROUNDING, 0.0, differences)
