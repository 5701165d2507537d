"""Read the replies of judges strictly: JSON, or a single word or number, never one in prose."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import RunError
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
