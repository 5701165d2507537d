"""OTLP in JSON and protobuf becomes spans with plain values; what is broken is counted."""

import base64
import json
import math
from collections import Counter
from pathlib import Path

import pytest

from tests.monitor.traces.conftest import SPAN, START, TRACE, request, span
from workbench.systems.recorded.traces.otlp import TraceEvent, TraceSpan, hex_id, otlp_records, protobuf_json

EVERY_VALUE = {
    "text": {"stringValue": "à quai"},
    "flag": {"boolValue": False},
    "integer": {"intValue": "-9223372036854775808"},
    "number": {"doubleValue": 0.5},
    "whole": {"doubleValue": 2},
    "infinite": {"doubleValue": "-Infinity"},
    "bytes": {"bytesValue": base64.b64encode(b"\x00\xff").decode()},
    "list": {"arrayValue": {"values": [{"stringValue": "a"}, {}, {"intValue": 3}]}},
    "empty": {"arrayValue": {}},
    "object": {"kvlistValue": {"values": [{"key": "inner", "value": {"kvlistValue": {}}}]}},
    "nothing": {},
}


def read(value: object) -> tuple[list[TraceSpan | TraceEvent], dict[str, int]]:
    left_out: Counter[str] = Counter()
    return list(otlp_records(value, left_out)), dict(+left_out)


def test_a_span_has_plain_values() -> None:
    made = span(
        1,
        None,
        {},
        attributes=[{"key": key, "value": item} for key, item in EVERY_VALUE.items()],
        traceId=TRACE.upper(),
        parentSpanId="",
        unknown={"a": 1},
        status={"code": 2, "message": "broken"},
        events=[{"name": "exception", "timeUnixNano": 7, "attributes": []}],
    )
    ((found,), left_out) = read(request(made, resource={"service.name": "harbour"}))
    assert left_out == {}
    attributes = {
        "text": "à quai",
        "flag": False,
        "integer": -(2**63),
        "number": 0.5,
        "whole": 2.0,
        "infinite": -math.inf,
        "bytes": b"\x00\xff",
        "list": ["a", None, 3],
        "empty": [],
        "object": {"inner": {}},
        "nothing": None,
    }
    expected = TraceSpan(
        trace_id=TRACE,
        span_id="0000000000000002",
        parent="",
        start=START + 10**9,
        end=START + 1_500_000_000,
        failed=True,
        message="broken",
        attributes={"service.name": "harbour", **attributes},
        events=(TraceEvent("exception", {}),),
    )
    assert found == expected


BROKEN_VALUES = [
    {"intValue": "9" * 30},
    {"intValue": 2**64},
    {"intValue": True},
    {"intValue": 1.5},
    {"stringValue": 3},
    {"boolValue": "true"},
    {"doubleValue": []},
    {"doubleValue": "much"},
    {"doubleValue": 10**400},
    {"bytesValue": "not base64!"},
    {"arrayValue": []},
    {"arrayValue": {"values": {}}},
    {"kvlistValue": {"values": [3]}},
    "a text",
    [],
]


@pytest.mark.parametrize("item", BROKEN_VALUES, ids=repr)
def test_a_span_with_a_value_that_is_none_is_counted_and_the_others_are_read(item: object) -> None:
    broken = span(1, None, {}, attributes=[{"key": "a", "value": item}])
    records, left_out = read(request(broken, span(2, None, {})))
    assert [record.span_id for record in records] == ["0000000000000003"]
    assert left_out == {"a span that cannot be read": 1}


def test_values_that_are_nested_too_deeply_are_counted() -> None:
    deep: dict[str, object] = {}
    for _ in range(200):
        deep = {"arrayValue": {"values": [deep]}}
    assert read(request(span(1, None, {}, attributes=[{"key": "a", "value": deep}]))) == ([], {"a span that cannot be read": 1})


BROKEN_FIELDS = [
    {"traceId": "0" * 32},
    {"traceId": TRACE[:-1]},
    {"spanId": None},
    {"spanId": 7},
    {"parentSpanId": "x"},
    {"startTimeUnixNano": "soon"},
    {"endTimeUnixNano": 2**70},
    {"attributes": {}},
    {"attributes": [1]},
    {"attributes": [{"value": {}}]},
    {"events": {"a": 1}},
    {"events": [1]},
    {"status": {"code": "STATUS_CODE_ERROR"}},
]


@pytest.mark.parametrize("fields", BROKEN_FIELDS, ids=repr)
def test_a_span_with_a_broken_field_is_counted(fields: dict[str, object]) -> None:
    assert read(request(span(1, None, {}) | fields)) == ([], {"a span that cannot be read": 1})


def test_messages_of_another_form_are_counted() -> None:
    assert read({"resourceSpans": 3}) == ([], {"an OTLP message that is not as specified": 1})
    assert read({"resourceSpans": [None, {"scopeSpans": "x"}]}) == ([], {"an OTLP message that is not as specified": 2})
    assert read({"resourceSpans": None}) == ([], {})


def test_a_log_record_is_an_event_of_a_span() -> None:
    record = {
        "timeUnixNano": "5",
        "eventName": "gen_ai.evaluation.result",
        "traceId": TRACE,
        "spanId": SPAN,
        "body": {"kvlistValue": {"values": [{"key": "text", "value": {"stringValue": "hello"}}]}},
        "severityNumber": 9,
    }
    old = {"attributes": [{"key": "event.name", "value": {"stringValue": "old"}}]}
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record, old, {"traceId": "x"}]}]}]}
    events = [TraceEvent("gen_ai.evaluation.result", {"text": "hello"}, TRACE, SPAN), TraceEvent("old", {"event.name": "old"})]
    assert read(logs) == (events, {"a log record that cannot be read": 1})


def test_ids_are_hexadecimal_or_base64() -> None:
    raw = bytes(range(16))
    assert hex_id(raw.hex().upper()) == hex_id(base64.b64encode(raw).decode()) == raw.hex()
    with pytest.raises(ValueError, match="another length"):
        hex_id(raw.hex(), 8)


def test_protobuf_gives_the_spans_of_json() -> None:
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    attributes = [{"key": key, "value": item} for key, item in EVERY_VALUE.items()]
    made = request(
        span(1, None, {}, attributes=attributes, events=[{"name": "e", "timeUnixNano": "3"}]), span(2, 1, {}), resource={"a": "b"}
    )
    binary = json.loads(json.dumps(made))
    for item in binary["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        item.update(
            {key: base64.b64encode(bytes.fromhex(item[key])).decode() for key in ("traceId", "spanId", "parentSpanId") if key in item}
        )
    body = ParseDict(binary, ExportTraceServiceRequest()).SerializeToString()
    assert read(protobuf_json(body, "traces")) == read(made)
    assert len(read(made)[0]) == 2


@pytest.mark.parametrize("body", [b"\xff" * 40, b"{}", b'{"resourceSpans": []}'])
def test_what_is_not_protobuf_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="not protobuf"):
        protobuf_json(body, "traces")


def test_both_forms_of_a_file_of_the_official_sdk_give_equal_spans(big_data) -> None:
    folder: Path = big_data("traces")
    spans, left_out = read(json.loads((folder / "otel-genai.otlp.jsonl").read_text("utf-8")))
    assert (len(spans), left_out) == (25, {})
    assert read(protobuf_json((folder / "otel-genai.otlp.pb").read_bytes(), "traces")) == (spans, {})
    assert {span.failed for span in spans} == {False, True}
    assert all(span.attributes["service.name"] == "harbour-help" for span in spans)
