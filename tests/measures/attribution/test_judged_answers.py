"""What is known of an answer after its judges have judged, failed, or only scored it."""

import pytest

from workbench.components.judging.base import Judgement
from workbench.components.judging.settings import EndToEndThresholds
from workbench.measures.attribution.answer_causes import AnswerCause, AnswerFacts, JudgedQuestion, JudgeRoles, answer_cause, answer_facts
from workbench.measures.metrics.case import AnswerJudgements

JUDGES, SCORES = JudgeRoles(claims=True, relevance=True), JudgeRoles(claims=False, relevance=False)
DOWN = Judgement(error="the server timed out")


def judged(correctness: float | None = 0.9, relevance: float | None = 0.9, *support: Judgement, **different) -> JudgedQuestion:
    tasks = {"correctness": Judgement(correctness), "answer_relevance": Judgement(relevance)}
    judgements = AnswerJudgements(claims=len(support), support=support, tasks=tasks)
    values = {"answerable": True, "refused": False, "missed": (), "judgements": judgements}
    return JudgedQuestion(**values | {"claims": [f"claim {place}" for place in range(len(support))]} | different)


def test_judgements_become_facts_at_the_thresholds() -> None:
    yes, no = Judgement(1.0, "supported"), Judgement(0.2, "absent")
    seen = answer_facts(judged(0.5, 0.49, yes, no), JUDGES)
    claims = (("claim 0", "supported"), ("claim 1", "absent"))
    assert seen == AnswerFacts(True, False, (), True, claims, False)
    assert answer_cause(seen) == AnswerCause("unsupported", "claim 1")
    strict = JudgeRoles(True, True, EndToEndThresholds(correctness=0.6, answer_relevance=0.4))
    assert answer_facts(judged(0.5, 0.49), strict) == AnswerFacts(True, False, (), False, (), True)


def test_a_score_decides_whether_an_answer_is_correct_but_neither_about_claims_nor_about_relevance() -> None:
    seen = answer_facts(judged(0.3, 0.1, Judgement(0.2)), SCORES)
    assert seen == AnswerFacts(True, False, (), False, (("claim 0", ""),), None)
    assert answer_cause(seen) == AnswerCause("unsure")


def test_a_judge_of_claims_that_failed_its_test_counts_as_a_score() -> None:
    seen = answer_facts(judged(0.9, 0.9, Judgement(0.1, "absent")), SCORES)
    assert answer_cause(seen) is None


def test_the_label_of_a_recorded_answer_comes_before_a_judgement() -> None:
    assert answer_facts(judged(0.9, label=False), JUDGES).correct is False
    assert answer_facts(judged(0.1, label=True), JUDGES).correct is True


@pytest.mark.parametrize("roles", [JUDGES, SCORES])
def test_a_failed_judge_leaves_the_fact_unknown(roles: JudgeRoles) -> None:
    seen = answer_facts(judged(None, None, DOWN), roles)
    assert seen == AnswerFacts(True, False, (), None, (("claim 0", ""),), None)
    assert answer_cause(seen) is None
    unsplit = judged(0.1, judgements=AnswerJudgements(claims_error="down", tasks={"correctness": Judgement(0.1)}))
    assert answer_facts(unsplit, roles).claims is None
    assert answer_cause(answer_facts(unsplit, roles)) == AnswerCause("unsure")


def test_without_an_expected_answer_nobody_can_say_whether_an_answer_is_correct() -> None:
    assert answer_facts(judged(judgements=AnswerJudgements()), JUDGES).correct is None


def test_a_copy_of_the_context_is_faithful_whatever_a_judge_says() -> None:
    copy = answer_facts(judged(0.1, 0.9, Judgement(0.2, "absent"), verbatim=True), SCORES)
    assert answer_cause(copy) == AnswerCause("unused")
