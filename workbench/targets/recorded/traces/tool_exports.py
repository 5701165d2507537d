"""Turn exports of Langfuse, LangSmith, Phoenix and MLflow into spans with the attributes of OpenInference, and their scores into events.

Sources: the export formats of langfuse 5.0, langsmith 0.15, arize-phoenix-client 3.5 and mlflow-tracing 3.17, and of the versions before them whose
names differ.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from workbench.targets.recorded.cells import structured
from workbench.targets.recorded.exports import value_at
from workbench.targets.recorded.langsmith import INPUTS, OUTPUTS, values_of
from workbench.targets.recorded.phoenix import PHOENIX
from workbench.targets.recorded.traces.otlp import OtlpEvent, OtlpSpan, hex_id
from workbench.targets.recorded.traces.steps import EVALUATION

Record = OtlpSpan | OtlpEvent
# A number is in seconds, milliseconds, microseconds or nanoseconds, which its size tells for times after 1973.
_UNITS = ((1e11, 10**9), (1e14, 10**6), (1e17, 10**3))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TraceExport(NamedTuple):
    """A form of row that a tool exports: the tool, how to recognize a row, and the spans and scores in it."""

    tool: str
    marks: Callable[[Mapping[str, Any]], bool]
    read: Callable[[Mapping[str, Any]], Iterator[Record]]


def export_of(row: Mapping[str, Any]) -> TraceExport | None:
    """Return the form of a row, or None if no tool is known to export it."""
    return next((export for export in _EXPORTS if export.marks(row)), None)


def _any(row: Mapping[str, Any], *names: str) -> Any:
    """Return the first value that is not empty: names have changed, and some tools write them in two ways."""
    return next((value for name in names if (value := value_at(row, name)) not in (None, "")), None)


def _named(row: Mapping[str, Any], names: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    return {name: _any(row, *keys) for name, keys in names.items()}


def _mapping(value: Any) -> Mapping[str, Any]:
    value = structured(value, "an object")
    return value if isinstance(value, Mapping) else {}


def _id(value: Any) -> str:
    return "" if value is None else str(value)


def nanoseconds(value: Any) -> int:
    """Return a time as nanoseconds since 1970, from ISO 8601 (UTC if it names no zone) or a number. 0 if it is none."""
    if isinstance(value, str) and not value.isdecimal():
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return 0
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
        return ((since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds) * 1000
    if isinstance(value, bool) or not isinstance(value, int | float | str) or not 0 < float(str(value)[:30]) < 2**63:
        return 0
    number = value if isinstance(value, float) else int(value)
    unit = next((unit for limit, unit in _UNITS if number < limit), 1)
    # A float has no nanoseconds.
    return round(number * unit / 1000) * 1000 if isinstance(number, float) else number * unit


def _span(ids: tuple[Any, Any, Any], kind: Any, times: tuple[Any, Any], failure: Any, attributes: Mapping[str, Any]) -> OtlpSpan:
    """Make a span. `failure` is None, or an error without or with a message."""
    known = {name: value for name, value in attributes.items() if value is not None} | {"openinference.span.kind": str(kind or "").upper()}
    trace_id, span_id, parent = map(_id, ids)
    start, end = map(nanoseconds, times)
    return OtlpSpan(trace_id or span_id, span_id, parent, "", 0, start, end, 0 if failure is None else 2, str(failure or ""), known)


def _score(ids: tuple[Any, Any], name: Any, value: Any, label: Any, about: tuple[Any, Any, Any]) -> OtlpEvent:
    """Make an evaluation. `about` are its explanation, its judge and its error."""
    explanation, judge, error = about
    # CSV has numbers as texts.
    if isinstance(value, str) and not re.fullmatch(r"-?\d+(\.\d+)?", value):
        value, label = None, label or value
    fields = {"name": name, "score.value": value, "score.label": label, "explanation": explanation}
    attributes = {f"gen_ai.evaluation.{key}": item for key, item in fields.items()} | {"workbench.judge": judge, "error.type": error}
    return OtlpEvent(EVALUATION, 0, {key: item for key, item in attributes.items() if item is not None}, *map(_id, ids))


# The attributes of an observation or a trace of Langfuse by its names in either style.
_LANGFUSE = {
    "session.id": ("session_id", "sessionId"),
    "user.id": ("user_id", "userId"),
    "llm.model_name": ("provided_model_name", "providedModelName", "model"),
    "llm.token_count.prompt": ("usage.input", "usage.promptTokens", "input_tokens", "inputUsage", "promptTokens"),
    "llm.token_count.completion": ("usage.output", "usage.completionTokens", "output_tokens", "outputUsage", "completionTokens"),
    "llm.cost.total": ("total_cost", "totalCost", "calculatedTotalCost"),
    "llm.prompt_template.version": ("prompt_version", "promptVersion"),
    **{name: (name.removesuffix(".value"),) for name in ("input.value", "output.value", "metadata", "release", "version")},
}


def _langfuse_observation(row: Mapping[str, Any]) -> Iterator[Record]:
    trace_id, row = _any(row, "trace_id", "traceId"), {**row, "usage": _mapping(_any(row, "usage_details", "usageDetails", "usage"))}
    failure = (_any(row, "status_message", "statusMessage") or "") if row.get("level") == "ERROR" else None
    # A trace, which older exports have as a row too, is the parent of its outermost observations.
    ids = (trace_id, row.get("id"), _any(row, "parent_observation_id", "parentObservationId") or trace_id)
    yield _span(
        ids, row.get("type"), (_any(row, "start_time", "startTime"), _any(row, "end_time", "endTime")), failure, _named(row, _LANGFUSE)
    )


def _langfuse_trace(row: Mapping[str, Any]) -> Iterator[Record]:
    yield _span((row["id"], row["id"], None), "", (row.get("timestamp"), None), None, _named(row, _LANGFUSE))
    for name, read in (("observations", _langfuse_observation), ("scores", _langfuse_score)):
        items = row.get(name)
        for item in items if isinstance(items, list) else ():
            if isinstance(item, Mapping):
                yield from read({"traceId": row["id"], **item})


def _langfuse_score(row: Mapping[str, Any]) -> Iterator[Record]:
    kind, label = str(_any(row, "data_type", "dataType")), _any(row, "string_value", "stringValue")
    # Categories and texts have a number that means nothing.
    value = None if kind in ("CATEGORICAL", "TEXT") else row.get("value")
    ids = (_any(row, "trace_id", "traceId"), _any(row, "observation_id", "observationId"))
    yield _score(ids, row.get("name"), value, label, (row.get("comment"), row.get("source"), None))


_LANGSMITH = {
    "llm.token_count.prompt": ("prompt_tokens",),
    "llm.token_count.completion": ("completion_tokens",),
    "llm.cost.total": ("total_cost",),
    "llm.model_name": ("metadata.ls_model_name",),
}


def _langsmith_run(row: Mapping[str, Any]) -> Iterator[Record]:
    metadata, run_id = _mapping(_mapping(row.get("extra")).get("metadata")), _any(row, "id", "run_id")
    values = {"input.value": values_of(row, INPUTS), "output.value": values_of(row, OUTPUTS), "metadata": metadata}
    attributes = values | _named({**row, "metadata": metadata}, _LANGSMITH)
    times = (row.get("start_time"), row.get("end_time"))
    yield _span((row.get("trace_id"), run_id, row.get("parent_run_id")), row.get("run_type"), times, row.get("error") or None, attributes)
    for name, stats in _mapping(row.get("feedback_stats")).items():
        if (average := _mapping(stats).get("avg")) is not None:
            yield _score((row.get("trace_id"), run_id), name, average, None, (None, None, None))


def _langsmith_feedback(row: Mapping[str, Any]) -> Iterator[Record]:
    value, label = (row.get(name) for name in ("score", "value"))
    judge = _mapping(row.get("feedback_source")).get("type")
    yield _score((row.get("trace_id"), row["run_id"]), row["key"], value, label, (row.get("comment"), judge, None))


def _phoenix_span(row: Mapping[str, Any]) -> Iterator[Record]:
    inside = _mapping(row.get("attributes"))
    attributes = {**inside, **{key.removeprefix("attributes."): value for key, value in row.items() if key.startswith("attributes.")}}
    kind = row.get("span_kind") or value_at(attributes, "openinference.span.kind")
    ids = (value_at(row, "context.trace_id"), value_at(row, "context.span_id"), row.get("parent_id"))
    failure = (row.get("status_message") or "") if row.get("status_code") == "ERROR" else None
    yield _span(ids, kind, (row.get("start_time"), row.get("end_time")), failure, attributes)


def _phoenix_annotation(row: Mapping[str, Any]) -> Iterator[Record]:
    score, label, explanation = (_any(row, f"result.{name}", name) for name in ("score", "label", "explanation"))
    yield _score((None, row["span_id"]), _any(row, "name", "annotation_name"), score, label, (explanation, row["annotator_kind"], None))


# The attributes of a trace or a span of MLflow.
_MLFLOW = {
    "input.value": ("mlflow.spanInputs", "inputs", "request", "request_preview"),
    "output.value": ("mlflow.spanOutputs", "outputs", "response", "response_preview"),
    "session.id": ("mlflow.trace.session",),
    "user.id": ("mlflow.trace.user",),
    "llm.token_count.prompt": ("usage.input_tokens",),
    "llm.token_count.completion": ("usage.output_tokens",),
    "llm.model_name": ("mlflow.llm.model", "model"),
}


def _mlflow_trace(row: Mapping[str, Any]) -> Iterator[Record]:
    about = {**row, **_mapping(row.get("info"))}
    trace_id = _any(about, "trace_id", "request_id")
    metadata = _mapping(_any(about, "trace_metadata", "request_metadata"))
    usage, tags = _mapping(metadata.get("mlflow.trace.tokenUsage")), _mapping(about.get("tags"))
    kept = {**tags, **{key: value for key, value in metadata.items() if not key.startswith("mlflow.")}}
    attributes = {
        **{key: _mlflow_value(value) for key, value in _named({**about, **metadata, "usage": usage}, _MLFLOW).items()},
        "metadata": kept,
    }
    start = nanoseconds(_any(about, "request_time", "timestamp_ms"))
    seconds = _any(about, "execution_duration", "execution_duration_ms", "execution_time_ms")
    # MLflow writes the duration in milliseconds, in the JSON of a trace also as a text such as "0.014s".
    end = start + int(seconds * 1e6) if isinstance(seconds, int | float) else 0
    failure = "" if str(_any(about, "state", "status")).endswith("ERROR") else None
    yield _span((trace_id, trace_id, None), "", (start, end), failure, attributes)
    spans = structured(_any(about, "spans", "data.spans"), "spans")
    for span in spans if isinstance(spans, list) else ():
        if isinstance(span, Mapping):
            yield _mlflow_span(span, trace_id)
    assessments = structured(about.get("assessments"), "assessments")
    for found in map(_mapping, assessments if isinstance(assessments, list) else ()):
        if "feedback" in found and found.get("valid") is not False:
            feedback, judge = _mapping(found["feedback"]), _any(found, "source.source_type")
            value, error = feedback.get("value"), _any(feedback, "error.error_code")
            yield _score((trace_id, None), _any(found, "assessment_name", "name"), value, None, (found.get("rationale"), judge, error))


def _mlflow_span(row: Mapping[str, Any], trace_id: Any) -> OtlpSpan:
    # The values of attributes are JSON in texts.
    attributes = {key: _mlflow_value(value) for key, value in _mapping(row.get("attributes")).items()}
    known = _named({**row, **attributes, "usage": _mapping(attributes.get("mlflow.chat.tokenUsage"))}, _MLFLOW)
    status = _mapping(row.get("status"))
    failed = str(_any(status, "code") or row.get("status_code")).endswith("ERROR")
    failure = (_any(status, "message") or row.get("status_message") or "") if failed else None
    ids = (trace_id, _mlflow_id(row.get("span_id")), _mlflow_id(_any(row, "parent_span_id", "parent_id")) or trace_id)
    times = (_any(row, "start_time_unix_nano", "start_time"), _any(row, "end_time_unix_nano", "end_time"))
    return _span(ids, _any(attributes, "mlflow.spanType") or row.get("span_type"), times, failure, known)


def _mlflow_value(value: Any) -> Any:
    if isinstance(value, str) and value.startswith('"') and value.endswith('"') and len(value) > 1:
        value = structured(f"[{value}]", "an attribute")
        return value[0] if isinstance(value, list) and value else value
    return value


def _mlflow_id(value: Any) -> str:
    try:
        return hex_id(value, 8)
    except ValueError:
        return _id(value)


def _has(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    """Recognize a row that has one of the names in each of these, such as `trace_id|traceId`."""
    choices = [name.split("|") for name in names]
    return lambda row: all(any(name in row for name in choice) for choice in choices)


# In the order in which they are recognized.
_EXPORTS = (
    TraceExport("phoenix", PHOENIX.marks, _phoenix_span),
    TraceExport("phoenix", _has("span_id", "annotator_kind"), _phoenix_annotation),
    TraceExport("mlflow", _has("request_time|timestamp_ms|info", "trace_metadata|request_metadata|data"), _mlflow_trace),
    TraceExport("langsmith", _has("run_type"), _langsmith_run),
    TraceExport("langsmith", _has("run_id", "key", "score|value"), _langsmith_feedback),
    TraceExport("langfuse", _has("trace_id|traceId", "name", "data_type|dataType", "value|string_value|stringValue"), _langfuse_score),
    TraceExport("langfuse", _has("trace_id|traceId", "id", "type", "start_time|startTime"), _langfuse_observation),
    TraceExport("langfuse", _has("id", "timestamp", "session_id|sessionId|user_id|userId|observations|input"), _langfuse_trace),
)
