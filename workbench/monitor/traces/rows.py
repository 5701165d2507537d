"""Combine the steps of each trace to a row of a log, with the fields of `workbench.monitor.log.fields`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from workbench.monitor.log.fields import row_fault
from workbench.targets.base import TargetHit
from workbench.targets.recorded.traces.otlp import OtlpEvent
from workbench.targets.recorded.traces.spans import outermost
from workbench.targets.recorded.traces.steps import StepKind, TraceStep, evaluation_of

NOT_CAPTURED = "a trace whose question was not captured; set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY in the application that is traced"
HIDDEN = "a trace whose question was redacted; unset OPENINFERENCE_HIDE_INPUTS in the application that is traced"
# A made-up trace can be a chain of a million spans.
_DEEPEST = 256
_SECONDS: Mapping[StepKind, str] = {
    "embedding": "embedding_seconds",
    "retrieval": "retrieval_seconds",
    "reranking": "reranking_seconds",
    "generation": "generation_seconds",
}
# The kinds of steps beside which the question and the answer are, the better first.
_MAIN: tuple[StepKind, ...] = ("generation", "retrieval")
_SUMS = ("input_tokens", "output_tokens", "cost")
# Names of scores that are the opinion of the user.
_USER_SCORES = ("thumb", "user_feedback", "user_score", "user_rating")
Row = dict[str, Any]


def trace_rows(steps: Sequence[TraceStep], events: Iterable[OtlpEvent], left_out: Counter[str]) -> list[Row]:
    """Return a row for each trace with a question, by time, with the evaluations in `events`. The other traces are counted, and spans that repeat."""
    traces: dict[str, dict[str, TraceStep]] = {}
    # OpenInference can leave out a list that is empty.
    lists = any(step.lists and step.kind == "retrieval" and step.hits for step in steps)
    for step in steps:
        if lists and step.lists and step.kind == "retrieval" and step.hits is None and not (step.error or step.hidden):
            step = replace(step, hits=())
        spans = traces.setdefault(step.trace_id, {})
        left_out["a span that appears again"] += step.span_id in spans
        spans.setdefault(step.span_id, step)
    owners = {span_id: trace_id for trace_id, spans in traces.items() for span_id in spans}
    evaluations: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        owner = event.trace_id or owners.get(event.span_id) or str(event.attributes.get("workbench.id"))
        evaluations.setdefault(owner, []).append(evaluation_of(event.attributes))
    rows = [row for spans in traces.values() if (row := _Trace(spans.values()).row(evaluations, left_out))]
    known = {row["id"] for row in rows}
    left_out["an evaluation of a trace that gave no row"] += sum(len(items) for name, items in evaluations.items() if name not in known)
    return _with_turns(rows)


class _Trace:
    """The spans of a trace by the order in which they began."""

    def __init__(self, steps: Iterable[TraceStep]) -> None:
        self.steps = sorted(steps, key=lambda step: (step.start, -step.end))
        self.by_id = {step.span_id: step for step in self.steps}
        self.root = outermost(self.steps)
        own = [step for step in self.steps if not any(outer.kind == "evaluation" for outer in self.callers(step))]
        # A judge calls models too. An outer model or retriever has the result of the one that it calls.
        self.own = [step for step in own if not any(outer.kind == step.kind and _has_result(outer) for outer in self.callers(step))]

    def callers(self, step: TraceStep) -> list[TraceStep]:
        """Return the steps around a step, innermost first."""
        found: list[TraceStep] = []
        while (outer := self.by_id.get(step.parent)) is not None and outer is not self.by_id.get(step.span_id) and len(found) < _DEEPEST:
            found.append(outer)
            step = outer
        return found

    def of(self, *kinds: StepKind) -> list[TraceStep]:
        return [step for step in self.own if step.kind in kinds]

    def row(self, evaluations: Mapping[str, Sequence[Mapping[str, Any]]], left_out: Counter[str]) -> Row | None:
        """Return the row of the trace, or None and count why it has none."""
        query, root = self._query(), self.root
        if query is None:
            left_out[self._why_no_query()] += 1
            return None
        answers = self.of("generation")
        answer = next((step.answer for step in (*self._around(), *reversed(answers), root) if step.answer), None)
        hops, hits = self._retrieved()
        searched = next((hop["query"] for hop in hops or () if hop.get("query")), None)
        start = root.start or min((step.start for step in self.steps if step.start), default=0)
        row = {
            "id": root.trace_id,
            "time": _time(start),
            "query": query,
            "rewritten": None if searched == query else searched,
            "hits": hits,
            "hops": hops,
            "answer": answer,
            "error": self._error(answer),
            **self._facts(answers),
            **{name: _sum(map(_seconds, self.of(kind))) for kind, name in _SECONDS.items()},
            "seconds": self._total(),
            "versions": self._versions(),
            **_judged([*(found for step in self.steps for found in step.evaluations), *evaluations.get(root.trace_id, ())]),
            "trace_id": root.trace_id,
            "span_id": root.span_id,
        }
        row = {name: _plain(value) for name, value in row.items() if value is not None and value != {}}
        if fault := row_fault(row):
            left_out[f"a trace with {fault}"] += 1
            return None
        return row

    def _around(self) -> list[TraceStep]:
        """Return the steps around the last call of a model, outermost first. They have the question and the answer as the user saw them."""
        anchor = next((steps[-1] for kind in _MAIN if (steps := self.of(kind))), self.root)
        return [*reversed(self.callers(anchor)), *([] if self.root.parent or self.root.kind != "other" else [self.root])]

    def _query(self) -> str | None:
        inner = (step for kind in (*_MAIN, "reranking", "embedding") for step in self.of(kind))
        return next((step.query for step in (*self._around(), *inner, self.root) if step.query), None)

    def _why_no_query(self) -> str:
        if any(step.hidden for step in self.steps):
            return HIDDEN
        return NOT_CAPTURED if self.of("generation", "retrieval", "embedding") else "a trace without a question"

    def _error(self, answer: str | None) -> str | None:
        """Return the error of the root, or of the last step that failed if there is no answer."""
        return self.root.error or next((step.error for step in reversed(self.steps) if step.error and not answer), None)

    def _total(self) -> float | None:
        if not self.root.parent or self.root.parent == self.root.trace_id:
            return _seconds(self.root)
        starts, ends = ([time for time in times if time] for times in zip(*((step.start, step.end) for step in self.steps), strict=True))
        return max(0, max(ends) - min(starts)) / 1e9 if starts and ends else None

    def _facts(self, answers: Sequence[TraceStep]) -> Row:
        """Return the fields that spans name: of the model that answered, of the outermost span, and sums over model calls."""
        last = answers[-1] if answers else self.root
        outer_first = sorted(self.steps, key=lambda step: (step is not self.root, len(self.callers(step))))
        facts: Row = {name: last.facts.get(name) for name in ("model", "truncated")}
        for name in ("session", "user", "configuration"):
            facts[name] = next((value for step in outer_first if (value := step.facts.get(name)) is not None), None)
        for name in _SUMS:
            total = _sum(step.facts.get(name) for step in answers)
            total = self.root.facts.get(name) if total is None else total
            facts[name] = total if total is None or name == "cost" else int(total)
        return facts

    def _versions(self) -> dict[str, str]:
        versions: dict[str, str] = {}
        for step in sorted(self.own, key=lambda step: step is not self.root):
            versions = {**step.versions, **versions}
        return versions

    def _retrieved(self) -> tuple[list[Row] | None, list[Row] | None]:
        """Return the retrievals, and their hits in order. A reranker's documents take the place of those that were found before it."""
        hops: list[Row] = []
        # Hits with their hops: those that a reranker has ordered, and those after them. `searched` says that at least an empty list is recorded.
        ordered, hits, searched = list[tuple[TargetHit, int]](), list[tuple[TargetHit, int]](), False
        for step in self.of("retrieval", "reranking"):
            if step.kind == "retrieval":
                hops.append({name: value for name, value in (("query", step.query), ("seconds", _seconds(step))) if value is not None})
                hits += [(hit, len(hops) - 1) for hit in step.hits or ()]
            elif step.hits is not None:
                ordered += _reranked(step.hits, hits, max(0, len(hops) - 1))
                hits = []
            searched = searched or step.hits is not None
        return hops or None, [_hit(hit, hop) for hit, hop in (*ordered, *hits)] if searched else None


def _reranked(hits: Sequence[TargetHit], found: Sequence[tuple[TargetHit, int]], last: int) -> Iterator[tuple[TargetHit, int]]:
    """Yield the documents of a reranker with the hop that found each, and the text that only its retriever recorded."""
    known = {other.doc_id or other.text: (other, hop) for other, hop in reversed(found)}
    for hit in hits:
        other, hop = known.get(hit.doc_id or hit.text, (hit, last))
        yield replace(hit, text=other.text if hit.text is None else hit.text, metadata=hit.metadata or other.metadata), hop


def _hit(hit: TargetHit, hop: int) -> Row:
    fields = {"doc_id": hit.doc_id, "text": hit.text, "score": hit.score, "hop": hop, "metadata": dict(hit.metadata) or None}
    return {name: value for name, value in fields.items() if value is not None}


def _has_result(step: TraceStep) -> bool:
    if step.kind in ("retrieval", "reranking"):
        return step.hits is not None
    return step.kind == "generation" and (step.answer is not None or step.facts.get("input_tokens") is not None)


def _judged(evaluations: Iterable[Mapping[str, Any]]) -> Row:
    """Return evaluations, each once, and what users said, which tools record as scores too."""
    row: dict[str, dict[str, Row]] = {"evaluations": {}, "feedback": {}}
    for found in map(dict, evaluations):
        name = str(found.get("name", "")).lower().replace("-", "_")
        if not name.startswith(_USER_SCORES):
            made, items = found, row["evaluations"]
        else:
            thumb = found.get("score") in (0, 1, -1)
            value = (1 if found["score"] == 1 else -1) if thumb else found.get("score")
            made = {"kind": "thumb" if thumb else found["name"], "value": value, "text": found.get("explanation") or found.get("label")}
            made, items = {key: value for key, value in made.items() if value is not None}, row["feedback"]
        items[repr(made)] = made
    return {name: list(items.values()) for name, items in row.items() if items}


def _with_turns(rows: list[Row]) -> list[Row]:
    """Number the questions of each conversation by their times."""
    rows = sorted(rows, key=lambda row: (row["time"], row["id"]))
    turns: Counter[str] = Counter()
    for row in rows:
        if session := row.get("session"):
            turns[session] += 1
            row["turn"] = turns[session]
    return rows


def _time(nanoseconds: int) -> str | None:
    try:
        moment = datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC).replace(microsecond=nanoseconds // 1000 % 1_000_000)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z") if nanoseconds else None


def _seconds(step: TraceStep) -> float | None:
    return (step.end - step.start) / 1e9 if 0 < step.start <= step.end else None


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _plain(value: Any, depth: int = 16) -> Any:
    """Return a value as JSON has it: what it has no form for, and what is nested too deeply, becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth - 1) for key, item in value.items()} if depth else None
    if isinstance(value, list | tuple):
        return [_plain(item, depth - 1) for item in value] if depth else None
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if isinstance(value, str | int) else None
