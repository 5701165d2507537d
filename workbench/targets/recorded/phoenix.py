"""Results of Phoenix: OpenInference spans, as `get_spans_dataframe()` in parquet, JSON Lines or CSV, or as `get_spans()` in JSON.

The attributes of a span are columns such as `attributes.input.value`, or in `attributes`, flattened as they were sent. Spans of one trace belong
together: the outermost has the question and the answer, those of the kind RETRIEVER or RERANKER the documents.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workbench.datasets.draft import Rows
from workbench.targets.recorded.cells import structured
from workbench.targets.recorded.exports import ExportedRow, ExportFormat, value_at
from workbench.targets.recorded.traces.spans import TraceSpan, trace_span, traced_rows

_DOCUMENTS = ("reranker.output_documents", "retrieval.documents")
_PREFIX, _METADATA = "attributes", "document.metadata"
_ERROR = "ERROR"


def _marks(row: Mapping[str, Any]) -> bool:
    inside = row.get(_PREFIX)
    return any(key.startswith(f"{_PREFIX}.") for key in row) or ("context" in row and isinstance(inside, Mapping))


def _read(rows: Rows) -> Iterable[ExportedRow]:
    return traced_rows(_spans(rows))


def _spans(rows: Rows) -> Iterator[TraceSpan]:
    for row, where in rows:
        fault, documents, query_id = "", None, None
        try:
            documents, query_id = documents_of_span(row), _query_id(row)
        except ValueError as error:
            fault = str(error)
        question, answer = _attribute(row, "input.value"), _attribute(row, "output.value")
        failure = row.get("status_message") or "the span has an error" if row.get("status_code") == _ERROR else None
        kind = row.get("span_kind") or _attribute(row, "openinference.span.kind")
        found = ExportedRow(row, where, question, answer, documents, query_id, failure, fault)
        ids = (value_at(row, "context.trace_id"), value_at(row, "context.span_id"), row.get("parent_id"))
        yield trace_span(found, *ids, kind, row.get("start_time"))


def _attribute(row: Mapping[str, Any], name: str) -> Any:
    return value_at(row, f"{_PREFIX}.{name}")


def _query_id(row: Mapping[str, Any]) -> Any:
    metadata = structured(_attribute(row, "metadata"), "metadata")
    return metadata.get("query_id") if isinstance(metadata, Mapping) else _attribute(row, "metadata.query_id")


def documents_of_span(row: Mapping[str, Any]) -> list[Any] | None:
    """Return the documents of a reranker or a retriever, or None. Raises ValueError for a list that cannot be read."""
    for name in _DOCUMENTS:
        value = structured(_attribute(row, name), name)
        if isinstance(value, list):
            return list(map(_document, value))
        if flat := gathered(row.get(_PREFIX), name):
            return flat
    return None


def _document(value: Any) -> Any:
    """Return a document with the keys `document.content`, whether or not these are nested."""
    inner = value.get("document") if isinstance(value, Mapping) else None
    value = {f"document.{key}": item for key, item in inner.items()} if isinstance(inner, Mapping) else value
    if isinstance(value, Mapping) and _METADATA in value:
        return {**value, _METADATA: structured(value[_METADATA], _METADATA)}
    return value


def gathered(attributes: Any, name: str) -> list[Any]:
    """Return the items of a list from attributes such as `retrieval.documents.0.document.content`, in their order."""
    documents: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items() if isinstance(attributes, Mapping) else ():
        if key.startswith(name) and (part := re.fullmatch(re.escape(name) + r"\.(\d{1,9})\.(.+)", key)):
            document = documents.setdefault(int(part[1]), {})
            field = part[2].removeprefix(f"{_METADATA}.")
            if field == part[2]:
                document[field] = value
            else:
                document.setdefault(_METADATA, {})[field] = value
    return [_document(documents[place]) for place in sorted(documents)]


PHOENIX = ExportFormat("phoenix", _marks, "attributes.input.value", _read)
