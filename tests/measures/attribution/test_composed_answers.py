"""Failures as they occur, from their texts to their cause: what an answer, its context and its judgements show together."""

from typing import Any

import pytest

from workbench.components.answering.refusals import is_refusal
from workbench.components.context.question_labels import QuestionLabels
from workbench.components.judging.base import Judgement, Verdict
from workbench.core.records import Passage, Query
from workbench.measures.attribution.answer_causes import ContextEvidence, JudgedQuestion, JudgeRoles, answer_cause, answer_facts
from workbench.measures.attribution.answer_text import answer_text, expected_answers
from workbench.measures.metrics.case import AnswerJudgements

EVIDENCE = "A licence for the harbour crane is valid for three years and costs 1,200 euros."
PAGE = f"The crane stands at the west quay. {EVIDENCE} Riggers are trained in March. "
START = PAGE.index(EVIDENCE)
END = START + len(EVIDENCE)
NEED = Passage("crane", START, END, EVIDENCE)
WHOLE = Passage("crane", 0, len(PAGE), PAGE)
# All of the evidence but its full stop, and the first half of it.
NEARLY = Passage("crane", 0, END - 1, PAGE[: END - 1])
HALF = Passage("crane", 0, START + 40, PAGE[: START + 40])
ELSEWHERE = Passage("boats", 0, 44, "Guest boats lie at the east pier for a night")
QUERY = Query("q", "How long is a crane licence valid, and what does it cost?", answer="three years, 1200 euros")
SHORT = Query("q", "How long is a crane licence valid?", answer="three years")
UNANSWERABLE = Query("u", "Why is the west quay closed on Sundays?", answerable=False)
JUDGE, SCORE = JudgeRoles(claims=True, relevance=True), JudgeRoles(claims=False, relevance=False)


def cause(
    answer: str,
    *passages: Passage,
    query: Query = QUERY,
    retrieval: str = "rank",
    correct: float | None = 0.0,
    relevant: float | None = 1.0,
    claims: dict[str, Verdict] | None = None,
    roles: JudgeRoles = JUDGE,
    **different: Any,
) -> str:
    labels = QuestionLabels(query, expected_answers(query), ((NEED,),))
    if not query.answerable:
        labels = QuestionLabels(query)
    missed = ContextEvidence([labels], {(0, 0): retrieval}, {}).missed(0, passages, "retrieved") if query.answerable else ()
    refused, tasks, verdicts = is_refusal(answer), {}, {} if claims is None else claims
    if query.answerable and not refused:
        tasks = {"correctness": Judgement(correct), "answer_relevance": Judgement(relevant)}
    support = [Judgement(float(verdict == "supported"), verdict) for verdict in verdicts.values()]
    judged = JudgedQuestion(
        answerable=query.answerable,
        refused=refused,
        missed=missed,
        judgements=AnswerJudgements(len(support), support=support, tasks=tasks),
        claims=list(verdicts),
        expected=expected_answers(query),
        text=answer_text(query, passages, answer, refused=refused, truncated=different.pop("truncated", False)),
        **different,
    )
    found = answer_cause(answer_facts(judged, roles))
    return found.cause if found else ""


BESIDE = "The crane stands at the west quay."
SUPPORTED: dict[str, Verdict] = {BESIDE: "supported"}
RIGHT = "Three years, and it costs 1,200 euros."


def test_evidence_without_its_last_character_is_not_missing_if_the_context_has_the_expected_answer() -> None:
    assert cause(BESIDE, NEARLY, retrieval="boundary", claims=SUPPORTED) == "unused"
    assert cause("I cannot answer this from the documents.", NEARLY, retrieval="boundary") == "refusal"
    # A short expected answer is in the delivered part of the evidence.
    assert cause(BESIDE, NEARLY, query=SHORT, retrieval="boundary", claims=SUPPORTED) == "unused"


@pytest.mark.parametrize("query", [QUERY, SHORT])
def test_evidence_without_the_expected_answer_is_missing(query: Query) -> None:
    assert cause(BESIDE, HALF, query=query, retrieval="boundary", claims=SUPPORTED) == "boundary"
    assert cause("The documents do not say.", ELSEWHERE, query=query) == "rank"


def test_the_expected_answer_in_a_document_without_labels_is_in_the_context() -> None:
    copy = Passage("copy", 0, 60, "Licences: 1200 euros, valid for three years (crane operators)")
    assert cause(BESIDE, copy, claims=SUPPORTED) == "unused"
    # Two words can be there by chance.
    assert cause(BESIDE, copy, query=SHORT, claims=SUPPORTED) == "rank"


def test_a_yes_in_the_context_decides_nothing() -> None:
    query = Query("q", "Is the licence valid for more than a year?", answer="Yes")
    context = Passage("crane", 0, 30, "Yes, riggers are trained here.")
    assert cause("No.", context, query=query, claims={"No.": "absent"}) == "rank"


def test_an_answer_that_states_the_expected_text_was_not_failed_by_retrieval_nor_by_its_use() -> None:
    assert cause(RIGHT, NEARLY, retrieval="boundary", claims={RIGHT: "supported"}) == "unsure"
    assert cause(RIGHT, NEARLY, retrieval="boundary", claims={RIGHT: ""}, roles=SCORE) == "unsure"


def test_something_made_up_beside_a_right_answer_is_unsupported_and_no_fault_of_retrieval() -> None:
    added: dict[str, Verdict] = {RIGHT: "supported", "It is renewed for free.": "absent"}
    against: dict[str, Verdict] = {RIGHT: "supported", "Riggers are trained in May.": "contradicted"}
    for context in ([WHOLE], [NEARLY], [HALF]):
        assert cause(f"{RIGHT} It is renewed for free.", *context, correct=1.0, claims=added) == "unsupported"
        assert cause(f"{RIGHT} Riggers are trained in May.", *context, correct=1.0, claims=against) == "contradiction"


def test_a_right_answer_from_memory_misses_its_evidence() -> None:
    claims: dict[str, Verdict] = {RIGHT: "absent", BESIDE: "supported"}
    assert cause(f"{RIGHT} {BESIDE}", HALF, correct=1.0, claims=claims) == "rank"
    assert cause(RIGHT, ELSEWHERE, correct=1.0, claims={RIGHT: "absent"}) == "rank"


@pytest.mark.parametrize("answer", ["", "  \n", "…", "\u200b", "---"])
@pytest.mark.parametrize("roles", [JUDGE, SCORE])
def test_an_answer_without_a_word_is_empty(answer: str, roles: JudgeRoles) -> None:
    assert cause(answer, WHOLE, roles=roles) == "empty"
    assert cause(answer, NEARLY, roles=roles) == "empty"
    assert cause(answer, WHOLE, roles=roles, query=UNANSWERABLE) == "empty"
    # The earlier layer counts.
    assert cause(answer, ELSEWHERE, roles=roles) == "rank"


def test_an_answer_of_one_sign_for_none_is_a_refusal() -> None:
    assert cause("N/A", WHOLE) == "refusal"
    assert cause("N/A", WHOLE, query=UNANSWERABLE) == ""


@pytest.mark.parametrize("verdict", ["supported", "absent", "contradicted"])
def test_an_answer_that_was_cut_off_before_the_expected_one_is_truncated(verdict: Verdict) -> None:
    # Whatever a judge makes of half a claim.
    cut = "The licence for the harbour crane that"
    assert cause(cut, WHOLE, truncated=True, claims={cut: verdict}) == "truncated"
    assert cause(cut, WHOLE, truncated=True, claims={cut: ""}, roles=SCORE) == "truncated"
    assert cause(cut, WHOLE, truncated=False, claims={cut: ""}, roles=SCORE) == "unsure"


def test_what_was_said_before_the_cut_counts() -> None:
    claims: dict[str, Verdict] = {"A licence is valid for nine years.": "contradicted", "It costs": "absent"}
    assert cause("A licence is valid for nine years. It costs", WHOLE, truncated=True, claims=claims) == "contradiction"
    assert cause("The licence for the", ELSEWHERE, truncated=True, claims={"The licence for the": "absent"}) == "rank"
    assert cause("The documents do not say what the", WHOLE, truncated=True) == "refusal"


def test_a_right_answer_that_was_cut_off_has_not_failed() -> None:
    assert cause(f"{RIGHT} The crane", WHOLE, correct=1.0, truncated=True, claims={RIGHT: "supported", "The crane": "supported"}) == ""


@pytest.mark.parametrize("roles", [JUDGE, SCORE])
def test_a_refusal_that_goes_on_with_a_number_from_nowhere_is_none(roles: JudgeRoles) -> None:
    answer = "The documents do not say why. It has been closed since 1987."
    assert cause(answer, WHOLE, query=UNANSWERABLE, roles=roles) == "unrefused"
    assert cause("The documents do not say. A licence costs 950 euros.", WHOLE, roles=roles) == "unsupported"
    assert cause("The documents do not say. A licence costs 950 euros.", ELSEWHERE, roles=roles) == "rank"


def test_a_refusal_that_goes_on_with_what_the_context_says_is_a_refusal() -> None:
    answer = "The documents do not say why. A licence costs 1200 euros, and riggers are trained in March."
    assert cause(answer, WHOLE, query=UNANSWERABLE) == ""
    assert cause("The documents do not say. Riggers are trained in March.", WHOLE) == "refusal"


@pytest.mark.parametrize("verdict", ["absent", "contradicted"])
def test_a_claim_after_a_refusal_that_a_judge_denies_makes_it_none(verdict: Verdict) -> None:
    claims: dict[str, Verdict] = {"The mayor closed it.": verdict}
    assert cause("The documents do not say. The mayor closed it.", WHOLE, query=UNANSWERABLE, claims=claims) == "unrefused"


CORRECTED = "The west quay is not closed on Sundays. It is open on every day of the week."


@pytest.mark.parametrize("verdict", ["supported", ""])
def test_a_corrected_premise_is_undecided_without_a_label(verdict: Verdict) -> None:
    claims: dict[str, Verdict] = {CORRECTED: verdict}
    assert cause(CORRECTED, WHOLE, query=UNANSWERABLE, claims=claims) == "unsure"
    assert cause(CORRECTED, WHOLE, query=UNANSWERABLE, claims=claims, roles=SCORE) == "unsure"


def test_a_corrected_premise_that_is_labelled_as_correct_has_not_failed() -> None:
    assert cause(CORRECTED, WHOLE, query=UNANSWERABLE, label=True) == ""
    assert cause(CORRECTED, WHOLE, query=UNANSWERABLE, label=False) == "unsure"


def test_a_denial_that_the_context_does_not_support_and_an_invented_reason_should_have_been_refused() -> None:
    assert cause(CORRECTED, WHOLE, query=UNANSWERABLE, claims={CORRECTED: "absent"}) == "unrefused"
    reason = "It is closed on Sundays because of the market."
    assert cause(reason, WHOLE, query=UNANSWERABLE, claims={reason: "supported"}) == "unrefused"
