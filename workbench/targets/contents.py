"""Read the content of a chat message that is a list of parts."""

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.llm.answers import UnreadableContentError, content_text
from workbench.targets.base import TargetError

_MARKS = frozenset({"type", "text", "thought"})


def is_content(value: object) -> bool:
    """Return whether a value is a list of parts, of which at least one is more than a text."""
    if not isinstance(value, list) or not all(isinstance(part, str | Mapping) for part in value):
        return False
    return any(isinstance(part, Mapping) for part in value) and all(isinstance(part, str) or _MARKS & part.keys() for part in value)


def text_of_parts(parts: Sequence[str | Mapping[str, Any]]) -> str:
    """Return the text of parts, without reasoning and references. A part can be a message, as in the Responses API of OpenAI.

    Raises TargetError with the type of a part that is no text.
    """
    try:
        return content_text([inner for part in parts for inner in _parts_of(part)])
    except UnreadableContentError as error:
        raise TargetError(str(error)) from None


def _parts_of(part: str | Mapping[str, Any]) -> Sequence[Any]:
    if isinstance(part, str):
        return [part]
    content = part.get("content")
    return content if part.get("type") == "message" and isinstance(content, list) else [dict(part)]
