"""The Arrow table of the lines of a log, whose schema follows from the fields of a log.

`names` and `object` are JSON text with sorted keys, because they can have any keys. In a row of feedback, `query` is null.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
import pyarrow as pa

from workbench.monitor.log.fields import FIELDS, FieldKind, LogField

Row = Mapping[str, Any]
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
