"""Facts about an answer from its judgements, which decide about the cause of its failure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from workbench.attribution.answer_causes import AnswerFacts, MissedEvidence
from workbench.attribution.answer_text import AnswerText, states
from workbench.judging.base import Task, Verdict
from workbench.judging.settings import EndToEndThresholds
from workbench.metrics.case import AnswerJudgements


@dataclass(frozen=True, slots=True)
class JudgeRoles:
    """The decisions that the judges of a run may make.

    `claims` and `relevance` say whether their judges are judges, or only scores. The support score of `overlap` is low for contradicted claims and
    absent ones alike, and its relevance score is low for many right answers, so neither decides about a cause. Its correctness score does
    decide whether a question failed: few right answers are below 0.5 (measured in docs/attribution.md).
    """

    claims: bool
    relevance: bool
    thresholds: EndToEndThresholds = field(default_factory=EndToEndThresholds)


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """An answer with its judgements. `answerable`, `missed` and `text` are as in `AnswerFacts`.

    `label` is that of a recorded answer, None without one. `claims` are the texts of its claims, and `expected` the expected answers. If the
    answer is `verbatim`, a copy of the context, no judge needs to verify it.
    """

    answerable: bool
    refused: bool
    missed: tuple[MissedEvidence, ...] | None
    judgements: AnswerJudgements
    claims: Sequence[str] = ()
    label: bool | None = None
    verbatim: bool = False
    text: AnswerText = field(default_factory=AnswerText)
    expected: Sequence[str] = ()


def answer_facts(answer: JudgedQuestion, roles: JudgeRoles) -> AnswerFacts:
    """Everything that decides about the cause of an answer. A judge that failed, or only scores, leaves it unknown."""
    thresholds, correct = roles.thresholds, answer.label
    # Judges compare with the expected answer, which is not right where only a refusal is.
    if correct is None and answer.answerable:
        correct = _reached(answer.judgements, "correctness", thresholds.correctness)
    relevant = _reached(answer.judgements, "answer_relevance", thresholds.answer_relevance) if roles.relevance else None
    stated = frozenset(claim for claim in answer.claims if states(claim, answer.expected))
    return AnswerFacts(answer.answerable, answer.refused, answer.missed, correct, _verified(answer, roles), relevant, answer.text, stated)


def _reached(judgements: AnswerJudgements, task: Task, threshold: float) -> bool | None:
    score = judgements.tasks[task].score if task in judgements.tasks else None
    return None if score is None else score >= threshold


def _verified(answer: JudgedQuestion, roles: JudgeRoles) -> tuple[tuple[str, Verdict], ...] | None:
    if answer.verbatim:
        return tuple((claim, "supported") for claim in answer.claims)
    if answer.judgements.claims_error:
        return None
    verdicts = [judgement.verdict if roles.claims and not judgement.error else "" for judgement in answer.judgements.support]
    return tuple(zip(answer.claims, verdicts, strict=True))
