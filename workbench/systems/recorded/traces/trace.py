"""Combine the steps of each trace: the question, the answer and the documents as the user of the application had them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple

from workbench.core.records import TargetHit
from workbench.data.draft import Rows
from workbench.systems.recorded.exports import ExportedRow, ExportFormat, RecordedResponse, Row
from workbench.systems.recorded.traces.otlp import TraceEvent, TraceSpan
from workbench.systems.recorded.traces.steps import StepKind, TraceStep, captured_attributes, records_call, step_of
from workbench.systems.recorded.traces.tool_exports import TRACE_EXPORTS, export_of

NO_QUESTION = "a trace without a question"
NOT_CAPTURED = "a trace whose question was not captured; set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY in the application that is traced"
HIDDEN = "a trace whose question was redacted; unset OPENINFERENCE_HIDE_INPUTS in the application that is traced"
# A made-up trace can be a chain of a million spans.
_DEEPEST, _MOST_SPANS = 256, 10_000
# The kinds of steps beside which the question and the answer are, the better first.
_MAIN: tuple[StepKind, ...] = ("generation", "retrieval")
FoundHit = tuple[TargetHit, int]


def traces_of(steps: Iterable[TraceStep], events: Iterable[TraceEvent], left_out: Counter[str]) -> list["RecordedTrace"]:
    """Return the traces of steps, with the messages that `events` record in place of spans. Spans that repeat are counted."""
    traces: dict[str, dict[str, TraceStep]] = {}
    calls: dict[tuple[str, str], list[TraceEvent]] = {}
    for event in filter(records_call, events):
        calls.setdefault((event.trace_id, event.span_id), []).append(event)
    for step in steps:
        spans = traces.setdefault(step.trace_id, {})
        if len(spans) >= _MOST_SPANS:
            left_out[f"a span beyond the first {_MOST_SPANS:,} of a trace"] += 1
            continue
        left_out["a span that appears again"] += step.span_id in spans
        spans.setdefault(step.span_id or str(len(spans)), _with_messages(step, calls.pop((step.trace_id, step.span_id), ())))
    # OpenInference can leave out a list that is empty.
    lists = any(step.lists and step.kind == "retrieval" and step.hits for spans in traces.values() for step in spans.values())
    left_out["a log record with messages of a span that is not recorded"] += sum(map(len, calls.values()))
    return [RecordedTrace(map(_with_empty_list, spans.values()) if lists else spans.values()) for spans in traces.values()]


def _with_messages(step: TraceStep, events: Sequence[TraceEvent]) -> TraceStep:
    """Return a step with the question and the answer that the events of its span record."""
    if not events:
        return step
    attributes = {"gen_ai.operation.name": "chat", **captured_attributes(events)}
    said = step_of(TraceSpan(step.trace_id, step.span_id, step.parent, step.start, step.end, False, "", attributes))
    return replace(step, query=step.query or said.query, reply=step.reply if step.reply.answer else said.reply)


def _with_empty_list(step: TraceStep) -> TraceStep:
    silent = step.lists and step.kind == "retrieval" and step.hits is None and not (step.error or step.hidden)
    return replace(step, hits=()) if silent else step


class RecordedTrace:
    """The steps of a trace by the order in which they began, and those of them that are the application's `own`, not a judge's, each once.

    `searches` are the steps of retrievers, `hits` what they found, each with the place of its search, or None if no list of hits is recorded.
    """

    def __init__(self, steps: Iterable[TraceStep]) -> None:
        self.steps = sorted(steps, key=lambda step: (step.start, -step.end))
        self._callers: dict[int, list[TraceStep]] = {}
        self._by_id = {step.span_id: step for step in self.steps}
        # The first that no other called, or the first of all if they call each other.
        self.root = next((step for step in self.steps if step.parent not in self._by_id), self.steps[0])
        judged = [step for step in self.steps if not any(outer.kind == "evaluation" for outer in self.callers(step))]
        # An outer model or retriever has the result of the one that it calls.
        self.own = [step for step in judged if not any(outer.kind == step.kind and _has_result(outer) for outer in self.callers(step))]
        self.searches = self.of("retrieval")
        around, generations = self._around(), self.of("generation")
        inner = (step for kind in (*_MAIN, "reranking", "embedding") for step in self.of(kind))
        self.query = next((step.query for step in (*around, *inner, self.root) if step.query), None)
        replies = (step.reply for step in (*around, *reversed(generations), self.root))
        self.reply = next(filter(_text, replies), self.root.reply)
        self.hits = self._hits()
        if self.hits is None and self.root.hits is not None:
            self.hits = [(hit, 0) for hit in self.root.hits]

    @property
    def answer(self) -> str | None:
        """Return the text of the answer, or None for a blank one."""
        return _text(self.reply)

    @property
    def error(self) -> str:
        """Return the error of the root, or of the last step that failed if there is no answer."""
        failed = (step.error for step in reversed(self.steps) if step.error and not self.answer)
        return self.root.error or self.root.reply.error or next(failed, "")

    @property
    def why_no_query(self) -> str:
        """Return why the trace has no question."""
        if any(step.hidden for step in self.steps):
            return HIDDEN
        return NOT_CAPTURED if self.of("generation", "retrieval", "embedding") else NO_QUESTION

    def of(self, *kinds: StepKind) -> list[TraceStep]:
        """Return the application's own steps of these kinds."""
        return [step for step in self.own if step.kind in kinds]

    def callers(self, step: TraceStep) -> list[TraceStep]:
        """Return the steps around a step, innermost first."""
        # By the object, which is in `steps`: a step can have no id.
        if (found := self._callers.get(id(step))) is not None:
            return found
        found = self._callers[id(step)] = []
        while (outer := self._by_id.get(step.parent)) is not None and outer is not self._by_id.get(step.span_id) and len(found) < _DEEPEST:
            found.append(outer)
            step = outer
        return found

    def _around(self) -> list[TraceStep]:
        """Return the steps around the last call of a model, outermost first. They have the question and the answer as the user saw them."""
        anchor = next((steps[-1] for kind in _MAIN if (steps := self.of(kind))), self.root)
        return [*reversed(self.callers(anchor)), *([] if self.root.parent or self.root.kind != "other" else [self.root])]

    def _hits(self) -> list[FoundHit] | None:
        """Return the hits in order. A reranker's documents take the place of those that were found, or reranked, before it."""
        groups, place, after_reranker = list[list[FoundHit]](), -1, True
        searched = self.of("retrieval", "reranking")
        for step in searched:
            if step.kind == "retrieval":
                groups += [[]] if after_reranker else []
                place, after_reranker = place + 1, False
                groups[-1] += [(hit, place) for hit in step.hits or ()]
            elif step.hits is not None:
                groups[-1:] = [list(_reranked(step.hits, groups[-1] if groups else (), max(0, place)))]
                after_reranker = True
        return [*chain(*groups)] if any(step.hits is not None for step in searched) else None


def _reranked(hits: Sequence[TargetHit], found: Sequence[FoundHit], last: int) -> Iterator[FoundHit]:
    """Yield the documents of a reranker with the search that found each, and the text that only its retriever recorded."""
    known = {other.doc_id or other.text: (other, place) for other, place in reversed(found)}
    for hit in hits:
        other, place = known.get(hit.doc_id or hit.text, (hit, last))
        yield replace(hit, text=other.text if hit.text is None else hit.text, metadata=hit.metadata or other.metadata), place


def _text(reply: RecordedResponse) -> str | None:
    return reply.answer.text if reply.answer and reply.answer.text.strip() else None


def _has_result(step: TraceStep) -> bool:
    if step.kind in ("retrieval", "reranking"):
        return step.hits is not None
    return step.kind == "generation" and (step.reply.answer is not None or step.facts.get("input_tokens") is not None)


# The places of the question by tool, for messages, and the field that tells several results of a question apart.
_QUESTIONS = {
    "otlp": "its attributes",
    "trulens": "input",
    "opik": "input",
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
                # A row without ids is a separate trace.
                step = replace(step, trace_id=step.trace_id or where)
                place = _Place(step, record.attributes if export.tool == "otlp" else row, where)
                if (earlier := places.setdefault((step.trace_id, step.span_id), place)).step != step:
                    raise ValueError(f"has another content of the span {step.span_id!r} than {earlier.where}")
        except (ValueError, OverflowError, RecursionError) as error:
            yield ExportedRow(row, where, None, fault=str(error))
        for reason in +left_out:
            yield ExportedRow(row, where, None, fault=f"has {reason}")
    for trace in traces_of((place.step for place in places.values()), events, Counter()):
        root, place = trace.root, places[trace.root.trace_id, trace.root.span_id]
        fault = next((step.fault for step in trace.steps if step.fault), "")
        # Not every trace is one of a question.
        missing = "" if root.captured else f"has {why}" if (why := trace.why_no_query) != NO_QUESTION else None
        # Several retrievers can find the same document.
        hits = None if trace.hits is None else list({repr(hit): hit for hit, _ in trace.hits}.values())
        yield ExportedRow(place.row, place.where, trace.query, trace.reply, hits, root.facts["query_id"], trace.error, fault, missing)


TRACE_FORMATS = tuple(
    ExportFormat(tool, partial(_marks, tool=tool), question, _results, _CHOICES.get(tool, "a field"))
    for tool, question in _QUESTIONS.items()
)
