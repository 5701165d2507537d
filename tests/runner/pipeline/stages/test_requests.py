"""A judge or a splitter that breaks its contract ends the stage with its name, and nothing wrong is stored."""

from workbench.components.judging.base import AnswerClaims, Judgement, JudgeRequest, SplitRequest
from workbench.core.records import Claim, Passage
from workbench.runner.pipeline.stages.judging import claims_fault, judgement_fault

REQUEST = JudgeRequest("support", "q", "a", "a claim", (Passage("d", 0, 5, "words"),))


def test_a_judgement_keeps_its_contract() -> None:
    cases = [
        (Judgement(0.5), ""),
        (Judgement(1.0, "supported", passage=0, start=0, end=5), ""),
        (Judgement(error="the server is down"), ""),
        (Judgement(1.0, error="the server is down"), "a score with an error"),
        (Judgement(), "the score None, which is not from 0 to 1, and no error"),
        (Judgement(float("nan")), "the score nan, which is not from 0 to 1, and no error"),
        (Judgement(7.0), "the score 7.0, which is not from 0 to 1, and no error"),
        (Judgement(1.0, "SUPPORTED"), "the verdict 'SUPPORTED'"),
        (
            Judgement(1.0, passage=99),
            "the passage 99 of 1",
        ),
        (Judgement(1.0, passage=0, start=0, end=6), "the words [0, 6) of a passage of 5 characters"),
    ]
    assert [judgement_fault(judgement, REQUEST) for judgement, _ in cases] == [fault for _, fault in cases]


def test_a_claim_keeps_its_contract() -> None:
    cases = [
        (Claim("It opens.", 0, 9), ""),
        (Claim("It opens.", 0, 99), "a claim at [0, 99) of an answer of 9 characters"),
        (Claim("It \ud800 opens.", 0, 9), "a claim that is blank, or has half of a surrogate pair"),
        (Claim(" ", 0, 9), "a claim that is blank, or has half of a surrogate pair"),
    ]
    assert [(claim, claims_fault(AnswerClaims((claim,)), SplitRequest("q", "It opens."))) for claim, _ in cases] == cases
