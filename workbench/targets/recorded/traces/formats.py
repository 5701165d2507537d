"""Read exports of traces as results: one for each trace, with the question, the answer and the documents as the user of the application had them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from workbench.datasets.draft import Rows
from workbench.targets.recorded.exports import ExportedRow, ExportFormat, Row
from workbench.targets.recorded.traces.otlp import TraceEvent
from workbench.targets.recorded.traces.steps import TraceStep, step_of
from workbench.targets.recorded.traces.tool_exports import TRACE_EXPORTS, export_of
from workbench.targets.recorded.traces.trace import NO_QUESTION, RecordedTrace, traces_of

# The places of the question by tool, for messages, and the field that tells several results of a question apart.
_QUESTIONS = {
    "otlp": "its attributes",
    "phoenix": "attributes.input.value",
    "langsmith": "inputs",
    "langfuse": "input",
    "mlflow": "request",
}
_CHOICES = {"langsmith": "session_id", "otlp": ""}


class _Place(NamedTuple):
    step: TraceStep
    row: Row
    where: str


def _marks(row: Row, tool: str) -> bool:
    return any(export.marks(row) for export in TRACE_EXPORTS if export.tool == tool)


def _results(rows: Rows) -> Iterator[ExportedRow]:
    """Yield one row for each trace, and for each row that cannot be read."""
    events, places = list[TraceEvent](), dict[tuple[str, str], _Place]()
    for row, where in rows:
        export, left_out = export_of(row), Counter[str]()
        if export is None:
            yield ExportedRow(row, where, None, query_id=row.get("query_id"))
            continue
        try:
            for record in export.read(row, left_out):
                if isinstance(record, TraceEvent):
                    events.append(record)
                    continue
                step = step_of(record)
                # A row without ids is a trace of its own.
                step = replace(step, trace_id=step.trace_id or where)
                place = _Place(step, record.attributes if export.tool == "otlp" else row, where)
                if (earlier := places.setdefault((step.trace_id, step.span_id), place)).step != step:
                    raise ValueError(f"has another content of the span {step.span_id!r} than {earlier.where}")
        except (ValueError, OverflowError, RecursionError) as error:
            yield ExportedRow(row, where, None, fault=str(error))
        for reason in +left_out:
            yield ExportedRow(row, where, None, fault=f"has {reason}")
    for trace in traces_of((place.step for place in places.values()), events, Counter()):
        yield _result(trace, places[trace.root.trace_id, trace.root.span_id])


def _result(trace: RecordedTrace, place: _Place) -> ExportedRow:
    fault = next((step.fault for step in trace.steps if step.fault), "")
    # Not every trace is one of a question.
    missing = "" if trace.root.captured else f"has {why}" if (why := trace.why_no_query) != NO_QUESTION else None
    # Several retrievers can find the same document.
    found = None if trace.hits is None else list({repr(hit): hit for hit, _ in trace.hits}.values())
    return ExportedRow(place.row, place.where, trace.query, trace.reply, found, trace.root.facts["query_id"], trace.error, fault, missing)


TRACE_FORMATS = tuple(
    ExportFormat(tool, partial(_marks, tool=tool), question, _results, _CHOICES.get(tool, "a field"))
    for tool, question in _QUESTIONS.items()
)
