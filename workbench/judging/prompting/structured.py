"""Judgements from replies in JSON: the schema of each task, and how a reply is read."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from workbench.judging.base import Judgement, JudgeRequest, Task, Verdict
from workbench.judging.prompting.quotes import quoted_passage
from workbench.judging.prompting.replies import (
    MOST_RATING,
    UnreadableReplyError,
    entries,
    rating,
    strict_object,
    truth,
    whole_number,
    word_reply,
)
from workbench.llm.replies.answers import json_reply, unfenced

_SHOWN = 20
_VERDICTS = tuple(verdict for verdict in get_args(Verdict) if verdict)
_RATED = strict_object(rating={"type": "integer", "enum": [*range(MOST_RATING + 1)]})
# The quote comes before the verdict, so that a model first looks for what decides.
_VERDICT = strict_object(
    claim={"type": "integer"},
    passage={"type": "integer"},
    quote={"type": "string"},
    verdict={"type": "string", "enum": list(_VERDICTS)},
    confidence={"type": "number"},
)
SCHEMAS: Mapping[Task, Mapping[str, Any]] = {
    "support": strict_object(verdicts={"type": "array", "items": _VERDICT}),
    "context_relevance": _RATED,
    "answer_relevance": _RATED,
    "correctness": strict_object(correct={"type": "boolean"}),
    "rubric": _RATED,
}


def structured_judgements(text: str, requests: Sequence[JudgeRequest]) -> list[Judgement]:
    """Return the judgement of each request in a reply. An unreadable part is a judgement with an `error`."""
    try:
        match requests[0].task:
            case "support":
                return _verdicts(text, requests)
            case "correctness":
                return [Judgement(score=float(truth(text, "correct")))]
            case _:
                return [Judgement(score=rating(text, "rating"))]
    except UnreadableReplyError as error:
        return [Judgement(error=str(error)) for _ in requests]


def _verdicts(text: str, requests: Sequence[JudgeRequest]) -> list[Judgement]:
    if len(requests) == 1 and json_reply(text) is None and word_reply(unfenced(text)) == "absent":
        return [Judgement(score=0.0, verdict="absent")]
    found = entries(text, "verdicts", ("verdict",))
    alone = len(requests) == len(found) == 1
    numbers = [whole_number(entry.get("claim", 1 if alone else None)) for entry in found]
    by_number = dict(zip(numbers, found, strict=True))
    # Any other numbering, such as one from 0, could give a claim the verdict of another.
    if sorted(numbers, key=str) != sorted(range(1, len(requests) + 1), key=str):
        shown = ", ".join(str(entry.get("claim", "none"))[:_SHOWN] for entry in found) or "none"
        asked = "claim is number 1" if len(requests) == 1 else f"claims are numbered 1 to {len(requests)}"
        raise UnreadableReplyError(f"the reply numbers its verdicts {shown}, and the {asked}")
    return [_verdict(by_number[number], request) for number, request in enumerate(requests, 1)]


def _number(value: Any) -> float | None:
    """Return a number, also one that is written as a text, None for none, and NaN for anything else."""
    if value is None:
        return None
    try:
        return float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _verdict(entry: Mapping[str, Any], request: JudgeRequest) -> Judgement:
    """Return the judgement of a claim. A verdict that a passage decides counts only with the words of that passage."""
    verdict = word_reply(entry["verdict"]) if isinstance(entry["verdict"], str) else ""
    if verdict not in _VERDICTS:
        return Judgement(error=f"the verdict of the claim is none of {', '.join(_VERDICTS)}")
    confidence = _number(entry.get("confidence"))
    if confidence is not None and not 0 <= confidence <= 1:
        return Judgement(error="the confidence is not between 0 and 1")
    if verdict == "absent":
        return Judgement(score=0.0, verdict="absent", confidence=confidence)
    quote, number = entry.get("quote"), whole_number(entry.get("passage")) or 0
    place = quoted_passage(quote, number - 1, [each.text for each in request.passages]) if isinstance(quote, str) else None
    if place is None:
        return Judgement(error=f"the quote of the verdict {verdict!r} is not in the passages")
    return Judgement(
        score=float(verdict == "supported"),
        verdict="supported" if verdict == "supported" else "contradicted",
        confidence=confidence,
        passage=place[0],
        start=place[1],
        end=place[2],
    )
