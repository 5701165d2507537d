"""Read OTLP, the format of OpenTelemetry, from JSON or protobuf to spans and events with plain Python values.

Source: open-telemetry/opentelemetry-proto, `docs/specification.md`. Ids are hexadecimal in JSON, 64-bit integers are decimal texts.
"""

import base64
import binascii
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, Literal

OtlpSignal = Literal["traces", "logs"]
# The longest line that is read, in bytes. A request of 20 MiB of protobuf is shorter as JSON unless it is made to be longer.
LINE_LIMIT = 64 << 20
MALFORMED = "an OTLP message that is not as specified"
_TRACE_ID, _SPAN_ID = 16, 8
_DEPTH = 64
_ERROR = 2


@dataclass(frozen=True, slots=True)
class OtlpEvent:
    """An event of a span, or a log record with the ids of its span. `time` is in nanoseconds since 1970, 0 if it is unknown."""

    name: str
    time: int
    attributes: Mapping[str, Any]
    trace_id: str = ""
    span_id: str = ""


@dataclass(frozen=True, slots=True)
class OtlpSpan:
    """A span. Times are in nanoseconds since 1970, 0 if they are unknown. The `parent` of a root is an empty text, `status` 2 is an error."""

    trace_id: str
    span_id: str
    parent: str
    name: str
    kind: int
    start: int
    end: int
    status: int
    message: str
    attributes: Mapping[str, Any]
    events: tuple[OtlpEvent, ...] = ()
    resource: Mapping[str, Any] | None = None
    scope: str = ""

    @property
    def failed(self) -> bool:
        """Return whether the span ended with an error."""
        return self.status == _ERROR


def is_otlp(value: Mapping[str, Any]) -> bool:
    """Return whether a JSON object is a request, or a line of a file, of traces or logs."""
    return "resourceSpans" in value or "resourceLogs" in value


def otlp_records(value: Mapping[str, Any], left_out: Counter[str]) -> Iterator[OtlpSpan | OtlpEvent]:
    """Yield the spans and the log records of a request in JSON. Those that cannot be read are counted."""
    for outer, inner, items, name, read in _PARTS:
        for group in _objects(value.get(outer), left_out):
            for scope in _objects(group.get(inner), left_out):
                for item in _objects(scope.get(items), left_out):
                    try:
                        yield read(
                            item, _attributes(_object(group, "resource").get("attributes")), str(_object(scope, "scope").get("name", ""))
                        )
                    except (ValueError, OverflowError, RecursionError):
                        left_out[f"a {name} that cannot be read"] += 1


def bounded_lines(file: IO[bytes], limit: int = LINE_LIMIT) -> Iterator[bytes | None]:
    """Yield the lines of a file, and None for a line of more bytes than the limit, which is skipped to its end."""
    while line := file.readline(limit + 1):
        if len(line) <= limit or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(1 << 20)
        yield None


def protobuf_json(body: bytes, signal: OtlpSignal) -> dict[str, Any]:
    """Convert a binary request to its JSON. Raises ValueError if it is not one."""
    # Protobuf loads a library.
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest() if signal == "traces" else ExportLogsServiceRequest()
    try:
        request.ParseFromString(body)
        value: dict[str, Any] = MessageToDict(request, use_integers_for_enums=True)
    except (DecodeError, RecursionError) as error:
        raise ValueError(f"it is not protobuf ({error})") from None
    for item in otlp_items(value):
        for owner in (item, *item.get("links", ())):
            # The JSON of protobuf has ids in base64.
            owner.update({key: base64.b64decode(owner[key]).hex() for key in ("traceId", "spanId", "parentSpanId") if key in owner})
    return value


def otlp_items(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the spans and log records of a request as its JSON has them."""
    for outer, inner, items, _, _ in _PARTS:
        yield from (item for group in value.get(outer, ()) for scope in group.get(inner, ()) for item in scope.get(items, ()))


def hex_id(value: object, size: int = _TRACE_ID) -> str:
    """Return an id of so many bytes in lower case, from hexadecimal or base64. Raises ValueError for any other value, and for zeros."""
    text = value if isinstance(value, str) else ""
    try:
        raw = bytes.fromhex(text) if len(text) == 2 * size else base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raw = b""
    if len(raw) != size or not any(raw):
        raise ValueError("an id is missing or has another length")
    return raw.hex()


def _span(item: Mapping[str, Any], resource: Mapping[str, Any], scope: str) -> OtlpSpan:
    status, parent, events = _object(item, "status"), item.get("parentSpanId"), item.get("events") or []
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise ValueError("events are not a list of objects")
    return OtlpSpan(
        trace_id=hex_id(item.get("traceId")),
        span_id=hex_id(item.get("spanId"), _SPAN_ID),
        parent=hex_id(parent, _SPAN_ID) if parent else "",
        name=_text(item.get("name", "")),
        kind=_integer(item.get("kind", 0)),
        start=_integer(item.get("startTimeUnixNano", 0)),
        end=_integer(item.get("endTimeUnixNano", 0)),
        status=_integer(status.get("code", 0)),
        message=_text(status.get("message", "")),
        attributes=_attributes(item.get("attributes")),
        events=tuple(
            OtlpEvent(_text(event.get("name", "")), _integer(event.get("timeUnixNano", 0)), _attributes(event.get("attributes")))
            for event in events
        ),
        resource=resource,
        scope=scope,
    )


def _log(item: Mapping[str, Any], *_: object) -> OtlpEvent:
    trace_id, span_id, attributes = item.get("traceId"), item.get("spanId"), _attributes(item.get("attributes"))
    return OtlpEvent(
        # Before 2025 the name was an attribute.
        name=_text(item.get("eventName") or attributes.get("event.name") or ""),
        time=_integer(item.get("timeUnixNano", 0)),
        attributes=attributes,
        trace_id=hex_id(trace_id) if trace_id else "",
        span_id=hex_id(span_id, _SPAN_ID) if span_id else "",
    )


_PARTS: tuple[tuple[str, str, str, str, Callable[..., OtlpSpan | OtlpEvent]], ...] = (
    ("resourceSpans", "scopeSpans", "spans", "span", _span),
    ("resourceLogs", "scopeLogs", "logRecords", "log record", _log),
)


def _objects(value: Any, left_out: Counter[str]) -> list[dict[str, Any]]:
    items = value if isinstance(value, list) else [] if value is None else [value]
    objects = [item for item in items if isinstance(item, dict)]
    left_out[MALFORMED] += len(items) - len(objects)
    return objects


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _attributes(pairs: Any, depth: int = _DEPTH) -> dict[str, Any]:
    if pairs is None:
        return {}
    if not isinstance(pairs, list) or not all(isinstance(pair, dict) for pair in pairs):
        raise ValueError("attributes are not a list of objects")
    return {_text(pair.get("key")): _value(pair.get("value"), depth) for pair in pairs}


def _value(value: Any, depth: int) -> Any:
    if value is None:
        return None
    if not isinstance(value, dict) or not depth:
        raise ValueError("not a value, or nested too deeply")
    for kind, read in _SCALARS.items():
        if (inner := value.get(kind)) is not None:
            return read(inner)
    if (array := value.get("arrayValue")) is not None:
        return [_value(item, depth - 1) for item in _values(array)]
    return _attributes(_values(pairs), depth - 1) if (pairs := value.get("kvlistValue")) is not None else None


def _values(value: Any) -> list[Any]:
    items = value.get("values", []) if isinstance(value, dict) else None
    if not isinstance(items, list):
        raise ValueError("a list has no values")
    return items


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return value


def _integer(value: Any) -> int:
    """Read an integer of 64 bits, which is a number or a decimal text."""
    if isinstance(value, bool) or not isinstance(value, int | str) or (isinstance(value, str) and len(value) > 20):
        raise ValueError("not an integer")
    number = int(value)
    if not -(2**63) <= number < 2**64:
        raise ValueError("an integer of more than 64 bits")
    return number


def _double(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("not a number")
    return float(value)


_SCALARS: Mapping[str, Callable[[Any], Any]] = {
    "stringValue": _text,
    "boolValue": _flag,
    "intValue": _integer,
    "doubleValue": _double,
    "bytesValue": lambda value: base64.b64decode(_text(value), validate=True),
}
