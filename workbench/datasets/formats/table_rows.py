"""Read rows of CSV and parquet files. CSV cells are text, parquet cells have their types, and empty cells are omitted."""

import csv
import io
import math
import re
import sys
from collections.abc import Sequence
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.core.formatting import plural
from workbench.datasets.draft import DatasetDraft, Rows
from workbench.datasets.fields import misspelt, rename
from workbench.datasets.lines import read_text
from workbench.errors import InputError

SUFFIXES = (".csv", ".parquet")
# As messages name them. Excel separates by semicolons where the comma is the decimal point.
_SEPARATORS = {",": "a comma", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}

# Rows of a parquet file that are unpacked at a time.
_BATCH = 1000


def is_table(path: Path) -> bool:
    """Return whether a file is a table, judging by its name."""
    return path.suffix.lower() in SUFFIXES


def read_rows(path: Path, draft: DatasetDraft) -> tuple[list[str], Rows]:
    """Return a table's columns and its rows with their places. Unreadable rows are faults."""
    read = _read_parquet if path.suffix.lower() == ".parquet" else _read_csv
    columns, rows = read(path, draft)
    for name in dict.fromkeys(columns):
        if columns.count(name) > 1:
            draft.faults.append(f"{path}:1 has {columns.count(name)} columns {name!r}")
    return columns, [({key: value for key, value in row.items() if key and value not in (None, "")}, where) for row, where in rows]


def check_columns(columns: Sequence[str], needed: Sequence[str], others: Sequence[str], path: Path, draft: DatasetDraft) -> bool:
    """Add faults for missing columns and for misspelt ones, and return whether all needed columns exist."""
    wrong, missing = misspelt(tuple(columns), (*needed, *others)), [name for name in needed if name not in columns]
    if not columns:
        if str(path) not in draft.faulty:
            draft.fault(str(path), f"is empty; its first line should be {','.join(needed)}")
        return False
    draft.faults += [f"{path}:1 {rename('column', column, name)}" for column, name in wrong.items()]
    listed = ", ".join(map(repr, columns))
    draft.faults += [f"{path}:1 has no column {name!r}; its columns are {listed}" for name in missing if name not in wrong.values()]
    draft.unread.update((str(path), "(column without a name)") for column in columns if not column)
    return not missing


def _read_csv(path: Path, draft: DatasetDraft) -> tuple[list[str], Rows]:
    text = read_text(path, draft)
    mark = separator(text)
    if mark != ",":
        draft.notes.append(f"{path} is separated by {_SEPARATORS[mark]}, not by commas, and is read like that")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=mark)
    columns: list[str] = []
    rows = []
    limit = csv.field_size_limit(sys.maxsize)
    try:
        columns = next(reader, [])
        # Excel reads and writes a first line sep=; to name the separator.
        columns = next(reader, []) if columns and columns[0].startswith("sep=") else columns
        before = reader.line_num
        for cells in reader:
            where, before = f"{path}:{before + 1}", reader.line_num
            if cells and len(cells) != len(columns):
                fix = f"quote cells with {_SEPARATORS[mark]}"
                draft.fault(where, f"has {plural(len(cells), 'cell')}, and the header has {len(columns)}; {fix}")
            elif cells:
                rows.append((dict(zip(columns, cells, strict=True)), where))
    except csv.Error as error:
        draft.fault(f"{path}:{reader.line_num}", f"is not CSV ({error})")
    finally:
        csv.field_size_limit(limit)
    return columns, rows


def separator(text: str) -> str:
    """Return the separator of a CSV file: a comma, unless the header has none outside of quotes, but semicolons, tabs or bars."""
    header = re.sub('"[^"]*"', "", text.split("\n", 1)[0].removeprefix("sep="))
    return next((mark for mark in _SEPARATORS if mark in header), ",")


def _read_parquet(path: Path, draft: DatasetDraft) -> tuple[list[str], Rows]:
    from pyarrow import ArrowException  # heavy

    raw = draft.read_bytes(path)
    if str(path) in draft.faulty:
        return [], []
    if not raw.startswith(b"PAR1"):
        raise InputError(f"{path} is not a parquet file", "write it again, or name it after its format, such as .csv")
    try:
        columns, cells = _parquet_rows(raw, path, draft)
    except (ArrowException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path} is not a parquet file ({reason})", "write it again, or give CSV") from None
    rows = [({key: _plain(value) for key, value in row.items()}, f"{path} row {number}") for number, row in enumerate(cells, 1)]
    strange = {(key, type(value).__name__) for row, _ in rows for key, value in row.items() if not _is_json(value)}
    draft.faults += [f"{path} has a {kind} in column {key!r}; write it as text" for key, kind in sorted(strange)]
    return columns, rows


def _parquet_rows(raw: bytes, path: Path, draft: DatasetDraft) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the columns and rows of a parquet file. A file that unpacks to more than the size limit is a fault, without rows."""
    from pyarrow import BufferReader, parquet  # heavy

    table = parquet.ParquetFile(BufferReader(raw))
    rows: list[dict[str, Any]] = []
    unpacked = 0
    for batch in table.iter_batches(_BATCH):
        unpacked += batch.nbytes
        if fault := draft.files.too_large(unpacked):
            draft.fault(str(path), f"unpacked {fault}")
            return [], []
        rows += batch.to_pylist()
    return list(table.schema_arrow.names), rows


def _plain(value: Any) -> Any:
    """Convert a parquet value to JSON: pandas' NaN becomes None, dates and decimals become text."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    return value


def _is_json(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(map(_is_json, value.values()))
    return value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
