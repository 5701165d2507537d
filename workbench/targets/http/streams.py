"""Read an answer that arrives as server-sent events."""

from contextlib import aclosing

from pydantic import JsonValue

from workbench.core.display import excerpt
from workbench.llm.replies.answers import has_reasoning
from workbench.llm.replies.rejections import reported_error
from workbench.models.http import EventSource, Response, ServerSentEvent
from workbench.targets.base import TargetError
from workbench.targets.contents import is_content, text_of_parts
from workbench.targets.http.endpoints import StreamPaths
from workbench.targets.http.requests import ReportedError
from workbench.targets.parsing import not_json, parse_json
from workbench.targets.paths import MissingError, find_one, holder, shape

_EVENTS, _REPORTS = "text/event-stream", "the stream reports"
# What a reply without a text can have instead, in the fields beside the parts of a text.
_INSTEAD = ("tool_calls", "function_call", "refusal")


async def read_stream(response: Response, paths: StreamPaths) -> JsonValue:
    """Return `{text: the joined parts, events: the JSON of each event}`. Raises TargetError for another reply, an incomplete stream, or an error in it.

    Bytes that are not UTF-8 become U+FFFD, as the format of server-sent events requires.
    """
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != _EVENTS:
        text = (await response.aread()).decode("utf-8", "replace")
        what = (
            not_json(text)
            if text.lstrip().startswith("<")
            else f"{content_type or 'without a type'} that begins with {excerpt(text, 40)!r}"
        )
        raise TargetError(f"the reply is no stream of events ({_EVENTS}) but {what}")
    stream = _Stream(paths)
    # The size of the whole reply is limited.
    async with aclosing(aiter(EventSource(response, max_event_size=None))) as events:  # type: ignore[type-var]
        async for event in events:
            if paths.end and paths.end in (event.data, event.event):
                return stream.reply()
            stream.add(event)
    if paths.end:
        raise TargetError(f"the stream ended before {paths.end}")
    return stream.reply()


class _Stream:
    """The parts of a text, and the events that they came in."""

    def __init__(self, paths: StreamPaths) -> None:
        self._paths = paths
        self._parts = list[str]()
        self._events = list[JsonValue]()
        self._instead = dict[str, JsonValue]()

    def add(self, event: ServerSentEvent) -> None:
        """Add what an event has."""
        if event.event == "error":
            raise ReportedError(*_error(event.data), _REPORTS)
        if not event.data:
            return
        if self._paths.delta is None:
            self._parts.append(event.data)
            return
        value = parse_json(event.data)
        if error := reported_error(value, nothing=False):
            raise ReportedError(*error, _REPORTS)
        self._events.append(value)
        if part := find_one(self._paths.delta, value, _text, f"event {len(self._events)}"):
            self._parts.append(part[0] or "")
        for path in self._paths.delta:
            fields = holder(path, value)
            self._instead |= {name: fields[name] for name in _INSTEAD if fields.get(name)} | (
                {"reasoning": True} if has_reasoning(fields) else {}
            )

    def reply(self) -> JsonValue:
        """Return the text and the events. Raises MissingError if no event had a part of the text, or anything in its place."""
        text = "".join(self._parts)
        if not self._parts and not self._instead:
            first = f"of the first, {shape(self._events[0])}" if self._events else "there is none"
            raise MissingError(f"no event of the stream has a part of the answer; {first}")
        return {**({} if text.strip() else self._instead), "text": text, "events": self._events}


def _error(data: str) -> tuple[int, bytes]:
    """Return the error in an event of that name, with its status."""
    try:
        found = reported_error(parse_json(data))
    except TargetError:
        found = reported_error({"error": data})
    return found or (400, data.encode("utf-8", "replace"))


def _text(value: JsonValue) -> str:
    """Return a part of a text. A part in a list, such as of reasoning, is read as that of a message."""
    if isinstance(value, list) and is_content(value):
        return text_of_parts(value)
    if not isinstance(value, str):
        raise TypeError("a text")
    return value
