"""Read OTLP, the format of OpenTelemetry, from JSON or protobuf to spans and events with plain Python values.

Source: open-telemetry/opentelemetry-proto, `docs/specification.md`. Ids are hexadecimal in JSON, 64-bit integers are decimal texts.
"""

import base64
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from workbench.core.environment import require_installed

# The names of files of protobuf end in one of these.
BINARY = (".pb", ".binpb", ".protobuf")
# The largest message of protobuf, in bytes. One of millions of empty messages takes more than a hundred times its size in memory.
PROTOBUF_LIMIT = 20 << 20
OtlpSignal = Literal["traces", "logs"]
MALFORMED = "an OTLP message that is not as specified"
_TRACE_ID, _SPAN_ID = 16, 8
# The deepest list or object in a value.
_DEPTH = 64
_ERROR = 2
_KINDS = frozenset({"stringValue", "boolValue", "intValue", "doubleValue", "bytesValue", "arrayValue", "kvlistValue"})
# The lists of a request: of resources, of scopes, and of the records themselves.
_LISTS = (("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords"))


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """An event of a span, or a log record with the ids of its span. The fields of its body are among its attributes."""

    name: str
    attributes: Mapping[str, Any]
    trace_id: str = ""
    span_id: str = ""


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """A span. Times are in nanoseconds since 1970, 0 if they are unknown. The `parent` of a root is an empty text.

    The attributes of its resource, such as `service.version`, are among its attributes. `message` says why it failed.
    """

    trace_id: str
    span_id: str
    parent: str
    start: int
    end: int
    failed: bool
    message: str
    attributes: Mapping[str, Any]
    events: tuple[TraceEvent, ...] = ()


TraceRecord = TraceSpan | TraceEvent


def is_otlp(value: Mapping[str, Any]) -> bool:
    """Return True if a JSON object is a request, or a line of a file, of traces or logs."""
    return "resourceSpans" in value or "resourceLogs" in value


def otlp_records(value: Mapping[str, Any], left_out: Counter[str]) -> Iterator[TraceRecord]:
    """Yield the spans and the log records of a request in JSON. Those that cannot be read are counted."""
    for resources, scopes, items in _LISTS:
        for group in _objects(value.get(resources), left_out):
            for item in (item for scope in _objects(group.get(scopes), left_out) for item in _objects(scope.get(items), left_out)):
                try:
                    yield _span(item, _attributes(_object(group, "resource"))) if items == "spans" else _log(item)
                except (ValueError, OverflowError, RecursionError):
                    left_out[f"a {'span' if items == 'spans' else 'log record'} that cannot be read"] += 1


def protobuf_json(body: bytes, signal: OtlpSignal) -> dict[str, Any]:
    """Convert a binary request to its JSON. Raises ValueError if it is not one, or larger than 20 MiB."""
    if len(body) > PROTOBUF_LIMIT:
        raise ValueError("it has more than 20 MiB")
    require_installed("a trace in protobuf", "google.protobuf", "opentelemetry.proto")
    # Protobuf loads a library.
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest() if signal == "traces" else ExportLogsServiceRequest()
    try:
        request.ParseFromString(body)
        value: dict[str, Any] = MessageToDict(request, use_integers_for_enums=True)
    except (DecodeError, RecursionError):
        raise ValueError("it is not protobuf") from None
    for item in otlp_items(value):
        for owner in (item, *item.get("links", ())):
            # The JSON of protobuf has ids in base64.
            owner.update({key: base64.b64decode(owner[key]).hex() for key in ("traceId", "spanId", "parentSpanId") if key in owner})
    return value


def otlp_items(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the spans and log records of a request as its JSON has them."""
    for resources, scopes, items in _LISTS:
        yield from (item for group in value.get(resources, ()) for scope in group.get(scopes, ()) for item in scope.get(items, ()))


def hex_id(value: object, size: int = _TRACE_ID) -> str:
    """Return an id of `size` bytes in lower-case hexadecimal, from hexadecimal or base64. Raises ValueError for any other value, and for zeros."""
    text = value if isinstance(value, str) else ""
    try:
        raw = bytes.fromhex(text) if len(text) == 2 * size else base64.b64decode(text, validate=True)
    except ValueError:
        raw = b""
    if len(raw) != size or not any(raw):
        raise ValueError("an id is missing or has another length")
    return raw.hex()


def _span(item: Mapping[str, Any], resource: Mapping[str, Any]) -> TraceSpan:
    status, parent, events = _object(item, "status"), item.get("parentSpanId"), item.get("events") or []
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise ValueError("events are not a list of objects")
    return TraceSpan(
        trace_id=hex_id(item.get("traceId")),
        span_id=hex_id(item.get("spanId"), _SPAN_ID),
        parent=hex_id(parent, _SPAN_ID) if parent else "",
        start=_integer(item.get("startTimeUnixNano", 0)),
        end=_integer(item.get("endTimeUnixNano", 0)),
        failed=_integer(status.get("code", 0)) == _ERROR,
        message=_text(status.get("message", "")),
        attributes={**resource, **_attributes(item)},
        events=tuple(TraceEvent(_text(event.get("name", "")), _attributes(event)) for event in events),
    )


def _log(item: Mapping[str, Any]) -> TraceEvent:
    trace_id, span_id, attributes, body = item.get("traceId"), item.get("spanId"), _attributes(item), _value(item.get("body"))
    return TraceEvent(
        # Before 2025 the name was an attribute.
        name=_text(item.get("eventName") or attributes.get("event.name") or ""),
        attributes={**body, **attributes} if isinstance(body, dict) else attributes,
        trace_id=hex_id(trace_id) if trace_id else "",
        span_id=hex_id(span_id, _SPAN_ID) if span_id else "",
    )


def _objects(value: Any, left_out: Counter[str]) -> list[dict[str, Any]]:
    items = value if isinstance(value, list) else [] if value is None else [value]
    objects = [item for item in items if isinstance(item, dict)]
    left_out[MALFORMED] += len(items) - len(objects)
    return objects


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _attributes(owner: Mapping[str, Any], name: str = "attributes", depth: int = _DEPTH) -> dict[str, Any]:
    pairs = owner.get(name)
    if pairs is None:
        return {}
    if not isinstance(pairs, list) or not all(isinstance(pair, dict) for pair in pairs):
        raise ValueError(f"{name} are not a list of objects")
    return {_text(pair.get("key")): _value(pair.get("value"), depth) for pair in pairs}


def _value(value: Any, depth: int = _DEPTH) -> Any:
    """Convert a value: an object whose key is the kind of what it has, an empty object or null."""
    if value is None:
        return None
    if not isinstance(value, dict) or not depth:
        raise ValueError("not a value, or nested too deeply")
    match next(((kind, inner) for kind, inner in value.items() if kind in _KINDS and inner is not None), None):
        case None:
            return None
        case ("stringValue", str(plain)) | ("boolValue", bool(plain)):
            return plain
        case "intValue", number:
            return _integer(number)
        case "doubleValue", int() | float() | str() as number if not isinstance(number, bool):
            return float(number)
        case "bytesValue", str(text):
            return base64.b64decode(text, validate=True)
        case "arrayValue", dict(array) if isinstance(items := array.get("values", []), list):
            return [_value(item, depth - 1) for item in items]
        case "kvlistValue", dict(pairs):
            return _attributes(pairs, "values", depth - 1)
    raise ValueError("a value of another kind than its key")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _integer(value: Any) -> int:
    """Read an integer of 64 bits, which is a number or a decimal text."""
    number = int(value) if isinstance(value, int | str) and not isinstance(value, bool) else None
    if number is None or not -(2**63) <= number < 2**64:
        raise ValueError("not an integer of 64 bits")
    return number
