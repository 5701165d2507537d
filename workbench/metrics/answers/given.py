"""Values that come with an answer or its context: the label of a recorded answer, and the recall of packing."""

import numpy as np

from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.definition import ANSWERABLE, RETRIEVED_CONTEXT, WORKBENCH, MetricDefinition

NO_LABEL = "no label"
NOTHING_RELEVANT = "no relevant chunk was retrieved"


def labelled_correctness(case: Case, _: Cut) -> MetricValues:
    """1 if the answer is labelled correct."""
    correct = case.answers.correct
    return MetricValues(correct, not_applicable=((NO_LABEL, np.isnan(correct)),))


def packing_recall(case: Case, _: Cut) -> MetricValues:
    """Passages with evidence in the context / passages with evidence that retrieval delivers."""
    recall = case.contexts.packing_recall
    return MetricValues(recall, not_applicable=((NOTHING_RELEVANT, np.isnan(recall)),))


LABELLED_CORRECTNESS = MetricDefinition(
    "labelled_correctness",
    labelled_correctness,
    reads=("answer",),
    definition="1 if a recorded answer is labelled correct",
    formula="the label",
    source="the file of recorded answers",
    compares="label",
)
PACKING_RECALL = MetricDefinition(
    "packing_recall",
    packing_recall,
    reads=("context",),
    requires=(ANSWERABLE, RETRIEVED_CONTEXT),
    definition="share of the delivered passages with evidence that reached the context",
    formula="passages with evidence in the context / passages with evidence delivered by retrieval",
    source=WORKBENCH,
    usual=True,
)
