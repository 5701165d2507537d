"""The differences that a set of questions can show, and the questions needed to show a given one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from workbench.measures.statistics.intervals import t_quantile
from workbench.measures.statistics.pairs import Pairs

POWER = 0.8
# The default of an experiment: differences below it do not matter.
SMALLEST_DIFFERENCE = 0.02
# An assumption about the standard deviation of a question's difference in span recall between two chunkings, for use before a sweep measures it.
SPREAD = 0.35
# Fewer questions support no estimate of a spread.
_FEWEST = 30


@dataclass(frozen=True, slots=True)
class Detectable:
    """The power of a comparison: a true `difference` of this size is shown in 80 % of experiments like this one.

    It is for configurations `a` and `b`, tested at `level`, so that all comparisons of the family hold at once. `needed` questions would
    show `smallest`, if the new questions come with new documents in the present proportion.
    """

    a: str
    b: str
    difference: float
    level: float
    smallest: float
    needed: int


def detectable(pairs: Pairs, pair: int, names: Sequence[str], level: float, smallest: float) -> Detectable | None:
    """The difference shown with 80 % power, (t + z) · SE with the family's t, and the number of questions n · (difference / smallest)².

    None if the difference of the pair does not vary.
    """
    if not np.isfinite(pairs.error[pair]):
        return None
    difference = float((t_quantile(pairs.freedom[pair], level) + scipy.special.ndtri(POWER)) * pairs.error[pair])
    needed = math.ceil(float(pairs.n[pair]) * (difference / smallest) ** 2)
    sides = names[pairs.a[pair]], names[pairs.b[pair]]
    return Detectable(*sides, difference, level, smallest, max(needed, _FEWEST))


def expected_difference(questions: int, comparisons: int) -> float:
    """Estimate the difference that some questions show, before anything was measured: (z + z) · SPREAD / √n, corrected for the comparisons."""
    return _quantiles(comparisons) * SPREAD / math.sqrt(max(1, questions))


def expected_questions(difference: float, comparisons: int) -> int:
    """Estimate the questions that show a difference, before anything was measured."""
    return max(_FEWEST, math.ceil((_quantiles(comparisons) * SPREAD / difference) ** 2))


def _quantiles(comparisons: int) -> float:
    # Bonferroni's correction, which needs no data.
    return float(scipy.special.ndtri(1 - 0.05 / 2 / max(1, comparisons)) + scipy.special.ndtri(POWER))
