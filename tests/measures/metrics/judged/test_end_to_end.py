from dataclasses import replace

import numpy as np
import pytest

from tests.answer_cases import Asked
from tests.judged_cases import FAILED, LONG, Judged, outcomes
from workbench.core.records import Variant

SCORE = "`overlap` is a score, not a judge"
GOOD = Judged(verdicts=("supported",) * 9 + ("absent",), passages=(0.5,), relevance=0.5, correctness=0.5)
FAILURES = {
    "no passage of an expected document": replace(GOOD, relevant=("e",)),
    "an irrelevant passage": replace(GOOD, asked=Asked(LONG, passages=(("d", 0, 9), ("d", 9, 12))), passages=(0.9, 0.49)),
    "unfaithful": replace(GOOD, verdicts=("supported",) * 8 + ("absent",) * 2),
    "fifty characters": replace(GOOD, asked=Asked("x" * 50, passages=(("d", 0, 9),))),
    "off topic": replace(GOOD, relevance=0.49),
    "wrong": replace(GOOD, correctness=0.49),
    "refused": Judged(Asked("I do not know", refused=True, passages=(("d", 0, 9),)), passages=(1.0,)),
    "answered though unanswerable": replace(GOOD, asked=Asked(LONG, answerable=False, passages=(("d", 0, 9),))),
}


def test_an_answer_that_reaches_every_threshold_passes() -> None:
    assert outcomes("end_to_end", GOOD) == [1.0]


@pytest.mark.parametrize("judged", FAILURES.values(), ids=list(FAILURES))
def test_one_missed_threshold_fails(judged: Judged) -> None:
    assert outcomes("end_to_end", judged) == [0.0]


def test_a_refusal_passes_where_the_question_is_unanswerable() -> None:
    assert outcomes("end_to_end", Judged(Asked("I do not know", answerable=False, refused=True, passages=(("d", 0, 9),)))) == [1.0]


def test_every_threshold_can_be_changed() -> None:
    changes = {"context_relevance": 0.4, "faithfulness": 0.8, "answer_relevance": 0.4, "correctness": 0.4, "characters": 49}
    names = ("an irrelevant passage", "unfaithful", "fifty characters", "off topic", "wrong")
    assert outcomes("end_to_end", *(FAILURES[name] for name in names), **changes) == [1.0] * 5


def test_a_test_that_does_not_apply_is_passed() -> None:
    without_claims, without_expected = replace(GOOD, verdicts=()), replace(GOOD, correctness=None)
    assert outcomes("end_to_end", without_claims, without_expected) == [1.0, 1.0]


def test_grounding_is_left_out_where_the_judge_of_claims_is_a_score_or_the_answer_is_copied() -> None:
    unfaithful = FAILURES["unfaithful"]
    assert outcomes("end_to_end", unfaithful, only_score=SCORE) == [1.0]
    assert outcomes("end_to_end", unfaithful, verbatim=True) == [1.0]
    assert outcomes("end_to_end", replace(unfaithful, verdicts=(None,)), only_score=SCORE) == [1.0]


@pytest.mark.parametrize("change", [{"verdicts": (None,)}, {"passages": (None,)}, {"relevance": np.nan}, {"correctness": np.nan}])
def test_a_failed_judgement_is_unscored_also_where_another_test_is_failed(change: dict[str, object]) -> None:
    assert outcomes("end_to_end", replace(GOOD, **change), replace(GOOD, relevant=(), **change)) == [f"unscored: {FAILED}"] * 2


def test_grounding_is_unknown_while_calls_of_the_judge_s_test_are_missing() -> None:
    assert outcomes("end_to_end", GOOD, replace(GOOD, verdicts=()), untested="down") == ["unscored: down", 1.0]


def test_it_does_not_apply_to_a_closed_book() -> None:
    assert outcomes("end_to_end", GOOD, variant=Variant("none")) == ["not_applicable: closed book"]
