"""Values that come with an answer or its context: the label of a recorded answer, and the recall of packing."""

import numpy as np

from workbench.metrics.answers.case import AnswerCase, AnswerValues

NO_LABEL = "no label"
NOTHING_RELEVANT = "no relevant chunk was retrieved"


def labelled_correctness(case: AnswerCase) -> AnswerValues:
    """1 if the answer is labelled correct."""
    correct = case.answers.correct
    return AnswerValues(correct, ((NO_LABEL, np.isnan(correct)),))


def packing_recall(case: AnswerCase) -> AnswerValues:
    """Passages with evidence in the context / passages with evidence that retrieval delivers."""
    recall = case.contexts.packing_recall
    return AnswerValues(recall, ((NOTHING_RELEVANT, np.isnan(recall)),))
