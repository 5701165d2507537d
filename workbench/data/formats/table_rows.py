"""Read rows of CSV, parquet and Arrow files. CSV cells are text, other cells have their types, and empty cells are omitted."""

import csv
import io
import math
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.core.errors import InputError
from workbench.core.text.formatting import plural
from workbench.data.draft import DatasetDraft, Rows
from workbench.data.fields import misspelt, rename
from workbench.data.lines import read_text

_MAGIC = b"PAR1"
# The length of the metadata and the magic bytes.
_ENDING = 8
_SECONDS = 60
_READ = """
import sys
from pyarrow import BufferReader, parquet
about = parquet.read_metadata(BufferReader(sys.stdin.buffer.read()))
for row in range(about.num_row_groups):
    for column in range(about.num_columns):
        about.row_group(row).column(column)
"""

SUFFIXES = (".csv", ".parquet")
# As messages name them. Excel separates by semicolons where the comma is the decimal point.
_SEPARATORS = {",": "a comma", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}

# Rows of a parquet file that are unpacked at a time.
_BATCH = 1000
# What a value costs in memory in addition to its content, in bytes. Nulls cost it too, though a file of them is tiny.
_CELL = 100


def read_metadata(raw: bytes) -> Any:
    """Return pyarrow's metadata of a parquet file. Raises ArrowException, OSError or ValueError if they are malformed."""
    from pyarrow import BufferReader, parquet  # heavy

    size = int.from_bytes(raw[-_ENDING : -len(_MAGIC)], "little") + _ENDING
    # -P keeps the modules of the working directory out.
    command = [sys.executable, "-P", "-c", _READ]
    try:
        ended = subprocess.run(command, input=_MAGIC + raw[-size:], capture_output=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise ValueError("its metadata cannot be read in a minute") from None
    if ended.returncode < 0:
        reason = ended.stderr.decode("utf-8", "replace").rpartition("what():")[2].strip()
        raise ValueError(reason.splitlines()[0] if reason else "its metadata is malformed")
    return parquet.read_metadata(BufferReader(raw))


def is_table(path: Path) -> bool:
    """Return True if a file is a table, judging by its name."""
    return path.suffix.lower() in SUFFIXES


def read_rows(path: Path, draft: DatasetDraft, known: Collection[str] | None = None) -> tuple[list[str], Rows]:
    """Return a table's columns and its rows with their places. Unreadable rows are faults.

    With `known` columns, any other with a value that JSON does not have, such as an image, is left out and counted as unread.
    """
    unpacked = {".parquet": _read_parquet, ".arrow": _read_arrow}.get(path.suffix.lower())
    columns, cells = unpacked(path, draft) if unpacked else ([], [])
    columns, rows = (columns, _placed(cells, path, known, draft)) if unpacked else _read_csv(path, draft)
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
    draft.faults += [f"{path}:1 {rename('column', column, name, name in columns)}" for column, name in wrong.items()]
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


def _read_parquet(path: Path, draft: DatasetDraft) -> tuple[list[str], list[dict[str, Any]]]:
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
    return columns, cells


def _read_arrow(path: Path, draft: DatasetDraft) -> tuple[list[str], list[dict[str, Any]]]:
    """Read a stream of Arrow's IPC format, as `datasets` saves it. Its batches are checked, since pyarrow does not check what it maps."""
    from pyarrow import ArrowException, BufferReader, ipc  # heavy

    raw = draft.read_bytes(path)
    if str(path) in draft.faulty:
        return [], []
    try:
        with ipc.open_stream(BufferReader(raw)) as stream:
            columns, cells = _batch_rows(stream.schema.names, _validated(stream), path, draft)
    except (ArrowException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path} is not a stream of Arrow ({reason})", "save the dataset again, or give parquet") from None
    return columns, cells


def _validated(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        batch.validate(full=True)
        yield batch


def _placed(cells: list[dict[str, Any]], path: Path, known: Collection[str] | None, draft: DatasetDraft) -> Rows:
    """Return rows as JSON with their places. A column with a value of another kind is left out if it is not `known`, else a fault."""
    rows = [({key: _plain(value) for key, value in row.items()}, f"{path} row {number}") for number, row in enumerate(cells, 1)]
    # Reversed, so that each column has the place of its first such value.
    strange = {(key, type(value).__name__): where for row, where in reversed(rows) for key, value in row.items() if not _is_json(value)}
    unread = {key for key, _ in strange if known is not None and key not in known}
    for row, where in rows if unread else ():
        draft.leave({key: row.pop(key) for key in unread}, (), where)
    draft.faults += [
        f"{where} has a {kind} in column {key!r}; write it as text" for (key, kind), where in sorted(strange.items()) if key not in unread
    ]
    return rows


def _parquet_rows(raw: bytes, path: Path, draft: DatasetDraft) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the columns and rows of a parquet file. A file that unpacks to more than the size limit is a fault, without rows."""
    from pyarrow import BufferReader, parquet  # heavy

    about = read_metadata(raw)
    if fault := draft.files.too_large(_promised_size(about)):
        draft.fault(str(path), f"unpacked {fault}")
        return [], []
    # Repeated texts stay in a dictionary until their size is known, since few bytes of a file can repeat a long text many times.
    table = parquet.ParquetFile(BufferReader(raw), metadata=about, read_dictionary=_texts(about))
    return _batch_rows(table.schema_arrow.names, table.iter_batches(_BATCH), path, draft)


def _batch_rows(columns: Iterable[str], batches: Iterable[Any], path: Path, draft: DatasetDraft) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the columns and the rows of batches. Batches that unpack to more than the size limit are a fault, without rows."""
    names, unpacked, rows = list(columns), 0, list[dict[str, Any]]()
    for batch in batches:
        unpacked += sum(map(_unpacked_size, batch.columns))
        if fault := draft.files.too_large(unpacked):
            draft.fault(str(path), f"unpacked {fault}")
            return [], []
        cells = [_values(column, name, len(rows), path, draft) for name, column in zip(names, batch.columns, strict=True)]
        if str(path) in draft.faulty:
            return [], []
        rows += [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]
    return names, rows


def _promised_size(about: Any) -> int:
    """Return the least size of a parquet file's rows in memory, from its metadata alone."""
    groups = [about.row_group(row) for row in range(about.num_row_groups)]
    columns = range(about.num_columns)
    values = [sum(group.column(column).num_values for group in groups) for column in columns]
    fixed = sum(values[column] * max(0, about.schema.column(column).length) for column in columns)
    packed = sum(group.column(column).total_uncompressed_size for group in groups for column in columns)
    return int(packed + fixed + max(about.num_rows, sum(values)) * _CELL)


def _texts(about: Any) -> list[str]:
    """Return the paths of a parquet file's columns of text, except those that pyarrow cannot read as dictionaries."""
    columns = {about.schema.column(column).path: column for column in range(about.num_columns)}
    groups = [about.row_group(row) for row in range(about.num_row_groups)]
    deltas = {path for path, column in columns.items() for group in groups if "DELTA" in str(group.column(column).encodings)}
    kinds = {path: about.schema.column(column) for path, column in columns.items()}
    texts = [path for path, kind in kinds.items() if kind.physical_type == "BYTE_ARRAY" and kind.logical_type.type != "DECIMAL"]
    return [path for path in texts if path not in deltas]


def _unpacked_size(array: Any) -> int:
    """Return the least size in memory of an array's values, each unpacked on its own."""
    from pyarrow import compute, types  # heavy

    cells, kind = len(array) * _CELL, array.type
    if types.is_dictionary(kind):
        lengths = compute.binary_length(array.dictionary)
        return cells + int(compute.sum(lengths.take(array.indices)).as_py() or 0)
    if types.is_struct(kind):
        return cells + sum(map(_unpacked_size, array.flatten()))
    if types.is_map(kind):
        first, last = (array.offsets[at].as_py() for at in (0, -1))
        return cells + sum(_unpacked_size(part.slice(first, last - first)) for part in (array.keys, array.items))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return cells + _unpacked_size(array.flatten())
    return cells + int(array.nbytes)


def _values(array: Any, name: str, before: int, path: Path, draft: DatasetDraft) -> list[Any]:
    """Return an array's values. One that Python cannot represent, such as a date after the year 9999, is a fault with its row."""
    from pyarrow import types  # heavy

    values = []
    try:
        for scalar in array.dictionary_decode() if types.is_dictionary(array.type) else array:
            values.append(scalar.as_py())
    except (OverflowError, ValueError) as error:
        place = f"{path} row {before + len(values) + 1}"
        draft.faults.append(f"{place} has a value in column {name!r} that cannot be read ({error}); correct it, or write it as text")
        draft.faulty.add(str(path))
    return values


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
