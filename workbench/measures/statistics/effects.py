"""The mean effects of changes over matched pairs of configurations, and whether an effect differs between the pairs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from workbench.measures.metrics.coverage import Floats
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.comparison import Comparison, comparisons, p_values
from workbench.measures.statistics.intervals import ALPHA, by_unit
from workbench.measures.statistics.pairs import FEWEST_LOSING, SMALLEST_DIFFERENCE, detectable, from_zero
from workbench.measures.statistics.randomisation import FLIPS, randomise
from workbench.measures.statistics.verdict import SEED, enough

# Differences that cancel each other leave no more than this.
_ROUNDING = 1e-12
EFFECT_METHODS = (
    "effects: the differences of the matched pairs are averaged within each question, then tested and bounded as differences of two configurations",
    "corrected p of effects: max-T over all effects on the primary metric by the same sign flips, step-down, with the same corrections",
    "claims about other documents: documents that were not seen, each with a total loss, must not be able to undo the effect with 5 % probability, unless "
    "3 documents with half of such a loss were seen; otherwise the effect holds for these documents",
    "whether an effect differs between pairs: each pair's difference from the mean effect, max-T over all pairs of all effects",
)


class EffectReading(StrEnum):
    """The conclusion about an effect on the primary metric."""

    GAIN = "gain"
    LOSS = "loss"
    GAIN_HERE = "a gain on these documents"
    LOSS_HERE = "a loss on these documents"
    UNDECIDED = "undecided"
    TOO_FEW = "too few data for a claim"


class SideLevels(NamedTuple):
    """The means of the sides with and without a change, as distances from the worst possible value: what these can lose."""

    with_change: float
    without: float


class Change(NamedTuple):
    """A change with its differences on each query, an array (matched pairs, q; NaN if unscored), and the `sides` with and without it.

    With `levels`, an effect that documents which were not seen could undo is read as one on these documents. `tested` is the comparison of a single pair
    in another family.
    """

    differences: Floats
    sides: tuple[str, str]
    levels: SideLevels | None = None
    tested: Comparison | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """The mean effect of a change, over matched pairs of configurations that differ only in it.

    `comparison` is of the configurations with the change and those without, averaged within each query; its family are all effects. That of a single
    pair is the comparison of these two configurations, in the family to which it belongs.
    `p_differs`: that the effect is the same in all matched pairs, corrected for all pairs of all effects; NaN with a single pair.
    `detectable` is the difference that these queries show with 80 % power, NaN if the effect does not vary.
    """

    comparison: Comparison
    reading: EffectReading
    p_differs: float
    detectable: float


def effects(changes: Sequence[Change], clusters: Clusters, loss: float, sign: float = 1.0, flips: int = FLIPS) -> list[Effect]:
    """Estimate the effect of each change. A query counts if all of its pairs have a value.

    `loss` is the difference in a total loss (`statistics.pairs.total_loss`). A `sign` of -1 says that lower values are better.
    """
    if not changes:
        return []
    means = _rounded(np.array([change.differences.mean(axis=0) for change in changes]))
    # Documents without a scored question are no part of the sample: the sums of so many documents would have another distribution.
    scored = np.asarray(~np.isnan(means).all(axis=0))
    if scored.any():
        changes = [change._replace(differences=change.differences[:, scored]) for change in changes]
        means, clusters = means[:, scored], clusters[scored]
    pairs, family = from_zero(means, clusters, loss), np.array([change.tested is None for change in changes])
    tests = randomise(pairs, family, SEED, flips)
    labels = ["", *(str(index) for index in range(len(means)))]
    corrected = iter(comparisons(pairs, tests, family, labels))
    found = []
    for index, (change, mean, p) in enumerate(zip(changes, means, _differing(changes, means, clusters, flips), strict=True)):
        row = change.tested or next(corrected)
        undone = change.levels is not None and _could_be_undone(sign * mean, clusters, change.levels)
        power = detectable(pairs, index, labels, row.level, SMALLEST_DIFFERENCE)
        a, b = change.sides
        found.append(Effect(replace(row, a=a, b=b), _reading(row, sign, undone), p, power.difference if power else np.nan))
    return found


def _could_be_undone(differences: Floats, clusters: Clusters, levels: SideLevels) -> bool:
    """Check whether unseen documents could undo the mean of differences (q, NaN if unscored), of which positive ones are gains.

    If the better side lost all on a share p of the documents, which is the level L of the other side there, and gained g on the others, both would
    cancel for p = g / (g + L). That none of G documents is one of them has the probability (1 - p)^G. With several documents that lose half of L, the
    sample shows how often that occurs.
    """
    scored = ~np.isnan(differences)
    values, observed = clusters[scored].averaged(differences[None, scored])
    sizes, sums = np.bincount(observed.codes), by_unit(values, observed.codes)[0]
    effect = float(values.mean())
    lost = levels.without if effect > 0 else levels.with_change
    losing = int((np.sign(effect) * sums / sizes <= -lost / 2).sum())
    return lost > 0 and losing < FEWEST_LOSING and (lost / (abs(effect) + lost)) ** len(sizes) > ALPHA


def _reading(row: Comparison, sign: float, undone: bool) -> EffectReading:
    if not enough(row.difference.n, row.difference.clusters) or np.isnan(row.p):
        return EffectReading.TOO_FEW
    if not row.p_adjusted <= ALPHA:
        return EffectReading.UNDECIDED
    if sign * row.difference.value > 0:
        return EffectReading.GAIN_HERE if undone else EffectReading.GAIN
    return EffectReading.LOSS_HERE if undone else EffectReading.LOSS


def _differing(changes: Sequence[Change], means: Floats, clusters: Clusters, flips: int) -> list[float]:
    """The smallest corrected p of each change's pairs that a pair differs from the mean effect. NaN with a single pair."""
    several = [index for index, change in enumerate(changes) if len(change.differences) > 1]
    if not several:
        return [np.nan] * len(changes)
    rows = _rounded(np.concatenate([changes[index].differences - means[index] for index in several]))
    # This is a warning, which losses that were not seen must not silence.
    pairs = from_zero(rows, clusters, 0.0)
    adjusted = p_values(pairs, randomise(pairs, pairs.n > 0, SEED, flips))[1]
    starts = np.cumsum([0, *(len(changes[index].differences) for index in several)])
    smallest = np.fmin.reduceat(adjusted, starts[:-1])
    by_place = dict(zip(several, smallest.tolist(), strict=True))
    return [by_place.get(index, np.nan) for index in range(len(changes))]


def _rounded(differences: Floats) -> Floats:
    return np.where(np.abs(differences) < _ROUNDING, 0.0, differences)
