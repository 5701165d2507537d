"""Lines of logs for tests, and a strategy for any row that a log can have."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st

from workbench.monitor.log import fields
from workbench.monitor.log.fields import FIELDS, LogField
from workbench.monitor.log.log_table import SCHEMA, record_batch


def question(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": f"q{number}", "time": f"2026-11-27T08:00:{number % 60:02}.250000Z", "query": f"question {number}", **fields}


def line(row: Mapping[str, Any]) -> bytes:
    return orjson.dumps(row) + b"\n"


def write_segment(path: Path, rows: Iterable[Mapping[str, Any] | bytes]) -> Path:
    """Write rows, or lines as they are, to a segment."""
    content = b"".join(row if isinstance(row, bytes) else line(row) for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def arrow_table(rows: pd.DataFrame | Iterable[Mapping[Any, Any]]) -> pa.Table:
    """The Arrow table of rows, as a log of them is read. A time that is none is null."""
    found = []
    for row in rows.to_dict("records") if isinstance(rows, pd.DataFrame) else rows:
        time = pd.to_datetime(row["time"], utc=True, errors="coerce")
        known = {**row, "time": None if pd.isna(time) else time.isoformat()}
        found.append(fields.ROWS.validate_json(orjson.dumps(known, option=orjson.OPT_SERIALIZE_NUMPY)))
    return pa.Table.from_batches([record_batch(found, SCHEMA.names)])


def by_rows(table: pd.DataFrame) -> list[dict[Any, Any]]:
    """The rows of a table, None if a value is missing."""
    return table.astype(object).where(table.notna(), None).to_dict("records")


def known(row: Any, fields: Sequence[LogField] = FIELDS) -> Any:
    """The row without unknown values, as it is read."""
    return {
        field.name: [known(item, field.of) for item in row[field.name]] if field.kind == "rows" else row[field.name]
        for field in fields
        if row.get(field.name) is not None
    }


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
_TIMES = st.datetimes(datetime(2000, 1, 1), datetime(2026, 1, 1), timezones=st.just(UTC)).map(
    lambda time: time.isoformat().replace("+00:00", "Z")
)
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": st.text(max_size=8),
    "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
    "integer": st.integers(-(2**63) + 1, 2**63 - 1),
    "probability": st.floats(0.001, 1),
    "flag": st.booleans(),
    "time": _TIMES,
    "names": st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
    "object": st.dictionaries(st.text(max_size=3), _JSON, max_size=2),
}


def _row(fields: Sequence[LogField]) -> st.SearchStrategy[dict[str, Any]]:
    values = {field.name: st.none() | (st.lists(_row(field.of), max_size=2) if field.of else _VALUES[field.kind]) for field in fields}
    return st.fixed_dictionaries({}, optional=values)


ROWS = st.builds(
    lambda row, required: row | required,
    _row(FIELDS),
    st.fixed_dictionaries(
        {"time": _TIMES, "query": st.text(min_size=1, max_size=9), "probability": st.none() | st.floats(0.001, 1)},
    ),
)
