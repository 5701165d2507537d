"""The one cause of each failed question, from its evidence, its answer, and the judgements of the answer.

A question whose evidence the context may hold fails if its answer is a refusal, is not correct, or makes a claim that the context contradicts or
does not contain. Without an expected answer, an answer that is not relevant to the question takes the place of one that is not correct. Any other
question fails unless the answer is a refusal, or labelled as correct. An empty answer always fails, and a refusal that goes on with a claim that
the context does not contain is not one. An answer that nobody judged is no failure: it is unscored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from workbench.components.context.conditions import RETRIEVED
from workbench.components.context.question_labels import QuestionLabels, missing_characters
from workbench.components.judging.base import Task, Verdict
from workbench.components.judging.settings import EndToEndThresholds
from workbench.core.records import Document, Passage
from workbench.measures.attribution.answer_text import AnswerText, delivers, delivers_part, states
from workbench.measures.attribution.causes import NOT_RETURNED, earliest
from workbench.measures.attribution.evidence_causes import missed_documents, missed_needs
from workbench.measures.attribution.evidence_state import EmbeddedExtent
from workbench.measures.metrics.case import AnswerJudgements, Case, Cut, delivered_documents

_DENIED: dict[Verdict, str] = {"contradicted": "contradiction", "absent": "unsupported"}


@dataclass(frozen=True, slots=True)
class AnswerCause:
    """A cause, and what shows it: the text of a claim, evidence that is not in the context (`doc_id:start-end` or a document), or nothing."""

    cause: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """Everything that decides about the cause of one answer.

    `answerable` is False for a question without an answer, and in a condition that withholds its evidence: both require a refusal. `missed` is
    the evidence that is not in the context, each piece with the cause that keeps it out, None if the question has no labels. `correct` and `relevant` (the answer is one to the question,
    right or wrong) are None if nothing or nobody can say. `claims` are the claims with their verdicts, empty if the judge failed or gives none, and
    None if the answer was not split; `expected_claims` are those that state the expected answer. `text` is what needs no judge.
    """

    answerable: bool
    refused: bool
    missed: tuple[AnswerCause, ...] | None = ()
    correct: bool | None = None
    claims: tuple[tuple[str, Verdict], ...] | None = ()
    relevant: bool | None = None
    text: AnswerText = field(default_factory=AnswerText)
    expected_claims: frozenset[str] = frozenset()


def failed(seen: AnswerFacts) -> bool:
    """True if anything shows that the question failed."""
    if seen.text.empty:
        return True
    if not seen.answerable:
        return not _refuses(seen) and seen.correct is not True
    right = seen.relevant if seen.correct is None else seen.correct
    return seen.refused or right is False or _denied(seen.claims or ()) is not None


def answer_cause(seen: AnswerFacts) -> AnswerCause | None:
    """Name the cause of a failed question, or None if the question did not fail.

    The earliest layer wins: evidence that is missing from the context explains whatever the answer makes of the rest.
    """
    if not failed(seen):
        return None
    if not seen.answerable:
        return _of_unanswerable(seen)
    if seen.missed:
        cause = earliest(each.cause for each in seen.missed)
        return _beside_right(seen) or next(each for each in seen.missed if each.cause == cause)
    if seen.text.empty:
        return AnswerCause("empty")
    if _refuses(seen):
        # Without labels nobody knows whether the context has the answer.
        return AnswerCause("unsure" if seen.missed is None else "refusal")
    if shown := _made_up(seen):
        return shown
    if seen.text.truncated:
        return AnswerCause("truncated")
    return AnswerCause(_of_faithful(seen) if _faithful(seen) else "unsure")


def _of_unanswerable(seen: AnswerFacts) -> AnswerCause:
    if seen.text.empty:
        return AnswerCause("empty")
    shown = _made_up(seen)
    if seen.text.denies and not shown:
        # It may correct what the question takes for granted, which would be right.
        return AnswerCause("unsure")
    return AnswerCause("unrefused", shown.evidence if shown and seen.refused else "")


def _refuses(seen: AnswerFacts) -> bool:
    """True if the answer is a refusal that does not go on with something made up."""
    return seen.refused and _made_up(seen) is None


def _beside_right(seen: AnswerFacts) -> AnswerCause | None:
    """The cause that a claim shows beside a right answer which the context supports: no missing evidence made it fail."""
    claims = seen.claims or ()
    unsupported_answer = any(claim in seen.expected_claims and verdict in _DENIED for claim, verdict in claims)
    right = seen.correct is True and any(verdict == "supported" for _, verdict in claims) and not unsupported_answer
    return _made_up(seen) if right else None


def _made_up(seen: AnswerFacts) -> AnswerCause | None:
    """The cause that something made up in the answer shows. The last claim of an answer that was cut off is not whole, and shows nothing."""
    claims = seen.claims or ()
    shown = _denied(claims[:-1] if seen.text.truncated else claims)
    return shown or (AnswerCause("unsupported", seen.text.invented) if seen.text.invented else None)


def _denied(claims: Sequence[tuple[str, Verdict]]) -> AnswerCause | None:
    """The cause that the first claim with the earlier cause shows, if the context does not support all."""
    causes = (AnswerCause(cause, claim) for denied, cause in _DENIED.items() for claim, verdict in claims if verdict == denied)
    return next(causes, None)


def _faithful(seen: AnswerFacts) -> bool:
    """True if every claim of the answer is known to be supported."""
    return seen.claims is not None and all(verdict == "supported" for _, verdict in seen.claims)


def _of_faithful(seen: AnswerFacts) -> str:
    """The cause of a faithful answer that is wrong.

    A faithful answer that misses the question usually had nothing better to say: that is a fault of retrieval. Where the labels show that all
    evidence is in the context, they know better: the generator did not use it, and may have missed the question. An answer that states the expected
    one did use it, so that nothing shows why it is said to be wrong.
    """
    if seen.text.expected:
        return "unsure"
    if seen.missed is None:
        return "rank" if seen.relevant is False else "unsure"
    return "off_topic" if seen.relevant is False else "unused"


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
    missed: tuple[AnswerCause, ...] | None
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


# Retrieval delivered it, and the context had no room for it.
_NO_ROOM = "budget"
# The causes that affect contexts that are made from the labels, too.
_NEVER_CHUNKED = ("not_indexed", NOT_RETURNED)


@dataclass(frozen=True, eq=False)
class ContextEvidence:
    """The labels of each question, and the causes of what retrieval does not deliver.

    `needs` has them by question and the number of the need in it, `documents` by question and doc_id, for questions without evidence.
    """

    labels: Sequence[QuestionLabels]
    needs: Mapping[tuple[int, int], str]
    documents: Mapping[tuple[int, str], str]

    @classmethod
    def of(
        cls, case: Case, cut: Cut, extent: EmbeddedExtent, labels: Sequence[QuestionLabels], documents: Sequence[Document]
    ) -> "ContextEvidence":
        """Find the causes of everything that a ranking misses up to `cut`, where the candidates of a context end."""
        numbers = pd.Series(case.labels.need_query).groupby(case.labels.need_query).cumcount()
        misses = missed_needs(case, cut, extent)
        needs = zip(misses["query"].tolist(), numbers[misses["need"].tolist()].tolist(), misses["cause"].tolist(), strict=True)
        without = case.labels.answerable & ~case.labels.has_evidence
        found = missed_documents(case, delivered_documents(case, cut), extent, without)
        pairs = zip(found["query"].tolist(), found["doc"].tolist(), found["cause"].tolist(), strict=True)
        return cls(
            labels,
            {(query, number): cause for query, number, cause in needs},
            {(query, documents[doc].doc_id): cause for query, doc, cause in pairs},
        )

    def missed(self, query: int, passages: Sequence[Passage], condition: str) -> tuple[AnswerCause, ...] | None:
        """List the evidence of a question that its context lacks. None if the question has no labels.

        Without evidence, any relevant document is enough. A context that contains the expected answer lacks nothing, and a piece of evidence
        is not missing if its delivered part contains the expected answer.
        """
        labels = self.labels[query]
        if delivers(passages, labels.answers):
            return ()
        if labels.needs:
            return tuple(
                AnswerCause(_cause(self.needs.get((query, number), _NO_ROOM), condition), _place(need[0]))
                for number, need in enumerate(labels.needs)
                if all(missing_characters(span, passages) and not delivers_part(passages, span, labels.answers) for span in need)
            )
        if not labels.relevant:
            return None
        if labels.is_complete(passages):
            return ()
        causes = ((self.documents.get((query, doc_id), _NO_ROOM), doc_id) for doc_id in labels.relevant)
        return tuple(AnswerCause(_cause(cause, condition), doc_id) for cause, doc_id in causes)


def _cause(retrieval: str, condition: str) -> str:
    return retrieval if condition == RETRIEVED or retrieval in _NEVER_CHUNKED else _NO_ROOM


def _place(span: Passage) -> str:
    return f"{span.doc_id}:{span.start}-{span.end}"
