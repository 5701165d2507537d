"""Evaluations leave as OpenTelemetry events that its protobuf accepts, and come back as they were."""

import base64
import json
from pathlib import Path

from tests.monitor.traces.conftest import TRACE, request, span, write_lines
from workbench.monitor.judging import evaluation_events
from workbench.monitor.traces import read_traces
from workbench.systems.recorded.traces.otlp import protobuf_json

EVALUATIONS = [
    {"name": "faithfulness", "score": 0.5, "label": "partly", "explanation": "one of two – à quai", "judge": "nli-large"},
    {"name": "answer_relevance", "error": "the judge did not answer", "judge": "nli-large"},
]
ROW = {
    "id": TRACE,
    "time": "2026-11-26T13:13:41.552723Z",
    "query": "fee?",
    "trace_id": TRACE,
    "span_id": "0000000000000001",
    "probability": 0.25,
}


def test_events_come_back_as_the_evaluations_of_their_row(tmp_path: Path) -> None:
    trace = request(span(0, None, {"openinference.span.kind": "CHAIN", "input.value": "fee?"}))
    lines = list(evaluation_events([ROW | {"evaluations": EVALUATIONS}, ROW, ROW | {"evaluations": []}]))
    assert len(lines) == 1
    found = read_traces(write_lines(tmp_path / "t.jsonl", trace), write_lines(tmp_path / "e.jsonl", *lines))
    assert found.left_out == {}
    assert found.rows[0]["evaluations"] == EVALUATIONS


def test_the_protobuf_of_opentelemetry_accepts_the_events() -> None:
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    (line,) = evaluation_events([ROW | {"evaluations": EVALUATIONS}])
    value = json.loads(line)
    records = value["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    for record in records:
        record.update({key: base64.b64encode(bytes.fromhex(record[key])).decode() for key in ("traceId", "spanId")})
    message = ParseDict(value, ExportLogsServiceRequest())
    assert protobuf_json(message.SerializeToString(), "logs") == json.loads(line)
    first, second = message.resource_logs[0].scope_logs[0].log_records
    assert (first.event_name, first.trace_id.hex(), first.span_id.hex()) == ("gen_ai.evaluation.result", TRACE, "0000000000000001")
    assert first.time_unix_nano == 1_795_698_821_552_723_000
    attributes = {pair.key: pair.value for pair in first.attributes}
    assert attributes["gen_ai.evaluation.name"].string_value == "faithfulness"
    assert attributes["gen_ai.evaluation.score.value"].double_value == 0.5
    assert attributes["workbench.judge"].string_value == "nli-large"
    assert attributes["workbench.probability"].double_value == 0.25
    errors = {pair.key: pair.value.string_value for pair in second.attributes}
    assert errors["error.type"] == "the judge did not answer"
    assert "gen_ai.evaluation.score.value" not in errors


def test_the_probability_of_an_evaluation_precedes_that_of_its_row_and_ids_of_other_tools_are_left_out() -> None:
    row = ROW | {"trace_id": "tr-1", "span_id": "", "evaluations": [{"name": "f", "score": 1, "probability": 0.1}]}
    (record,) = json.loads(next(evaluation_events([row])))["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert "traceId" not in record
    attributes = {pair["key"]: pair["value"] for pair in record["attributes"]}
    assert attributes["workbench.probability"] == {"doubleValue": 0.1}
    assert attributes["workbench.id"] == {"stringValue": TRACE}
