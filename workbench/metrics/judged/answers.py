"""Judgements of whole answers: relevance, correctness and a rubric."""

from functools import partial

import numpy as np

from workbench.judging.base import Task
from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.definition import ANSWERABLE, EXPECTED, MetricDefinition
from workbench.metrics.judged.values import RAGAS, error_of, floats, grouped, mean_of


def answer_relevance(case: Case, _: Cut) -> MetricValues:
    """Judged relevance of the answer to the question, 0 for a refusal."""
    return _judged(case, "answer_relevance")


def answer_correctness(case: Case, _: Cut) -> MetricValues:
    """Judged agreement with the expected answer, 0 for a refusal."""
    return _judged(case, "correctness")


def rubric(case: Case, _: Cut) -> MetricValues:
    """Judgement of the answer as a whole, 0 for a refusal."""
    return _judged(case, "rubric")


def _judged(case: Case, task: Task) -> MetricValues:
    found = [[each.tasks[task]] if task in each.tasks else [] for each in case.judgements.of_answers]
    refused = case.answers.refused
    # An empty text answers nothing, and is not shown to a judge.
    silent = refused | np.array([not text.strip() for text in case.answers.texts], dtype=np.bool_)
    values = np.where(silent, 0.0, floats([mean_of(each) for each in found]))
    errors = [error_of(each, expected) for each, expected in zip(found, (~silent).astype(int).tolist(), strict=True)]
    return MetricValues(values, unscored=grouped(errors))


_metric = partial(
    MetricDefinition,
    reads=("context", "answer", "judgement"),
    requires=(ANSWERABLE,),
    formula="the judge's score; 0 for a refusal",
    source=RAGAS,
)
ANSWER_CORRECTNESS = _metric(
    "answer_correctness",
    answer_correctness,
    aliases=("correctness",),
    requires=(ANSWERABLE, EXPECTED),
    definition="agreement of the answer with the expected answer or one of its variants, by the judge `correctness`",
    usual=True,
    compares="judge",
    tasks=("correctness",),
)
ANSWER_RELEVANCE = _metric(
    "answer_relevance",
    answer_relevance,
    aliases=("answer_relevancy",),
    definition="relevance of the answer to the question, by the judge `relevance`",
    usual=True,
    tasks=("answer_relevance",),
)
RUBRIC = _metric(
    "rubric",
    rubric,
    definition="quality of the answer as a whole, by the judge `rubric`",
    source="Zheng et al. 2023, Judging LLM-as-a-Judge",
    tasks=("rubric",),
)
