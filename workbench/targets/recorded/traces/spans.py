"""Traces of applications: the outermost span has the question and the answer, and the spans of retrievers inside it have the documents."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from workbench.targets.base import TargetHit
from workbench.targets.recorded.exports import ExportedRow
from workbench.targets.recorded.payloads import documents_of

_RETRIEVER, _RERANKER = "retriever", "reranker"


@dataclass(frozen=True)
class TraceSpan:
    """A step of an application. `parent` is the `span_id` of the step that called it, `kind` is in lower case."""

    found: ExportedRow
    trace_id: Any
    span_id: Any
    parent: Any
    kind: str
    start: Any
    hits: tuple[TargetHit, ...] | None = None


class PlacedSpan(Protocol):
    """A span of any kind, with its id and that of the span that called it."""

    @property
    def span_id(self) -> Any:
        """Return the id of the span."""

    @property
    def parent(self) -> Any:
        """Return the id of the span that called it."""


_Placed = TypeVar("_Placed", bound=PlacedSpan)


def outermost(spans: Sequence[_Placed]) -> _Placed:
    """Return the first span of a trace that no other of its spans called, or the first of all if they call each other."""
    known = {span.span_id for span in spans}
    return next((span for span in spans if span.parent is None or span.parent not in known), spans[0])


def trace_span(found: ExportedRow, trace_id: Any, span_id: Any, parent: Any, kind: Any, start: Any) -> TraceSpan:
    """Make a span of what was found in its row. Documents that cannot be read are the fault of the row."""
    kind, hits = str(kind or "").lower(), None
    try:
        hits = documents_of(found.documents)
    except ValueError as error:
        found = replace(found, documents=None, fault=str(error))
    return TraceSpan(found, trace_id, span_id, parent, kind, start, hits)


def traced_rows(spans: Iterable[TraceSpan]) -> Iterator[ExportedRow]:
    """Yield one row for each trace, and for each span without a trace."""
    traces: dict[object, list[TraceSpan]] = {}
    spans = list(spans)
    # OpenInference records no attribute for a list that is empty.
    recorded = {span.kind for span in spans if span.hits}
    for place, span in enumerate(spans):
        if span.hits is None and span.kind in recorded & {_RETRIEVER, _RERANKER} and not span.found.error:
            span = replace(span, hits=())
        traces.setdefault(place if span.trace_id is None else span.trace_id, []).append(span)
    yield from map(_row, traces.values())


def _row(spans: Sequence[TraceSpan]) -> ExportedRow:
    root = outermost(spans)
    documents = _retrieved(spans)
    return replace(
        root.found,
        # A trace that is a retriever alone outputs documents.
        answer=None if root.kind in (_RETRIEVER, _RERANKER) else root.found.answer,
        documents=root.hits if documents is None else documents,
        fault=next((span.found.fault for span in spans if span.found.fault), ""),
    )


def _retrieved(spans: Sequence[TraceSpan]) -> list[TargetHit] | None:
    """Return the hits of the last reranker, or else those of all retrievers, each once. None without any."""
    ordered = sorted(spans, key=lambda span: str(span.start))
    lists = {kind: [span.hits for span in ordered if span.kind == kind and span.hits is not None] for kind in (_RETRIEVER, _RERANKER)}
    if lists[_RERANKER]:
        return list(lists[_RERANKER][-1])
    if not lists[_RETRIEVER]:
        return None
    found: list[TargetHit] = []
    for hit in (hit for hits in lists[_RETRIEVER] for hit in hits):
        if hit not in found:
            found.append(hit)
    return found
