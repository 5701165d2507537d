"""Separate the variance between repeats of a question from the variance between questions."""

from dataclasses import dataclass

import numpy as np

from workbench.metrics.coverage import Floats


@dataclass(frozen=True, slots=True)
class RepeatVariance:
    """The components of variance of a metric over `n` questions with at least two values each.

    `between_repeats` is the variance of one answer around the question's expected value, `between_questions` that of the expected values.
    `reliability` is the share of the variance of a single answer that is between questions, NaN if nothing varies. `changed` counts the questions with
    different values.
    """

    between_repeats: float
    between_questions: float
    reliability: float
    changed: int
    n: int

    @property
    def repeats_deviation(self) -> float:
        """Return the standard deviation between repeats."""
        return float(np.sqrt(self.between_repeats))

    @property
    def questions_deviation(self) -> float:
        """Return the standard deviation between questions."""
        return float(np.sqrt(self.between_questions))


def repeat_variance(values: Floats) -> RepeatVariance | None:
    """Estimate the components from values (repeats, q; NaN if unscored) by one-way analysis of variance. None without two repeated questions.

    With r_i values of question i, N in total, s² between repeats is Σ (x_ij - x_i)² / (N - q), and s² between questions is
    (MS - s²) / r0, at least 0, where MS = Σ r_i (x_i - x)² / (q - 1) and r0 = (N - Σ r_i² / N) / (q - 1) (Searle, Casella and McCulloch 1992).
    """
    repeated = values[:, (~np.isnan(values)).sum(axis=0) >= 2]
    questions = repeated.shape[1]
    if questions < 2:
        return None
    counts = (~np.isnan(repeated)).sum(axis=0)
    total, means = int(counts.sum()), np.nanmean(repeated, axis=0)
    within = float(np.nansum((repeated - means) ** 2) / (total - questions))
    grand = float((counts * means).sum() / total)
    between = float((counts * (means - grand) ** 2).sum() / (questions - 1))
    size = (total - float((counts**2).sum()) / total) / (questions - 1)
    component = max(0.0, (between - within) / size)
    changed = int((np.nanmax(repeated, axis=0) > np.nanmin(repeated, axis=0)).sum())
    whole = component + within
    return RepeatVariance(within, component, component / whole if whole > 0 else np.nan, changed, questions)
