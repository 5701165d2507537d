"""Judgements of whole answers: relevance, correctness and a rubric."""

import numpy as np

from workbench.judging.base import Task
from workbench.metrics.answers.case import AnswerValues
from workbench.metrics.case import Cut
from workbench.metrics.judged.case import JudgedCase
from workbench.metrics.judged.values import error_of, floats, grouped, mean_of


def answer_relevance(case: JudgedCase, _: Cut) -> AnswerValues:
    """Judged relevance of the answer to the question, 0 for a refusal."""
    return _judged(case, "answer_relevance")


def answer_correctness(case: JudgedCase, _: Cut) -> AnswerValues:
    """Judged agreement with the expected answer, 0 for a refusal."""
    return _judged(case, "correctness")


def rubric(case: JudgedCase, _: Cut) -> AnswerValues:
    """Judgement of the answer as a whole, 0 for a refusal."""
    return _judged(case, "rubric")


def _judged(case: JudgedCase, task: Task) -> AnswerValues:
    found = [[each.tasks[task]] if task in each.tasks else [] for each in case.judgements]
    refused = case.answered.answers.refused
    # An empty text answers nothing, and is not shown to a judge.
    silent = refused | np.array([not text.strip() for text in case.answered.answers.texts], dtype=np.bool_)
    values = np.where(silent, 0.0, floats([mean_of(each) for each in found]))
    errors = [error_of(each, expected) for each, expected in zip(found, (~silent).astype(int).tolist(), strict=True)]
    return AnswerValues(values, unscored=grouped(errors))
