"""Find the rows of a table that a log could not have: anyone can write a parquet file into its folder."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from workbench.metrics.coverage import Bools
from workbench.monitor.log.fields import FEEDBACK, FIELDS, REQUIRED, LogField, expected
from workbench.monitor.log.log_table import DERIVED

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
    found = np.zeros(length, dtype=bool)
    found[parents[wrong]] = True
    return found


def _empty(column: Any) -> Bools:
    empty = np.asarray(column.is_null(), dtype=np.bool_)
    if pa.types.is_timestamp(column.type):
        return empty
    lengths = pc.list_value_length(column) if pa.types.is_list(column.type) else pc.binary_length(column)
    return empty | np.asarray(pc.equal(lengths.fill_null(0), 0), dtype=np.bool_)
