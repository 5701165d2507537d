"""Refusals: where the context does not answer the question, and where it does."""

import numpy as np

from workbench.metrics.answers.case import AnswerCase, AnswerValues


def refused(case: AnswerCase) -> AnswerValues:
    """1 if the answer is a refusal."""
    return AnswerValues(case.answers.refused.astype(np.float64))
