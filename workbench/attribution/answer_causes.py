"""The one cause of each failed question, from its evidence, its answer, and the judgements of the answer.

A question whose evidence the context may hold fails if its answer is a refusal, is not correct, or makes a claim that the context contradicts or
does not contain. Without an expected answer, an answer that is not relevant to the question takes the place of one that is not correct. Any other
question fails unless the answer is a refusal. What nobody judged is no failure: it is unscored.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.attribution.causes import earliest
from workbench.context.conditions import GOLD, GOLD_DISTRACTORS, IRRELEVANT_ONLY, MISSING_GOLD, RETRIEVED
from workbench.judging.base import Verdict

# Only a refusal is right in them, since their contexts withhold the evidence.
WITHHELD = (MISSING_GOLD, IRRELEVANT_ONLY)
# Failures under other conditions have no cause: an attack is no fault of retrieval or answering, and without a context there is nothing to blame.
ATTRIBUTED = (GOLD, GOLD_DISTRACTORS, RETRIEVED, *WITHHELD)


@dataclass(frozen=True, slots=True)
class MissedEvidence:
    """A piece of evidence that is not in the context, `doc_id:start-end`, or a document, and the `cause` that keeps it out."""

    cause: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class VerifiedClaim:
    """A claim of an answer and its verdict, which is empty if the judge failed or gives none."""

    text: str
    verdict: Verdict = ""


@dataclass(frozen=True, slots=True)
class ObservedAnswer:
    """Everything that decides about the cause of one answer.

    `answerable` is False for a question without an answer, and in a condition that withholds its evidence: both require a refusal. `missed` is
    the evidence that is not in the context, None if the question has no labels. `correct` and `relevant` (the answer is one to the question,
    right or wrong) are None if nothing or nobody can say. `claims` is None if the answer was not split.
    """

    answerable: bool
    refused: bool
    missed: tuple[MissedEvidence, ...] | None = ()
    correct: bool | None = None
    claims: tuple[VerifiedClaim, ...] | None = ()
    relevant: bool | None = None


@dataclass(frozen=True, slots=True)
class AnswerCause:
    """A cause, and what shows it: the text of a claim, a piece of missed evidence, or nothing."""

    cause: str
    evidence: str = ""


def failed(seen: ObservedAnswer) -> bool:
    """Whether anything shows that the question failed."""
    if not seen.answerable:
        return not seen.refused
    right = seen.relevant if seen.correct is None else seen.correct
    return seen.refused or right is False or any(claim.verdict in ("contradicted", "absent") for claim in seen.claims or ())


def answer_cause(seen: ObservedAnswer) -> AnswerCause | None:
    """Name the cause of a failed question, or None if the question did not fail.

    The earliest layer wins: evidence that is missing from the context explains whatever the answer makes of the rest.
    """
    if not failed(seen):
        return None
    if not seen.answerable:
        return AnswerCause("unrefused")
    if seen.missed:
        cause = earliest(missed.cause for missed in seen.missed)
        return AnswerCause(cause, next(missed.evidence for missed in seen.missed if missed.cause == cause))
    if seen.refused:
        # Without labels nobody knows whether the context has the answer.
        return AnswerCause("unsure" if seen.missed is None else "refusal")
    claims = seen.claims or ()
    return _denied(claims) or AnswerCause(_of_faithful(seen) if _faithful(seen) else "unsure")


def _denied(claims: Sequence[VerifiedClaim]) -> AnswerCause | None:
    """The cause that the first claim with the earlier cause shows, if the context does not support all."""
    for verdict, cause in (("contradicted", "contradiction"), ("absent", "unsupported")):
        for claim in claims:
            if claim.verdict == verdict:
                return AnswerCause(cause, claim.text)
    return None


def _faithful(seen: ObservedAnswer) -> bool:
    """Whether every claim of the answer is known to be supported."""
    return seen.claims is not None and all(claim.verdict == "supported" for claim in seen.claims)


def _of_faithful(seen: ObservedAnswer) -> str:
    """The cause of a faithful answer that is wrong.

    A faithful answer that misses the question usually had nothing better to say: that is a fault of retrieval. Where the labels show that all
    evidence is in the context, they know better: the generator did not use it, and may have missed the question.
    """
    if seen.missed is None:
        return "rank" if seen.relevant is False else "unsure"
    return "off_topic" if seen.relevant is False else "unused"
