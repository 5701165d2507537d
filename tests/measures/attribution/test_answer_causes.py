"""One cause for every failed question: cases worked by hand, a rule each, and the laws over everything that can be observed."""

import itertools
from dataclasses import replace

import pytest

from workbench.components.judging.base import Verdict
from workbench.measures.attribution.answer_causes import AnswerCause, AnswerFacts, answer_cause, failed
from workbench.measures.attribution.causes import CAUSE_NAMES

SUPPORTED, CONTRADICTED, ABSENT, UNKNOWN = (
    ("The ferry leaves at 9.", "supported"),
    ("It costs 4 euros.", "contradicted"),
    ("It has a bar.", "absent"),
    ("Dogs are welcome.", ""),
)
RIGHT = AnswerFacts(answerable=True, refused=False, correct=True, claims=(SUPPORTED,), relevant=True)
WRONG = replace(RIGHT, correct=False)
REFUSED = AnswerFacts(answerable=True, refused=True, correct=False)
UNANSWERABLE = AnswerFacts(answerable=False, refused=False)
LATE, CUT = AnswerCause("rank", "a:3-9"), AnswerCause("boundary", "b:0-5")


def named(seen: AnswerFacts) -> str:
    cause = answer_cause(seen)
    return cause.cause if cause else ""


@pytest.mark.parametrize(
    ("seen", "cause"),
    [
        (RIGHT, ""),
        (replace(RIGHT, claims=()), ""),
        (replace(UNANSWERABLE, refused=True), ""),
        (UNANSWERABLE, "unrefused"),
        (REFUSED, "refusal"),
        (replace(RIGHT, claims=(SUPPORTED, ABSENT)), "unsupported"),
        (replace(RIGHT, claims=(SUPPORTED, CONTRADICTED)), "contradiction"),
        (replace(WRONG, claims=(CONTRADICTED,)), "contradiction"),
        (replace(WRONG, relevant=False), "off_topic"),
        (WRONG, "unused"),
        (replace(WRONG, claims=()), "unused"),
    ],
)
def test_a_failed_question_has_the_cause_that_its_answer_shows(seen: AnswerFacts, cause: str) -> None:
    assert named(seen) == cause


@pytest.mark.parametrize("wrong", [REFUSED, WRONG, replace(WRONG, claims=(CONTRADICTED,)), replace(RIGHT, claims=(ABSENT,))])
def test_missing_evidence_explains_whatever_the_answer_makes_of_the_rest(wrong: AnswerFacts) -> None:
    assert answer_cause(replace(wrong, missed=(LATE,))) == AnswerCause("rank", "a:3-9")


def test_of_several_missed_pieces_the_one_of_the_earliest_layer_is_named() -> None:
    assert answer_cause(replace(WRONG, missed=(LATE, CUT))) == AnswerCause("boundary", "b:0-5")


def test_a_right_and_supported_answer_has_not_failed_even_without_its_evidence() -> None:
    assert answer_cause(replace(RIGHT, missed=(LATE,))) is None


def test_a_contradicted_claim_comes_before_an_absent_one_and_is_what_shows_the_cause() -> None:
    assert answer_cause(replace(WRONG, claims=(ABSENT, SUPPORTED, CONTRADICTED))) == AnswerCause("contradiction", "It costs 4 euros.")
    assert answer_cause(replace(WRONG, claims=(SUPPORTED, ABSENT))) == AnswerCause("unsupported", "It has a bar.")


def test_low_relevance_of_a_faithful_answer_is_a_retrieval_fault() -> None:
    beside = replace(WRONG, relevant=False)
    assert named(replace(beside, missed=(LATE,))) == "rank"
    # Nobody knows what the context lacks, and an answer copied from it misses the question.
    assert named(replace(beside, missed=None)) == "rank"
    assert named(replace(beside, missed=None, correct=None)) == "rank"
    # The labels know better than the rule.
    assert named(beside) == "off_topic"


@pytest.mark.parametrize("claims", [None, (UNKNOWN,), (SUPPORTED, UNKNOWN)])
def test_a_wrong_answer_that_nobody_could_verify_is_unsure(claims: tuple[tuple[str, Verdict], ...] | None) -> None:
    assert named(replace(WRONG, claims=claims)) == "unsure"
    assert named(replace(WRONG, claims=claims, relevant=False)) == "unsure"


def test_a_denied_claim_is_named_although_another_could_not_be_verified() -> None:
    assert named(replace(WRONG, claims=(UNKNOWN, ABSENT))) == "unsupported"


def test_a_faithful_wrong_answer_did_not_use_the_evidence_whatever_its_relevance() -> None:
    assert named(replace(WRONG, relevant=None)) == "unused"


@pytest.mark.parametrize("blind", [replace(REFUSED, missed=None), replace(WRONG, missed=None)])
def test_without_labels_of_evidence_a_refusal_or_a_wrong_answer_is_unsure(blind: AnswerFacts) -> None:
    assert named(blind) == "unsure"


def test_a_cause_that_needs_no_judge_is_named_without_one() -> None:
    unjudged = AnswerFacts(answerable=True, refused=True, correct=None, claims=None, relevant=None)
    assert named(unjudged) == "refusal"
    assert named(replace(unjudged, missed=(CUT,))) == "boundary"
    assert named(replace(unjudged, answerable=False, refused=False)) == "unrefused"


@pytest.mark.parametrize("correct", [True, None])
def test_an_answer_that_nobody_could_judge_has_not_failed(correct: bool | None) -> None:
    assert answer_cause(replace(RIGHT, correct=correct, claims=(UNKNOWN,), relevant=None)) is None


def test_a_correct_answer_is_never_off_topic() -> None:
    assert not failed(replace(RIGHT, relevant=False))
    assert failed(replace(RIGHT, correct=None, relevant=False))


def test_exactly_one_listed_cause_for_every_failed_question_and_none_for_another() -> None:
    maybe = (True, False, None)
    missed = ((), (LATE,), (LATE, CUT), None)
    claims = (None, (), *((claim,) for claim in (SUPPORTED, CONTRADICTED, ABSENT, UNKNOWN)), (UNKNOWN, ABSENT))
    for values in itertools.product((True, False), (True, False), missed, maybe, claims, maybe):
        seen = AnswerFacts(*values)
        assert (named(seen) in CAUSE_NAMES) if failed(seen) else (named(seen) == "")
