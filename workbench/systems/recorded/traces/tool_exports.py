"""Turn exports of Langfuse, LangSmith, Phoenix, MLflow, Opik and TruLens into spans with the attributes of OpenInference, and scores into events.

Sources: the export formats of langfuse 5.0, langsmith 0.15, arize-phoenix-client 3.5 and mlflow-tracing 3.17, and of the versions before them whose
names differ; those of opik 2.2, written by its own types without its server, and tables that trulens-core 2.16 wrote.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from workbench.systems.recorded.exports import Row, value_at
from workbench.systems.recorded.payloads import structured
from workbench.systems.recorded.traces.otlp import TraceEvent, TraceRecord, TraceSpan, is_otlp, otlp_records
from workbench.systems.recorded.traces.steps import EVALUATION, mappings, number_in

# A number is in seconds, milliseconds, microseconds or nanoseconds, which its size tells for times after 1973.
_UNITS = ((1e11, 10**9), (1e14, 10**6), (1e17, 10**3))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Fields of a span by the names that tools give them.
_FIELDS = {
    "trace_id": ("context.trace_id", "trace_id", "request_id"),
    "span_id": ("context.span_id", "span_id", "id", "run_id"),
    "parent": ("parent_id", "parent_span_id", "parent_run_id", "parent_observation_id"),
    "kind": ("span_kind", "run_type", "mlflow.spanType", "span_type", "type", "attributes.openinference.span.kind"),
    "start": ("start_time_unix_nano", "start_time", "timestamp", "request_time", "timestamp_ms"),
    "end": ("end_time_unix_nano", "end_time"),
    "error": ("error", "status_message", "status.message"),
    "state": ("level", "state", "status.code", "status_code", "status"),
}
_ATTRIBUTES = {
    "input.value": ("mlflow.spanInputs", "inputs", "input", "request", "request_preview"),
    "output.value": ("mlflow.spanOutputs", "outputs", "output", "response", "response_preview"),
    "session.id": ("session_id", "mlflow.trace.session"),
    "user.id": ("user_id", "mlflow.trace.user"),
    "llm.model_name": ("provided_model_name", "mlflow.llm.model", "model", "metadata.ls_model_name"),
    "llm.token_count.prompt": ("usage.input_tokens", "usage.input", "usage.promptTokens", "prompt_tokens", "input_tokens", "input_usage"),
    "llm.token_count.completion": (
        *("usage.output_tokens", "usage.output", "usage.completionTokens"),
        *("completion_tokens", "output_tokens", "output_usage"),
    ),
    "llm.cost.total": ("total_cost", "calculated_total_cost"),
    "llm.prompt_template.version": ("prompt_version",),
    "tag.tags": ("tags",),
    **{name: (name,) for name in ("metadata", "release", "version", "query_id")},
}
_SCORE = {
    "gen_ai.evaluation.name": ("assessment_name", "annotation_name", "name", "key"),
    "gen_ai.evaluation.score.value": ("result.score", "score", "feedback.value", "value"),
    "gen_ai.evaluation.score.label": ("result.label", "label", "string_value"),
    "gen_ai.evaluation.explanation": ("result.explanation", "explanation", "comment", "rationale"),
    "workbench.judge": ("annotator_kind", "source.source_type", "feedback_source.type", "source"),
    "error.type": ("feedback.error.error_code",),
}
# The names of the spans of retrievers in Opik.
_RETRIEVES = re.compile("retriev|search", re.IGNORECASE)
_TRULENS = "ai.observability."
_TRULENS_KINDS = {"reranking": "reranker", "eval": "evaluator", "eval_root": "evaluator"}
_MLFLOW_DURATION = ("execution_duration", "execution_duration_ms", "execution_time_ms")
# Fields that are JSON in a text where a table or an attribute has no objects.
_OBJECTS = frozenset(
    {"attributes", "assessments", "extra", "feedback", "feedback_source", "feedback_stats", "info", "metadata", "request_metadata", "spans"}
    | {"tags", "trace_metadata", "usage", "usage_details", "mlflow.chat.tokenUsage", "mlflow.trace.tokenUsage"}
)


class TraceExport(NamedTuple):
    """A form of row that a tool exports: the tool, how to recognize a row, and the spans and scores in it."""

    tool: str
    marks: Callable[[Row], bool]
    read: Callable[[Row, Counter[str]], Iterator[TraceRecord]]


def export_of(row: Row) -> TraceExport | None:
    """Return the form of a row, or None if no tool is known to export it."""
    return next((export for export in TRACE_EXPORTS if export.marks(row)), None)


def _values(row: Row, names: tuple[str, ...]) -> Any:
    # A table can have a column for each, such as `inputs.question`.
    if names[0] in row:
        return structured(row[names[0]], names[0])
    columns = {key.partition(".")[2]: value for key, value in row.items() if key.startswith(tuple(f"{name}." for name in names))}
    return {key: structured(value, f"{names[0]}.{key}") for key, value in columns.items()} or None


def nanoseconds(value: Any) -> int:
    """Return a time as nanoseconds since 1970, from ISO 8601 (UTC if it names no zone) or a number, or 0 for another value."""
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


def _any(row: Row, *names: str) -> Any:
    """Return the first value that is not empty: names have changed, and some tools write them in two ways."""
    return next((value for name in names if (value := value_at(row, name)) not in (None, "")), None)


def _named(row: Row, names: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    return {name: value for name, keys in names.items() if (value := _any(row, *keys)) is not None}


def _parsed(row: Row) -> dict[str, Any]:
    return {key: structured(value, key) if key in _OBJECTS else value for key, value in row.items()}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _id(value: Any) -> str:
    return "" if value is None else str(value)


def _span(row: Row, attributes: Mapping[str, Any] | None = None, parent: Any = None) -> TraceSpan:
    """Make a span of a row. `attributes` are those that the row names as OpenInference does, `parent` is that of a row without one."""
    found = _named(row, _FIELDS)
    failed = bool(row.get("error")) or str(found.get("state")).endswith("ERROR")
    kind = {"openinference.span.kind": str(found.get("kind", "")).upper()}
    return TraceSpan(
        trace_id=_id(found.get("trace_id", found.get("span_id"))),
        span_id=_id(found.get("span_id")),
        parent=_id(found.get("parent", parent)),
        start=nanoseconds(found.get("start")),
        end=nanoseconds(found.get("end")),
        failed=failed,
        message=_id(found.get("error")) if failed else "",
        attributes={**_named(row, _ATTRIBUTES), **(attributes or {}), **kind},
    )


def _score(row: Row, trace_id: Any, span_id: Any) -> TraceEvent:
    """Make an evaluation. CSV has numbers as texts; any other text is a label."""
    found = _named(_parsed(row), _SCORE)
    value = found.get("gen_ai.evaluation.score.value")
    if isinstance(value, str) and not re.fullmatch(r"-?\d+(\.\d+)?", value):
        found = {"gen_ai.evaluation.score.label": value} | found | {"gen_ai.evaluation.score.value": None}
    return TraceEvent(EVALUATION, found, _id(trace_id), _id(span_id))


def _langfuse(row: Row) -> dict[str, Any]:
    """Return a row with the names of the blob export, which those of the interface are in camel case.

    The CSV of the interface has times as JSON, and in earlier versions all cells.
    """
    row = {re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key): value for key, value in row.items()}
    quoted = row if str(row.get("id")).startswith('"') else ("start_time", "end_time", "timestamp")
    return _parsed({key: _unquoted(value) if key in quoted else value for key, value in row.items()})


def _langfuse_observation(row: Row, _: Counter[str]) -> Iterator[TraceRecord]:
    row = _langfuse(row)
    # A trace, which older exports have as a row too, is the parent of its outermost observations.
    yield _span({**row, "usage": _any(row, "usage_details", "usage")}, parent=row.get("trace_id"))


def _langfuse_trace(row: Row, left_out: Counter[str]) -> Iterator[TraceRecord]:
    trace = _langfuse(row)
    start, seconds = nanoseconds(trace["timestamp"]), number_in(trace, "latency")
    about = {"trace_id": trace["id"], "type": "", "end_time": start + int(seconds * 1e9) if start and seconds else None}
    yield _span({**trace, **about})
    for name, read in (("observations", _langfuse_observation), ("scores", _langfuse_score)):
        for item in mappings(row.get(name)):
            yield from read({"trace_id": row["id"], **item}, left_out)


def _langfuse_score(row: Row, _: Counter[str]) -> Iterator[TraceRecord]:
    row = _langfuse(row)
    # Categories and texts have a number that means nothing.
    value = None if row.get("data_type") in ("CATEGORICAL", "TEXT") else row.get("value")
    yield _score({**row, "value": value}, row.get("trace_id"), row.get("observation_id"))


def _langsmith_run(row: Row, _: Counter[str]) -> Iterator[TraceRecord]:
    row = _parsed(row)
    metadata = {**_mapping(value_at(row, "extra.metadata")), **_mapping(row.get("metadata"))}
    values = {"inputs": _values(row, ("inputs", "input")), "outputs": _values(row, ("outputs", "output")), "metadata": metadata}
    # The column `session_id` is the project.
    yield _span({**row, **values, "session_id": None})
    for name, stats in _mapping(row.get("feedback_stats")).items():
        if (average := _mapping(stats).get("avg")) is not None:
            yield _score({"name": name, "score": average}, row.get("trace_id"), _any(row, "id", "run_id"))


def _langsmith_feedback(row: Row, _: Counter[str]) -> Iterator[TraceRecord]:
    label = {"label": row["value"], "value": None} if row.get("score") is not None and row.get("value") is not None else {}
    yield _score({**row, **label}, row.get("trace_id"), row["run_id"])


def _phoenix_span(row: Row, _: Counter[str]) -> Iterator[TraceRecord]:
    row = _parsed(row)
    flat = {key.removeprefix("attributes."): value for key, value in row.items() if key.startswith("attributes.")}
    yield _span(row, {**_mapping(row.get("attributes")), **flat})


def _phoenix_annotation(row: Row, _: Counter[str]) -> Iterator[TraceRecord]:
    yield _score(row, None, row["span_id"])


def _mlflow_trace(row: Row, _: Counter[str]) -> Iterator[TraceRecord]:
    row = _parsed(row)
    row = {key: _unquoted(value) for key, value in _parsed({**row, **_mapping(row.get("info"))}).items()}
    metadata, trace_id = _parsed(_mapping(_any(row, "trace_metadata", "request_metadata"))), _any(row, "trace_id", "request_id")
    kept = {**_mapping(row.get("tags")), **{key: value for key, value in metadata.items() if key not in _own(metadata)}}
    start, duration = nanoseconds(_any(row, "request_time", "timestamp_ms")), _any(row, *_MLFLOW_DURATION)
    # In the JSON of a trace the duration is also a text such as "0.014s".
    end = start + int(duration * 1e6) if isinstance(duration, int | float) else None
    about = {"span_id": trace_id, "start_time": start, "end_time": end, "metadata": kept, "usage": metadata.get("mlflow.trace.tokenUsage")}
    yield _span({**row, **_own(metadata), **about})
    for span in mappings(_any(row, "spans", "data.spans")):
        yield _mlflow_span(span, trace_id)
    for found in map(_parsed, mappings(row.get("assessments"))):
        if "feedback" in found and found.get("valid") is not False:
            yield _score(found, trace_id, None)


def _mlflow_span(row: Row, trace_id: Any) -> TraceSpan:
    # The values of attributes are JSON in texts.
    attributes = _parsed({key: _unquoted(value) for key, value in _mapping(_parsed(row).get("attributes")).items()})
    about = {"trace_id": trace_id, "usage": attributes.get("mlflow.chat.tokenUsage")}
    return _span({**row, **_own(attributes), **about}, parent=trace_id)


def _opik_trace(row: Row, left_out: Counter[str]) -> Iterator[TraceRecord]:
    trace = row["trace"]
    yield from _opik_span(trace, left_out)
    for span in mappings(row.get("spans")):
        yield from _opik_span({"trace_id": trace.get("id"), **span}, left_out)


def _opik_span(row: Row, _: Counter[str]) -> Iterator[TraceRecord]:
    """Yield a span or a trace, which is the parent of its outermost spans, and their scores."""
    kind, output, failure = row.get("type"), row.get("output"), _mapping(row.get("error_info"))
    if kind != "llm" and row.get("trace_id") and _RETRIEVES.search(str(row.get("name"))):
        # Opik has no kind for retrievers, and writes a list that a function returned as {"output": [...]}.
        kind, output = "retriever", output["output"] if isinstance(output, Mapping) and output.keys() == {"output"} else output
    error = failure.get("message") or failure.get("exception_type")
    about = {
        "type": kind,
        "output": output,
        "error": error,
        "session_id": row.get("thread_id"),
        "total_cost": row.get("total_estimated_cost"),
    }
    yield _span({**_mapping(row.get("usage")), **row, **about}, parent=row.get("trace_id"))
    yield from _opik_scores(row, row.get("trace_id") or row.get("id"), row.get("id"))


def _opik_item(row: Row, _: Counter[str]) -> Iterator[TraceRecord]:
    """Yield an item of an experiment as the span of its task."""
    yield _span({**row, "input": row["dataset_item_data"], "output": row.get("evaluation_task_output")})
    yield from _opik_scores(row, row.get("trace_id"), row.get("id"))


def _opik_scores(row: Row, trace_id: Any, span_id: Any) -> Iterator[TraceEvent]:
    for score in mappings(row.get("feedback_scores")):
        yield _score({**score, "explanation": score.get("reason")}, trace_id, span_id)


def _trulens_event(row: Row, _: Counter[str]) -> Iterator[TraceRecord]:
    record, ids, attributes = (_mapping(structured(row.get(name), name)) for name in ("record", "trace", "record_attributes"))
    own = {name.removeprefix(_TRULENS): value for name, value in attributes.items() if name.startswith(_TRULENS)}
    kind, error = str(own.get("span_type")).lower(), _any(own, "record_root.error", "call.error")
    # The value that a function returned is the answer of a model; around it, it is that of the application at the root alone.
    output = {"generation": "call.return", "retrieval": "retrieval.retrieved_contexts"}.get(kind, "record_root.output")
    times = {"start_time": row.get("start_timestamp"), "end_time": row.get("timestamp")}
    about = {"type": _TRULENS_KINDS.get(kind, kind), "error": error, "state": record.get("status"), "model": own.get("cost.model")}
    values = {"input": _any(own, "record_root.input", "retrieval.query_text"), "output": own.get(output), "query_id": own.get("input_id")}
    yield _span({**ids, **times, **about, **values}, {name: value for name, value in attributes.items() if name.startswith("gen_ai.")})


def _trulens_record(row: Row, _: Counter[str]) -> Iterator[TraceRecord]:
    """Yield a record, which has no documents: they are in the events."""
    yield _span({"trace_id": row["record_id"], "id": row["record_id"], "start_time": row.get("ts"), **row, "query_id": row.get("input_id")})


def _own(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata or attributes that MLflow itself writes."""
    return {key: value for key, value in fields.items() if key.startswith("mlflow.") or key == "model"}


def _unquoted(value: Any) -> Any:
    quoted = isinstance(value, str) and len(value) > 1 and value.startswith('"') and value.endswith('"')
    inner = structured(f"[{value}]", "an attribute") if quoted else None
    return inner[0] if isinstance(inner, list) and inner else value


def _has(*names: str) -> Callable[[Row], bool]:
    """Recognize a row that has one of the names in each of these, such as `trace_id|traceId`."""
    choices = [name.split("|") for name in names]
    return lambda row: all(any(name in row for name in choice) for choice in choices)


def _is_phoenix(row: Row) -> bool:
    flat = any(key.startswith(("attributes.", "context.")) for key in row)
    return flat or "span_kind" in row or ("context" in row and isinstance(row.get("attributes"), Mapping))


def _is_langsmith(row: Row) -> bool:
    return "run_type" in row or "inputs" in row or any(key.startswith(("inputs.", "input.")) for key in row)


# In the order in which they are recognized.
TRACE_EXPORTS = (
    TraceExport("otlp", is_otlp, otlp_records),
    TraceExport("trulens", _has("record_attributes"), _trulens_event),
    TraceExport("trulens", _has("record_id", "app_id", "input"), _trulens_record),
    TraceExport("opik", lambda row: isinstance(row.get("trace"), Mapping) and "spans" in row, _opik_trace),
    TraceExport("opik", _has("id", "start_time", "error_info"), _opik_span),
    TraceExport("opik", _has("dataset_item_id", "dataset_item_data"), _opik_item),
    TraceExport("phoenix", _is_phoenix, _phoenix_span),
    TraceExport("phoenix", _has("span_id", "annotator_kind"), _phoenix_annotation),
    TraceExport("mlflow", _has("request_time|timestamp_ms|info", "trace_metadata|request_metadata|data"), _mlflow_trace),
    TraceExport("langsmith", _is_langsmith, _langsmith_run),
    TraceExport("langsmith", _has("run_id", "key", "score|value"), _langsmith_feedback),
    TraceExport("langfuse", _has("trace_id|traceId", "name", "data_type|dataType", "value|string_value|stringValue"), _langfuse_score),
    TraceExport("langfuse", _has("trace_id|traceId", "id", "type", "start_time|startTime"), _langfuse_observation),
    TraceExport("langfuse", _has("id", "timestamp", "session_id|sessionId|user_id|userId|observations|input"), _langfuse_trace),
)
