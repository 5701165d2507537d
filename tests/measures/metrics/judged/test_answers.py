import numpy as np
import pytest

from tests.answer_cases import Asked
from tests.judged_cases import FAILED, Judged, outcomes

TASKS = {"answer_relevance": "relevance", "answer_correctness": "correctness", "rubric": "rubric"}


@pytest.mark.parametrize(("name", "task"), TASKS.items())
def test_the_value_is_the_score_of_the_judge_and_0_for_a_refusal(name: str, task: str) -> None:
    judged = [Judged(**{task: 0.75}), Judged(Asked("I do not know", refused=True)), Judged(Asked("  "))]
    assert outcomes(name, *judged) == [0.75, 0.0, 0.0]


@pytest.mark.parametrize(("name", "task"), TASKS.items())
def test_a_failed_judgement_is_unscored_and_an_unanswerable_question_not_applicable(name: str, task: str) -> None:
    assert outcomes(name, Judged(**{task: np.nan}), Judged(Asked("x", answerable=False))) == [
        f"unscored: {FAILED}",
        "not_applicable: unanswerable",
    ]


def test_correctness_needs_an_expected_answer() -> None:
    assert outcomes("answer_correctness", Judged(Asked("x", expected=("",)))) == ["not_applicable: no expected answer"]
