"""Read the result of a tool: the error flag first, then structured content, then its texts.

A server without structured content sends each item of a list as a text: a list of one hit looks like the hit, and an empty list like no reply.
Texts of embedded resources are texts. A text that is a JSON object or array is read as that, and any other, such as `1995`, is the text itself.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from mcp_types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents
from mcp_types import ContentBlock as Part
from pydantic import JsonValue

from workbench.core.formatting import listed
from workbench.records import TargetHit
from workbench.targets.base import TargetError
from workbench.targets.paths import MissingError
from workbench.targets.replies import HitPaths

T = TypeVar("T")
_LINK = "resource link"


@dataclass(frozen=True)
class ToolReply:
    """The reply of a tool: a `value`, its `texts` if it has no structured content, and the `others` with the names of these `unread` parts."""

    value: JsonValue
    texts: tuple[str, ...] | None = None
    others: tuple[JsonValue, ...] = ()
    unread: tuple[str, ...] = ()

    def hits(self, paths: HitPaths) -> list[TargetHit]:
        """Return the hits of a search: each text is one, or the only text has all. Raises TargetError for another form."""
        if self.texts is None:
            return paths.read(self.value)
        items = [_hit(text) for text in self.texts if text.strip()]
        every, alone = [*items, *self.others], len(items) == 1
        if self.unread and not items and _LINK not in self.unread:
            raise TargetError(f"the reply has no text, only {self.counted}")
        if paths.nothing_found(items[0] if alone else every):
            return []
        values = [items[0]] if alone and isinstance(items[0], list) else [every, *items] if alone else [every]
        return _first_read(values, paths.found, "$" in paths.hits)

    def answer(self, read: Callable[[JsonValue], T]) -> T:
        """Read the value, or else in the only text that is a JSON object or array."""
        if self.unread and self.texts is not None and not any(text.strip() for text in self.texts):
            raise TargetError(f"the reply has no text, only {self.counted}")
        inner = [value for value in map(_structured, self.texts or ()) if not isinstance(value, str)]
        return _first_read([self.value, *inner] if len(inner) == 1 and inner[0] != self.value else [self.value], read, first=True)

    @property
    def counted(self) -> str:
        """Count the parts that are no text, such as `2 × image and 1 × resource link`."""
        return listed([f"{number} × {name}" for name, number in Counter(self.unread).items()])


def read_result(result: CallToolResult) -> ToolReply:
    """Convert the result of a tool. Raises TargetError with the tool's own words if it failed."""
    texts = tuple(text for part in result.content if (text := _text(part)) is not None)
    if result.is_error:
        raise TargetError("\n".join(texts) or "no message")
    parts = [part for part in result.content if _text(part) is None]
    unread = tuple("binary resource" if isinstance(part, EmbeddedResource) else part.type.replace("_", " ") for part in parts)
    structured: JsonValue = result.structured_content
    if structured is not None:
        return ToolReply(structured, unread=unread)
    # A link can be a hit; what is in an image is not read.
    others = tuple(part.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"data", "resource"}) for part in parts)
    values = [_structured(text) for text in texts]
    if values and not any(isinstance(value, str) for value in values):
        return ToolReply(values[0] if len(values) == 1 else values, texts, others, unread)
    return ToolReply("\n".join(texts), texts, others, unread)


def _text(part: Part) -> str | None:
    if isinstance(part, TextContent):
        return part.text
    return part.resource.text if isinstance(part, EmbeddedResource) and isinstance(part.resource, TextResourceContents) else None


def _structured(text: str) -> JsonValue:
    """Return the JSON object or array of a text, or the text."""
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict | list) else text


def _hit(text: str) -> JsonValue:
    """Return a hit, or null, which is how some servers write that nothing was found."""
    return None if text.strip() == "null" else _structured(text)


def _first_read(values: Sequence[JsonValue], read: Callable[[JsonValue], T], first: bool) -> T:
    """Read the first value that can be read. Raises the error of the first, or of the last value."""
    errors = []
    for value in values:
        try:
            return read(value)
        except MissingError as error:
            errors.append(error)
    raise errors[0 if first else -1]
