"""Read a chat message: a content that is a list of parts, and whether it is an answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.llm.base import CallFailure, Reply, end_of, unfinished
from workbench.llm.replies.answers import UnreadableContentError, answered, content_text, has_reasoning
from workbench.targets.base import BrokenOffError, TargetError

# Where a message says why it ended.
FINISHES = ("finish_reason", "stop_reason", "done_reason")
_MARKS = frozenset({"type", "text", "thought"})


def is_content(value: object) -> bool:
    """Return whether a value is a list of parts, of which at least one is more than a text."""
    if not isinstance(value, list) or not all(isinstance(part, str | Mapping) for part in value):
        return False
    return any(isinstance(part, Mapping) for part in value) and all(isinstance(part, str) or _MARKS & part.keys() for part in value)


def text_of_parts(parts: Sequence[Any]) -> str:
    """Return the text of parts, without reasoning and references. A part can be a message, as in the Responses API of OpenAI.

    Raises TargetError with the type of a part that is no text.
    """
    try:
        return content_text([inner for part in parts for inner in _parts_of(part)])
    except UnreadableContentError as error:
        raise TargetError(str(error)) from None


def _parts_of(part: Any) -> Sequence[Any]:
    if isinstance(part, str):
        return [part]
    content = part.get("content")
    return content if part.get("type") == "message" and isinstance(content, list) else [dict(part)]


def check_answer(text: str, finish: object, message: Mapping[str, Any]) -> bool | None:
    """Return whether the token limit cut off an answer, None if there is no reason why it ended. `message` has the fields beside the text.

    An empty text is an answer only if the reply is complete and has nothing in its place. Raises TargetError with the reason why a reply is no
    answer, and BrokenOffError if another try may have one.
    """
    blank, reasoned = not text.strip(), has_reasoning(message)
    end = "content_filter" if blank and message.get("refusal") else end_of(finish, message)
    if failure := unfinished(end):
        raise (BrokenOffError if failure.kind == "server" else TargetError)(failure.reason)
    if blank and (reasoned or end != "stop") and isinstance(outcome := answered(Reply("", end, reasoned=reasoned)), CallFailure):
        raise TargetError(outcome.reason)
    return None if finish is None else end == "length"
