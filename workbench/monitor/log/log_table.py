"""The Arrow table of logged questions, whose schema follows from the fields of a log, and rows of a log to it and back.

`names` and `object` are JSON text with sorted keys, because they can have any keys.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import NoneType
from typing import Any

import orjson
import pyarrow as pa

from workbench.monitor.log.fields import FIELDS, FieldKind, LogField, is_time

Row = Mapping[str, Any]
_KINDS: Mapping[FieldKind, tuple[pa.DataType, tuple[type, ...]]] = {
    "text": (pa.string(), (str,)),
    "number": (pa.float64(), (float, int)),
    "integer": (pa.int64(), (int,)),
    "flag": (pa.bool_(), (bool,)),
    "time": (pa.timestamp("us", "UTC"), (str,)),
    "names": (pa.string(), (dict,)),
    "object": (pa.string(), (dict,)),
    "rows": (None, (list,)),
}
# Columns that follow from a row: the number of hits, the score of the first, and the number of retrievals.
DERIVED: Mapping[str, Callable[[Row], float | None]] = {
    "hit_count": lambda row: None if row.get("hits") is None else len(row["hits"]),
    "first_score": lambda row: None if not row.get("hits") or (score := row["hits"][0].get("score")) is None else float(score),
    "retrievals": lambda row: len(row.get("hops") or ()) or len({hit.get("hop") or 0 for hit in row.get("hits") or ()}) or 1,
}


def _field(field: LogField) -> pa.Field:
    kind = pa.list_(pa.field("element", pa.struct([_field(part) for part in field.of]))) if field.of else _KINDS[field.kind][0]
    return pa.field(field.name, kind)


SCHEMA = pa.schema([*map(_field, FIELDS), *(pa.field(name, pa.float64() if name == "first_score" else pa.int64()) for name in DERIVED)])
_FIELDS = {field.name: field for field in FIELDS}


def record_batch(rows: Sequence[Row], columns: Sequence[str]) -> pa.RecordBatch:
    """Convert rows without a fault to columns of the table."""
    schema = pa.schema([SCHEMA.field(name) for name in columns])
    return pa.RecordBatch.from_arrays([pa.array(_values(rows, name), schema.field(name).type) for name in columns], schema=schema)


def _values(rows: Sequence[Row], name: str) -> list[Any]:
    if name in DERIVED:
        return [*map(DERIVED[name], rows)]
    field, values = _FIELDS[name], [row.get(name) for row in rows]
    convert = _converter(field)
    return [None if value is None else convert(value) for value in values] if convert else values


def _converter(field: LogField) -> Callable[[Any], Any] | None:
    """Return the conversion of a known value, or None if Arrow converts it."""
    if field.kind == "rows":
        parts = [(part.name, _converter(part) or (lambda value: value)) for part in field.of]
        return lambda items: [{name: convert(item[name]) for name, convert in parts if item.get(name) is not None} for item in items]
    return _CONVERTERS.get(field.kind)


_CONVERTERS: Mapping[FieldKind, Callable[[Any], Any]] = {
    # Arrow refuses whole numbers that a decimal number does not hold exactly.
    "number": float,
    # Beyond 64 bits in a hit, which `is_plain` does not see.
    "integer": lambda value: value if abs(value) < 2**63 else None,
    "time": datetime.fromisoformat,
    "names": lambda value: orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode(),
    "object": lambda value: orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode(),
}


def logged_row(row: Row, fields: Sequence[LogField] = FIELDS) -> dict[str, Any]:
    """Convert a row of the table to one of a log, without unknown values."""
    return {field.name: _logged(row[field.name], field) for field in fields if row.get(field.name) is not None}


def _logged(value: Any, field: LogField) -> Any:
    if field.kind == "time":
        return f"{value.isoformat().removesuffix('+00:00')}Z"
    if field.kind == "rows":
        return [logged_row(item, field.of) for item in value]
    return orjson.loads(value) if field.kind in ("names", "object") else value


def _pairs(fields: Sequence[LogField]) -> frozenset[tuple[str, type]]:
    return frozenset((field.name, kind) for field in fields for kind in (*_KINDS[field.kind][1], NoneType))


_PAIRS = {"": _pairs(FIELDS)} | {field.name: _pairs(field.of) for field in FIELDS if field.of}
_LISTS = [name for name in _PAIRS if name not in ("", "feedback")]
_MOST_SHAPES = 1_000
# Names and types that fit: those of a log's rows and hits are few.
_shapes = set[tuple[object, ...]]()


def is_plain(row: Row) -> bool:
    """Return whether a parsed row certainly has no fault and no unknown field. Most have none, and `row_fault` takes twice as long."""
    if not _fits(row, "") or row.get("feedback") or not (row.get("id") and row.get("query") and is_time(row.get("time"))):
        return False
    for name in _LISTS:
        for item in row.get(name) or ():
            if type(item) is not dict or not _fits(item, name):
                return False
    probability, versions = row.get("probability"), row.get("versions")
    return (
        (probability is None or 0 < probability <= 1)
        and all((row.get(name) or 0).bit_length() < 64 for name in _INTEGERS)
        and (not versions or all(type(version) is str for version in versions.values()))
    )


_INTEGERS = [field.name for field in FIELDS if field.kind == "integer"]


def _fits(row: Row, name: str) -> bool:
    shape = (name, *row, *map(type, row.values()))
    if shape in _shapes:
        return True
    fits = _PAIRS[name].issuperset(zip(row, map(type, row.values()), strict=True))
    if fits and len(_shapes) < _MOST_SHAPES:
        _shapes.add(shape)
    return fits
