"""Items that a judge judged and a person labelled in part, with the values that corrections give."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.core.formatting import plural
from workbench.errors import InputError
from workbench.metrics.coverage import Bools, Floats, Ints
from workbench.statistics.clusters import Clusters

# With fewer labels the intervals of corrections contain the truth too rarely.
FEWEST_LABELS = 50
# What a value describes: the judged items, or the questions and documents of which they are a sample.
Target = Literal["items", "population"]
TARGETS: tuple[Target, ...] = ("items", "population")
POST_STRATIFIED, RECTIFIED, LABELS_ALONE = "post-stratified", "pairwise rectified", "labels alone"


@dataclass(frozen=True, slots=True, eq=False)
class LabelledItems:
    """The N judged items (claims or answers) of one configuration on the Q questions of `clusters`.

    `query` (N) is the question of each item and `weight` (N) its share in the mean: the weights of a question's items sum to the question's own,
    and those of all questions to Q. `judged` (N) is 1 or 0, NaN if the judge gave no verdict, `label` (N) 1 or 0, NaN without a label.
    `random` (N) marks items that were drawn by drawing questions, then one item of each by weight. Labels of other items must be drawn at random among those
    with the same `judged`, again at most one of a question.
    """

    query: Ints
    weight: Floats
    judged: Floats
    label: Floats
    random: Bools
    clusters: Clusters

    @property
    def labelled(self) -> Bools:
        """Which items have a label. Shape (N,)."""
        return ~np.isnan(self.label)

    @property
    def verdict_class(self) -> Ints:
        """Return 0, 1, or 2 for an item without a verdict. Shape (N,)."""
        return np.where(np.isnan(self.judged), 2, self.judged).astype(np.int64)

    @property
    def question_weight(self) -> Floats:
        """The weight of each question, 0 without items. Shape (Q,)."""
        return self.per_question(self.weight)

    @property
    def questions(self) -> int:
        """The number of questions with items."""
        return len(np.unique(self.query))

    def per_question(self, values: Floats) -> Floats:
        """Sum values (N) over the items of each question. Shape (Q,)."""
        return np.bincount(self.query, values, minlength=len(self.clusters)).astype(np.float64)


@dataclass(frozen=True, slots=True)
class CorrectedValue:
    """A mean or difference with its 95 % interval (NaN without bounds), from `labels` labels of `n` questions.

    `method` is `post-stratified`, `pairwise rectified`, or `labels alone` where the judge would widen the interval.
    """

    value: float
    low: float
    high: float
    labels: int
    n: int
    target: Target
    method: str

    @property
    def width(self) -> float:
        """Return the width of the interval, infinite without bounds."""
        return self.high - self.low if np.isfinite(self.high - self.low) else float("inf")


def require_labels(labels: int) -> None:
    """Raise InputError if the labels are too few for a correction."""
    if labels < FEWEST_LABELS:
        raise InputError(f"{plural(labels, 'label')} cannot correct a judge", f"label at least {FEWEST_LABELS} items of each configuration")
