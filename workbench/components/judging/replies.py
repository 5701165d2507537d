"""Read judgements from the replies of a model: JSON in the schema of a task, whose quotes are in a passage, or the probability of yes."""

import functools
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from workbench.components.judging.base import Judgement, JudgeRequest, Task, Verdict
from workbench.core.errors import RunError
from workbench.core.text.words import whole_words
from workbench.llm.replies.answers import json_reply, unfenced

_AROUND = " \t\r\n\"'`*.!“”‘’"
_YES, _NO = frozenset({"true", "yes"}), frozenset({"false", "no"})
_WHOLE = re.compile(r"\d{1,9}")
_RATING = re.compile(r"(\d{1,2})(\.0+)?(?P<scale>\s*/\s*10(?:\.0+)?)?")
MOST_RATING = 10


class UnreadableReplyError(RunError):
    """A reply that does not have the form that was requested."""


def word_reply(text: str) -> str:
    """Return a reply that is a single word in small letters, without the marks around it, or an empty text for any other.

    Examples
    --------
    >>> word_reply("**TRUE.**"), word_reply("It is true.")
    ('true', '')
    """
    word = text.strip(_AROUND).casefold()
    return word if word.isalpha() else ""


def truth(text: str, field: str) -> bool:
    """Return the truth value in a field of a JSON reply, or that of a single word. Raises UnreadableReplyError for any other reply."""
    reply = json_reply(text)
    value = unfenced(text) if reply is None else reply.get(field)
    if isinstance(value, bool):
        return value
    word = word_reply(value) if isinstance(value, str) else ""
    if word in _YES | _NO:
        return word in _YES
    raise UnreadableReplyError(f"the reply is neither JSON with {field!r} nor true or false")


def rating(text: str, field: str) -> float:
    """Return the whole number from 0 to 10 in a field of a JSON reply, or a bare one, as a number from 0 to 1. `8/10` is such a number, too.

    Raises UnreadableReplyError for any other reply: 0.8, .8 and 1.0 are of a scale from 0 to 1, and 4/5 is of a third one.
    """
    reply = json_reply(text)
    value = unfenced(text) if reply is None else reply.get(field)
    match = None if isinstance(value, bool) else _RATING.fullmatch(_number_in(str(value)))
    if match is None or int(match[1]) > MOST_RATING or (match[2] and match[1] == "1" and not match["scale"]):
        raise UnreadableReplyError(f"the reply is neither JSON with {field!r}, a whole number from 0 to {MOST_RATING}, nor such a number")
    return int(match[1]) / MOST_RATING


def whole_number(value: Any) -> int | None:
    """Return a whole number, also one that is written as a text or as 2.0, or None for any other value."""
    if isinstance(value, str):
        text = _number_in(value)
        return int(text) if _WHOLE.fullmatch(text) else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number_in(text: str) -> str:
    """Return a text without the marks around it. A full stop before a number is its decimal point."""
    return text.strip(_AROUND.replace(".", "")).rstrip(_AROUND)


def entries(text: str, field: str, keys: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the list of objects in a field of a JSON reply. A reply that is one such object is a list of it.

    Raises UnreadableReplyError for any other reply, or if an object lacks a key.
    """
    reply = json_reply(text)
    if reply is None:
        raise UnreadableReplyError("the reply is no JSON object")
    found = reply.get(field, [reply])
    if not isinstance(found, list) or not all(isinstance(each, dict) and all(key in each for key in keys) for each in found):
        raise UnreadableReplyError(f"the reply has no {field!r} with {' and '.join(map(repr, keys))} in each")
    return found


def strict_object(**properties: Any) -> dict[str, Any]:
    """Return the JSON schema of an object with exactly these properties, in the form that every provider accepts."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


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


# Below this, the model is about to write something else, so that the shares of yes and no mean little.
LEAST_MASS = 0.5
# How many alternatives of the token are requested, the most that OpenAI and Ollama return.
ALTERNATIVES = 20


def yes_no_judgement(task: Task, logprobs: Mapping[str, float] | None) -> Judgement:
    """Return the judgement whose score is the probability of yes among yes and no, in any case and with any blanks around them.

    A claim with a score below 0.5 is `absent`: a model that is not asked for contradictions does not find any. The judgement has an `error`
    if the reply has no probabilities, or if less than half of the probability is that of yes and no.
    """
    if logprobs is None:
        return Judgement(error="the reply has no log-probabilities; a judge with replies: yes_no needs a server that returns them")
    masses = {"yes": 0.0, "no": 0.0}
    for token, value in logprobs.items():
        if (word := token.strip().casefold()) in masses:
            masses[word] += math.exp(min(value, 0.0))
    mass = sum(masses.values())
    if mass < LEAST_MASS:
        return Judgement(error=f"the model was about to reply neither yes nor no (less than {LEAST_MASS:.0%} of its probability)")
    score = masses["yes"] / mass
    if task != "support":
        return Judgement(score=score)
    return Judgement(score=score, verdict="supported" if score >= 0.5 else "absent", confidence=max(score, 1 - score))


_WORD = re.compile(r"\w")
# One of each stands for all, and for any number of them in a row.
_QUOTE, _DASH, _BLANK = "'", "-", " "
_QUOTES = frozenset("\"'`´‘’‚‛“”„‟«»‹›′″‵‶「」『』〝〞〟＂＇")
_MINUS = "−"
# A number has its sign and its decimal point, also without a digit before it, and blanks that do not break between its thousands.
_SIGN_BEFORE = re.compile(r"(?:^|[^\w.)\]])[-+±−‐‑‒–—.]$")
_SIGNED = re.compile(r"[-+±−‐‑‒–—]\d")
_NARROW = "\u00a0\u2009\u202f"
_STOP = re.compile(r"[^\W\d_]\.[^\W\d_]")
_THOUSANDS = re.compile(rf"\d[{_NARROW}]\d{{3}}(?!\d)")


@dataclass(frozen=True)
class _Folded:
    """A text in a form in which quotes are compared, with the place [start, end) of each of its characters in the original."""

    text: str
    places: tuple[tuple[int, int], ...]
    original: str

    def find(self, words: str) -> tuple[int, int] | None:
        """Return where the original has these words, as whole words and numbers."""
        start = self.text.find(words)
        while start >= 0:
            end = start + len(words)
            if self._is_whole(start) and self._is_whole(end):
                first, last = self.places[start][0], self.places[end - 1][1]
                if _is_edge(self.original, first, start=True) and _is_edge(self.original, last, start=False):
                    return first, last
            start = self.text.find(words, start + 1)
        return None

    def _is_whole(self, place: int) -> bool:
        """Check that neither a character nor a letter with its marks goes on at a place."""
        if place in (0, len(self.text)):
            return True
        return not unicodedata.combining(self.text[place]) and self.places[place - 1] != self.places[place]


def quote_in(quote: str, text: str) -> tuple[int, int] | None:
    """Return the place [start, end) of a quote in a text, or None.

    A quote begins and ends at the edge of a word or a number, which has its sign, decimal point and separators of thousands.
    Quotation marks, dashes and blanks match any others, equal characters match in every form of Unicode, and invisible characters do not
    count; nothing else may differ. Quotation marks around the quote are no part of it, and a quote without a word is nowhere.

    Examples
    --------
    >>> quote_in('"opens in  May"', "The office opens\\nin May.")
    (11, 23)
    >>> quote_in("the 'late' desk", "Ask at the “late” desk.")
    (7, 22)
    >>> quote_in("5 days", "There are 25 days of leave.")
    """
    folded, words = _folded(text), _folded(quote).text.strip(_BLANK)
    for wanted in (words, words.strip(_BLANK + _QUOTE)):
        if _WORD.search(wanted) and (found := folded.find(wanted)):
            return found
    return None


def quoted_passage(quote: str, number: int, texts: Sequence[str]) -> tuple[int, int, int] | None:
    """Return passage, start and end of a quote: in the passage with this number if it is there, else in the first that has it."""
    order = sorted(range(len(texts)), key=lambda place: place != number)
    return next(((place, *span) for place in order if (span := quote_in(quote, texts[place]))), None)


@functools.lru_cache(maxsize=256)
def _folded(text: str) -> _Folded:
    characters: list[str] = []
    places: list[tuple[int, int]] = []
    for place, original in enumerate(text):
        for character in _decomposed(original):
            if characters and character == characters[-1] and character in (_QUOTE, _DASH, _BLANK):
                places[-1] = (places[-1][0], place + 1)
                continue
            at = len(characters)
            # Marks over and under a letter can be written in any order.
            while rank := unicodedata.combining(character):
                if at == 0 or unicodedata.combining(characters[at - 1]) <= rank:
                    break
                at -= 1
            characters.insert(at, character)
            places.insert(at, (place, place + 1))
    return _Folded("".join(characters), tuple(places), text)


def _is_edge(text: str, place: int, *, start: bool) -> bool:
    """Check that the start or the end of a quote is within no word and no number."""
    before, after = text[max(0, place - 2) : place], text[place : place + 4]
    blank = len(before) - start
    if blank > 0 and _THOUSANDS.match(before + after, blank - 1):
        return False
    if start and ((_SIGN_BEFORE.search(before) and after[:1].isdigit()) or (before[-1:].isdigit() and _SIGNED.match(after))):
        return False
    # A full stop without a blank after it ends a sentence, but UAX #29 has one word there.
    if blank > 0 and _STOP.match(before + after, blank - 1):
        return True
    return whole_words(text, place, place) == (place, place)


@functools.lru_cache(maxsize=4096)
def _decomposed(character: str) -> str:
    """Return the compared form of a character: nothing for an invisible one."""
    if character in _QUOTES:
        return _QUOTE
    if character == _MINUS or unicodedata.category(character) == "Pd":
        return _DASH
    if character.isspace():
        return _BLANK
    if unicodedata.category(character) == "Cf":
        return ""
    plain = unicodedata.normalize("NFKD", character)
    return plain if plain == character else "".join(map(_decomposed, plain))
