"""Write the evaluations of rows as OpenTelemetry events, which other tools show beside the spans that they evaluate."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workbench.targets.recorded.traces.otlp import hex_id
from workbench.targets.recorded.traces.steps import EVALUATION, EVALUATION_ATTRIBUTES
from workbench.targets.recorded.traces.tool_exports import nanoseconds

_INFORMATION = 9
_ATTRIBUTES = {**EVALUATION_ATTRIBUTES, "probability": "workbench.probability"}


def evaluation_events(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the evaluations of each row as one line of OTLP in JSON: log records named `gen_ai.evaluation.result`.

    A record belongs to the span of its row and has the row's time. An evaluation can have the `probability` with which its question was sampled,
    otherwise the record has that of the row. Where the row has no valid ids of a trace and a span, `workbench.id` alone names the question.
    """
    for row in rows:
        if records := [_record(row, found) for found in row.get("evaluations") or ()]:
            resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "workbench"}}]}
            logs = {"resource": resource, "scopeLogs": [{"scope": {"name": "workbench.monitor"}, "logRecords": records}]}
            yield json.dumps({"resourceLogs": [logs]}, ensure_ascii=False, separators=(",", ":"))


def _record(row: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    values = {"probability": row.get("probability"), **found}
    pairs = {_ATTRIBUTES[name]: value for name, value in values.items() if name in _ATTRIBUTES and value is not None}
    attributes = [{"key": key, "value": _value(value)} for key, value in {**pairs, "workbench.id": str(row["id"])}.items()]
    record = {"timeUnixNano": str(nanoseconds(row.get("time"))), "severityNumber": _INFORMATION, "eventName": EVALUATION}
    try:
        ids = {"traceId": hex_id(row.get("trace_id")), "spanId": hex_id(row.get("span_id"), 8)}
    except ValueError:
        ids = {}
    return {**record, "attributes": attributes, **ids}


def _value(value: Any) -> dict[str, Any]:
    return {"stringValue": value} if isinstance(value, str) else {"doubleValue": float(value)}
