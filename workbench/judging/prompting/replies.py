"""Read the replies of models strictly: JSON, or a single word, never a word in prose."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import RunError

_FENCED = re.compile(r"```(?:json)?[^\S\n]*\n(.*)\n```", re.DOTALL)
_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_AROUND = " \t\r\n\"'`*.!“”‘’"
_YES, _NO = frozenset({"true", "yes"}), frozenset({"false", "no"})
_RATING = re.compile(r"(\d{1,2})(?:\s*/\s*10)?")
MOST_RATING = 10


class UnreadableReplyError(RunError):
    """A reply that does not have the form that was requested."""


def json_reply(text: str) -> Mapping[str, Any] | None:
    """Return a reply that is one JSON object, also in a block of code and after a thought, or None for any other."""
    text = _THOUGHT.sub("", text, count=1) if text.lstrip().startswith("<think>") else text
    block = _FENCED.fullmatch(text.strip())
    try:
        value = json.loads(block[1] if block else text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


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
    value = word_reply(text) if reply is None else reply.get(field)
    if isinstance(value, bool):
        return value
    word = word_reply(value) if isinstance(value, str) else ""
    if word in _YES | _NO:
        return word in _YES
    raise UnreadableReplyError(f"the reply is neither JSON with {field!r} nor true or false")


def rating(text: str, field: str) -> float:
    """Return the rating from 0 to 10 in a field of a JSON reply, or a bare number, as a number from 0 to 1.

    Raises UnreadableReplyError for any other reply.
    """
    reply = json_reply(text)
    value: Any = reply.get(field) if reply is not None else None
    if reply is None and (bare := _RATING.fullmatch(text.strip(_AROUND))):
        value = int(bare[1])
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_RATING:
        raise UnreadableReplyError(f"the reply is neither JSON with {field!r} from 0 to {MOST_RATING} nor such a number")
    return value / MOST_RATING


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


def _distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is repeated")
    return found
