"""Spans and OTLP messages that tests are made of."""

import json
from pathlib import Path
from typing import Any

TRACE, SPAN = "5a40dbdb7dafb796a9c9fa349fe202bc", "76becfa7f8c95841"
START = 1_795_698_821_000_000_000


def value(item: Any) -> dict[str, Any]:
    """A value as OTLP has it in JSON."""
    match item:
        case bool():
            return {"boolValue": item}
        case int():
            return {"intValue": str(item)}
        case float():
            return {"doubleValue": item}
        case list():
            return {"arrayValue": {"values": list(map(value, item))}}
        case dict():
            return {"kvlistValue": {"values": pairs(item)}}
        case _:
            return {"stringValue": item}


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value(item)} for key, item in attributes.items()]


def span(place: int, parent: int | None, attributes: dict[str, Any], /, **fields: Any) -> dict[str, Any]:
    """A span that begins at the second of its place and ends after its `seconds`."""
    seconds = fields.pop("seconds", 0.5)
    start = START + place * 1_000_000_000
    made = {
        "traceId": TRACE,
        "spanId": f"{place + 1:016x}",
        "name": f"span {place}",
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + int(seconds * 1_000_000_000)),
        "attributes": pairs(attributes),
        "status": {},
    }
    return made | ({} if parent is None else {"parentSpanId": f"{parent + 1:016x}"}) | fields


def request(*spans: dict[str, Any], resource: dict[str, Any] | None = None) -> dict[str, Any]:
    scopes = [{"scope": {"name": "made"}, "spans": list(spans)}]
    return {"resourceSpans": [{"resource": {"attributes": pairs(resource or {})}, "scopeSpans": scopes}]}


def write_lines(path: Path, *values: Any) -> Path:
    path.write_text("".join(item + "\n" if isinstance(item, str) else json.dumps(item) + "\n" for item in values), "utf-8")
    return path
