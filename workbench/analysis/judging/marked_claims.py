"""Texts with claims marked: an answer with its claims, and a passage with the words that decide about them."""

from collections.abc import Sequence
from itertools import pairwise

from workbench.analysis.judging.claims import CLAIM_STATES, ShownClaim
from workbench.analysis.questions.passages import Excerpt, Mark, Piece, Stretch, disjoint, with_marks
from workbench.core.formatting import number


def claim_anchor(answer: str, claim: ShownClaim) -> str:
    """Return the identifier of a claim's words in the answer with the identifier `answer`, empty if the answer has no such words."""
    return f"{answer}-c{claim.start}" if 0 <= claim.start < claim.end else ""


def passage_anchor(answer: str, passage: int) -> str:
    """Return the identifier of a passage, from 1, in the context of an answer."""
    return f"{answer}-p{passage}"


def evidence_anchor(answer: str, claim: ShownClaim) -> str:
    """Return the identifier of the words that decide about a claim, of their passage if no words do, or an empty text without a passage."""
    if not claim.passage:
        return ""
    whole = passage_anchor(answer, claim.passage)
    return f"{whole}-{claim.evidence_start}" if claim.evidence_start < claim.evidence_end else whole


def claim_label(claim: ShownClaim) -> str:
    """Name a claim's verdict, or its score if the judge only scores."""
    return f"score {number(claim.score, 2)}" if claim.state == "scored" else claim.state


def answer_pieces(text: str, claims: Sequence[ShownClaim], answer: str) -> list[Piece]:
    """Mark the claims in an answer. Words that several claims share have the mark of the worst."""
    spans = [(claim.start, claim.end, claim) for claim in claims if 0 <= claim.start < claim.end]
    marks = [_claimed(low, high, inside, answer) for low, high, inside in _segments(spans)]
    return with_marks(text, 0, len(text), marks, beside=len(text), alone=len(text))


def passage_pieces(
    text: str | Excerpt, start: int, end: int, others: Sequence[Stretch], claims: Sequence[ShownClaim], answer: str
) -> list[Piece]:
    """Mark the deciding words of claims in the slice [start, end) of a text, and `others`, such as evidence, around them."""
    decided = [claim for claim in claims if 0 <= claim.evidence_start < claim.evidence_end]
    spans = [(start + claim.evidence_start, min(start + claim.evidence_end, end), claim) for claim in decided]
    marks = [_deciding(low, high, inside, answer, start) for low, high, inside in _segments(spans)]
    return with_marks(text, start, end, sorted([*marks, *_around(others, marks)]))


def _claimed(low: int, high: int, claims: Sequence[ShownClaim], answer: str) -> Mark:
    worst = min(claims, key=lambda claim: CLAIM_STATES.index(claim.state))
    new = [claim for claim in claims if claim.start == low]
    label = f"{', '.join(str(claim.number) for claim in claims)} {claim_label(worst)}" if new else ""
    return Mark(low, high, worst.state, label, claim_anchor(answer, new[0]) if new else "", evidence_anchor(answer, worst))


def _deciding(low: int, high: int, claims: Sequence[ShownClaim], answer: str, start: int) -> Mark:
    new = [claim for claim in claims if start + claim.evidence_start == low]
    names = ", ".join(str(claim.number) for claim in claims)
    label = f"{'claim' if len(claims) == 1 else 'claims'} {names}" if new else ""
    return Mark(low, high, "deciding", label, evidence_anchor(answer, new[0]) if new else "", claim_anchor(answer, claims[0]))


def _around(others: Sequence[Stretch], marks: Sequence[Mark]) -> list[Mark]:
    """Return the parts of other stretches that no mark covers."""
    parts = []
    for start, end, role in disjoint(others):
        position = start
        for mark in [mark for mark in marks if mark.start < end and mark.end > start]:
            parts.append(Mark(position, mark.start, role))
            position = max(position, mark.end)
        parts.append(Mark(position, end, role))
    return [part for part in parts if part.start < part.end]


def _segments(spans: Sequence[tuple[int, int, ShownClaim]]) -> list[tuple[int, int, list[ShownClaim]]]:
    """Cut overlapping spans at all their bounds. Each segment has the claims whose spans cover it."""
    bounds = sorted({bound for low, high, _ in spans for bound in (low, high)})
    segments = [(low, high, [claim for start, end, claim in spans if start <= low and high <= end]) for low, high in pairwise(bounds)]
    return [segment for segment in segments if segment[2]]
