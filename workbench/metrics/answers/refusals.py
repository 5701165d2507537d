"""Refusals: where the context does not answer the question, and where it does."""

import numpy as np

from workbench.metrics.answers.case import AnswerCase, AnswerValues

# Conditions whose contexts contain no evidence.
WITHOUT_EVIDENCE = ("missing_gold", "irrelevant_only")
CLOSED_BOOK = "none"


def refused(case: AnswerCase) -> AnswerValues:
    """1 if the answer is a refusal."""
    return AnswerValues(case.answers.refused.astype(np.float64))
