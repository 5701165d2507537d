"""Refusals: where the context does not answer the question, and where it does."""

from functools import partial

import numpy as np

from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.definition import ANSWERABLE, IN_CONTEXT, REFUSABLE, WITH_GOLD, WITHOUT_GOLD, WORKBENCH, MetricDefinition


def refused(case: Case, _: Cut) -> MetricValues:
    """1 if the answer is a refusal."""
    return MetricValues(case.answers.refused.astype(np.float64))


_metric = partial(MetricDefinition, compute=refused, reads=("context", "answer"), formula="1 if refused, else 0", source=WORKBENCH)
REFUSAL_METRICS = (
    _metric(
        "refusal_rate",
        requires=(REFUSABLE,),
        definition="1 if a question is refused that should be: an unanswerable one, or one whose evidence was removed from the context",
        usual=True,
        suite_test="negative",
    ),
    _metric(
        "refusal_rate_without_gold",
        requires=(ANSWERABLE, *IN_CONTEXT, WITHOUT_GOLD),
        definition="1 if an answerable question is refused whose context contains no evidence, for whatever reason",
    ),
    _metric(
        "over_refusal_rate",
        requires=(ANSWERABLE, WITH_GOLD),
        definition="1 if a question is refused although its context contains all evidence; lower is better",
        higher_is_better=False,
        usual=True,
    ),
)
