"""The Arrow table of the lines of a log, whose schema follows from the fields of a log, and its rows that no log could have.

`names` and `object` are JSON text with sorted keys, because they can have any keys. In a row of feedback, `query` is null. A service that only
writes a log does not import this module, which needs pyarrow.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from workbench.measures.metrics.coverage import Bools
from workbench.monitor.log.fields import FEEDBACK, FIELDS, REQUIRED, FieldKind, LogField, expected

_KINDS: Mapping[FieldKind, pa.DataType] = {
    "text": pa.string(),
    "number": pa.float64(),
    "integer": pa.int64(),
    "probability": pa.float64(),
    "flag": pa.bool_(),
    "time": pa.timestamp("us", "UTC"),
    "names": pa.string(),
    "object": pa.string(),
}
Row = Mapping[str, Any]


# Columns that follow from SOURCES of a row, so that a pass reads no text of hits and answers. `documents` are the ids of the hits, and a blank answer has no letters.
SOURCES = ("hits", "hops", "answer")
DERIVED: Mapping[str, Callable[[Row], Any]] = {
    "hit_count": lambda row: None if row.get("hits") is None else len(row["hits"]),
    "first_score": lambda row: row["hits"][0].get("score") if row.get("hits") else None,
    "retrievals": lambda row: len(row.get("hops") or ()) or len({hit.get("hop") or 0 for hit in row.get("hits") or ()}) or 1,
    "documents": lambda row: None if row.get("hits") is None else [hit.get("doc_id") for hit in row["hits"]],
    "context_letters": lambda row: None if row.get("hits") is None else sum(len(hit.get("text") or "") for hit in row["hits"]),
    "answer_letters": lambda row: len(answer) if (answer := row.get("answer") or "").strip() else 0,
}


def _field(field: LogField) -> pa.Field:
    return pa.field(field.name, pa.list_(pa.field("element", pa.struct(map(_field, field.of)))) if field.of else _KINDS[field.kind])


_DERIVED_KINDS = {"first_score": pa.float64(), "documents": pa.list_(pa.field("element", pa.string()))}
SCHEMA = pa.schema([*map(_field, FIELDS), *(pa.field(name, _DERIVED_KINDS.get(name, pa.int64())) for name in DERIVED)])


def record_batch(rows: Sequence[Row], columns: Sequence[str]) -> pa.RecordBatch:
    """Convert rows that `ROWS` returned to columns of the table."""
    schema = pa.schema([SCHEMA.field(name) for name in columns])
    values = ([*map(DERIVED.get(name, lambda row, name=name: row.get(name)), rows)] for name in columns)
    return pa.RecordBatch.from_arrays([pa.array(column, kind) for column, kind in zip(values, schema.types, strict=True)], schema=schema)


def logged_row(row: Row, fields: Sequence[LogField] = FIELDS) -> dict[str, Any]:
    """Convert a row of the table to one of a log, without unknown values."""
    return {field.name: _logged(row[field.name], field) for field in fields if row.get(field.name) is not None}


def _logged(value: Any, field: LogField) -> Any:
    if field.kind == "time":
        return f"{value.isoformat().removesuffix('+00:00')}Z"
    if field.kind == "rows":
        return [logged_row(item, field.of) for item in value]
    return orjson.loads(value) if field.kind in ("names", "object") else value


_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def faulty_rows(batch: pa.RecordBatch) -> Iterator[tuple[str, Bools]]:
    """Yield what is wrong, as a phrase, and which rows (n, boolean) it concerns. Raises ValueError for arrays or texts that are not valid."""
    batch.validate(full=True)
    for field in FIELDS:
        if field.name in batch.schema.names:
            yield from _faults(batch.column(field.name), (field,))
    for name in DERIVED:
        if name in batch.schema.names and name != "documents":
            column = batch.column(name)
            right = pc.is_finite(column) if pa.types.is_floating(column.type) else pc.greater_equal(column, 0)
            yield f"another number expected in {name}", _wrong(column, right)
    is_question = np.asarray(batch.column("query").is_valid())
    for names, rows in ((REQUIRED, is_question), (FEEDBACK, ~is_question)):
        for name in (name for name in names if name in batch.schema.names):
            yield f"no {name}", _empty(batch.column(name)) & rows


def _faults(column: Any, path: Sequence[LogField]) -> Iterator[tuple[str, Bools]]:
    field, phrase = path[-1], expected(*path)
    if not field.of:
        yield phrase, _wrong(column, _right(column, field))
        return
    items, parents = column.flatten(), np.asarray(pc.list_parent_indices(column))
    yield phrase, _any(np.asarray(items.is_null()), parents, len(column))
    for part in field.of:
        for inner, rows in _faults(items.field(part.name), (*path, part)):
            yield inner, _any(rows, parents, len(column))


def _right(column: Any, field: LogField) -> Any:
    if field.kind == "number":
        return pc.is_finite(column)
    if field.kind == "probability":
        return pc.and_(pc.greater(column, 0.0), pc.less_equal(column, 1.0))
    if field.kind == "time":
        return pc.and_(pc.greater_equal(column, pa.scalar(_FIRST, column.type)), pc.less_equal(column, pa.scalar(_LAST, column.type)))
    if field.kind in ("names", "object"):
        wrong = [text for text in pc.unique(column).to_pylist() if text is not None and not _is_object(text, field.kind == "names")]
        return pc.invert(pc.is_in(column, pa.array(wrong, column.type))) if wrong else pa.array(np.ones(len(column), dtype=bool))
    return pa.array(np.ones(len(column), dtype=bool))


def _is_object(text: str, of_texts: bool) -> bool:
    try:
        value = orjson.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and (not of_texts or all(isinstance(item, str) for item in value.values()))


def _wrong(column: Any, right: Any) -> Bools:
    return np.asarray(column.is_valid(), dtype=np.bool_) & ~np.asarray(right.fill_null(True), dtype=np.bool_)


def _any(wrong: Bools, parents: Any, length: int) -> Bools:
    marked = np.zeros(length, dtype=bool)
    marked[parents[wrong]] = True
    return marked


def _empty(column: Any) -> Bools:
    empty = np.asarray(column.is_null(), dtype=np.bool_)
    if pa.types.is_timestamp(column.type):
        return empty
    lengths = pc.list_value_length(column) if pa.types.is_list(column.type) else pc.binary_length(column)
    return empty | np.asarray(pc.equal(lengths.fill_null(0), 0), dtype=np.bool_)
