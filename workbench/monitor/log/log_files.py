"""The files of a log: segments of JSON Lines, the parquet files that they are compacted to, and counts of whatever is left out of them."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout
from pydantic import BaseModel, Field
from pydantic_core import ValidationError

from workbench.core.errors import InputError
from workbench.core.files import in_order, open_regular, table_fault, write_atomically
from workbench.core.operating_system import lock_file, sync
from workbench.core.text.formatting import count
from workbench.core.text.printable import printable_line
from workbench.data.files import readable
from workbench.monitor.log.fields import FEEDBACK, FIELDS, MAX_LINE_BYTES, NAMES, REQUIRED, ROWS, fault, missing_field
from workbench.monitor.log.log_table import DERIVED, SCHEMA, SOURCES, faulty_rows, record_batch

# Of the lines of a batch. Every line counts as at least 256 bytes.
BATCH_BYTES, _LEAST_BYTES, BATCH_ROWS, _BUFFER = 4_000_000, 256, 16_384, 1 << 18
SEGMENT, COMPACTED = ".jsonl", ".parquet"
# The key of the counts in the metadata of a compacted file.
COUNTS = b"workbench.log"
# Reasons, names and paths can come from the log.
_MOST_REASONS, _LONGEST, _LONGEST_PLACE = 100, 100, 300
# A log can have any counts of lost records.
_MOST_COUNTED = 10**15
_OF = {field.name: frozenset(part.name for part in field.of) for field in FIELDS if field.of}


class Tally(BaseModel):
    """A number and the `file:line` of the first case, safe to print."""

    number: Annotated[int, Field(ge=0, le=_MOST_COUNTED)]
    first: str


class LogCounts(BaseModel):
    """Lines and files `left_out`, `doubtful` times, `unknown` fields, and records `lost` before they were logged, by reason or name."""

    left_out: dict[str, Tally] = {}
    doubtful: dict[str, Tally] = {}
    unknown: dict[str, Tally] = {}
    lost: dict[str, Tally] = {}

    def lines(self) -> list[str]:
        """Return a line for each reason, safe to print."""
        kinds = ((kind.replace("_", " "), tallies) for kind, tallies in self)
        return [f"{count(tally.number)} {kind}: {reason} ({tally.first})" for kind, tallies in kinds for reason, tally in tallies.items()]

    def add(self, other: "LogCounts") -> None:
        """Add the counts of another part of the log."""
        for kind, tallies in other:
            for reason, tally in tallies.items():
                note(getattr(self, kind), reason, tally.first, tally.number)

    def beyond(self, other: "LogCounts") -> "LogCounts":
        """Return the counts whose reasons another reading of the log did not meet."""
        return LogCounts(**{kind: {name: tallies[name] for name in tallies.keys() - getattr(other, kind).keys()} for kind, tallies in self})


def note(tallies: dict[str, Tally], reason: str, where: object, number: int = 1) -> None:
    """Count cases of a reason. Beyond 100 reasons, others are counted together."""
    reason = printable_line(reason[:_LONGEST])
    if reason not in tallies and len(tallies) >= _MOST_REASONS:
        reason = "others"
    if reason not in tallies:
        tallies[reason] = Tally(number=0, first=printable_line(str(where)[-_LONGEST_PLACE:]))
    tallies[reason].number = min(_MOST_COUNTED, tallies[reason].number + number)


def log_files(paths: Sequence[Path], left_out: dict[str, Tally]) -> list[Path]:
    """List the files of a log in order of their names, without segments that were compacted. Folders below a folder are not read.

    Raises InputError if a path cannot be read or contains no log.
    """
    files = list[Path]()
    for path in paths:
        with readable():
            if path.is_dir():
                files += _in_folder(path, left_out)
            else:
                files.append(path)
                with opened(path):
                    pass
    if not files:
        raise InputError(f"{', '.join(map(str, paths))} contains no log", f"name a folder with files {SEGMENT} or {COMPACTED}")
    return files


def _in_folder(folder: Path, left_out: dict[str, Tally]) -> Iterator[Path]:
    entries = [entry for entry in os.scandir(folder) if not (entry.name.startswith(".") or entry.is_dir(follow_symlinks=False))]
    names = {entry.name for entry in entries if entry.is_file(follow_symlinks=False)}
    for entry in sorted(entries, key=lambda entry: entry.name):
        if not entry.is_file(follow_symlinks=False) or not entry.name.endswith((SEGMENT, COMPACTED)):
            note(left_out, "file of another kind, or a link", entry.path)
        elif (name := compacted_name(entry.name, entry.stat(follow_symlinks=False).st_size)) not in names or not _is_table(folder / name):
            yield Path(entry.path)


def _is_table(path: Path) -> bool:
    try:
        with opened(path) as stream:
            _table_of(stream)
    except (OSError, ValueError, pa.ArrowException):
        return False
    return True


def compacted_name(name: str, size: int) -> str:
    """Name the parquet file with the rows of a segment of this size. A segment of the same name can follow."""
    return f"{name}.{size}{COMPACTED}"


def opened(path: Path) -> BinaryIO:
    """Open a regular file of a log. Raises OSError for any other, also for a link: what the user named is resolved before."""
    return BufferedReader(open_regular(path, os.O_RDONLY, "rb", follow=False), _BUFFER)


def file_batches(path: Path, columns: Sequence[str], counts: LogCounts, wanted: Callable[[bytes], bool] = bool) -> Iterator[pa.RecordBatch]:
    """Yield columns of the rows of a file, questions and feedback. A file that cannot be read to its end is counted, as are lines that are left out.

    Of a segment, only lines that are `wanted` are parsed.
    """
    try:
        with opened(path) as stream:
            if path.suffix == COMPACTED:
                yield from _compacted_batches(stream, path, columns, counts)
            else:
                yield from segment_batches(stream, path, columns, counts, wanted)
    except (OSError, ValueError, pa.ArrowException) as error:
        note(counts.left_out, f"file that cannot be read ({table_fault(error)})", path)


def _table_of(stream: BinaryIO) -> tuple[pq.ParquetFile, LogCounts]:
    """Open a parquet file with columns of the table, and read its counts. Raises ValueError for any other file."""
    file = pq.ParquetFile(stream)
    kinds = {field.name: field.type for field in file.schema_arrow}
    if len(kinds) < len(file.schema_arrow) or not kinds.keys() >= {*REQUIRED}:
        raise ValueError("not the table of a log")
    if any(kinds[name] != SCHEMA.field(name).type for name in SCHEMA.names if name in kinds):
        raise ValueError("not the table of a log")
    return file, LogCounts.model_validate_json((file.metadata.metadata or {}).get(COUNTS, b"{}"))


def _compacted_batches(stream: BinaryIO, path: Path, columns: Sequence[str], counts: LogCounts) -> Iterator[pa.RecordBatch]:
    """Yield columns of the rows of a parquet file that a log could have, and count the others. Raises ValueError if it is no table of a log."""
    file, about = _table_of(stream)
    kinds, before = {*file.schema_arrow.names}, 1
    counts.add(about)
    # Others can write tables without them, and earlier versions did.
    lacking = [name for name in columns if name in DERIVED and name not in kinds]
    names = tuple(dict.fromkeys((*columns, *(SOURCES if lacking else ()))))
    schema = pa.schema([SCHEMA.field(name) for name in names])
    for batch in file.iter_batches(BATCH_ROWS, columns=[name for name in names if name in kinds]):
        arrays = [batch.column(name) if name in kinds else pa.nulls(len(batch), SCHEMA.field(name).type) for name in names]
        right = _without_faults(pa.RecordBatch.from_arrays(arrays, schema=schema), path, before, counts)
        if lacking:
            derived = record_batch(right.select(SOURCES).to_pylist(), lacking)
            right = pa.RecordBatch.from_pydict({name: (derived if name in lacking else right).column(name) for name in columns})
        yield right.select(columns)
        before += len(batch)


def _without_faults(batch: pa.RecordBatch, path: Path, before: int, counts: LogCounts) -> pa.RecordBatch:
    kept = np.ones(len(batch), dtype=bool)
    for reason, wrong in faulty_rows(batch):
        rows = np.flatnonzero(wrong & kept)
        if len(rows):
            note(counts.left_out, reason, f"{path}:{before + rows[0]}", len(rows))
            kept[rows] = False
    return batch if kept.all() else batch.filter(pa.array(kept))


def segment_batches(
    stream: BinaryIO, path: Path, columns: Sequence[str], counts: LogCounts, wanted: Callable[[bytes], bool] = bool
) -> Iterator[pa.RecordBatch]:
    """Yield columns of the rows of JSON Lines. Raises OSError if they cannot be read to the end."""
    rows, size = list[dict[str, Any]](), 0
    for number, line in _lines(stream, path, counts):
        if wanted(line) and (row := _row(line, f"{path}:{number}", counts)):
            rows.append(row)
            size += max(len(line), _LEAST_BYTES)
        if size > BATCH_BYTES:
            yield record_batch(rows, columns)
            rows, size = [], 0
    if rows:
        yield record_batch(rows, columns)


def _lines(stream: BinaryIO, path: Path, counts: LogCounts) -> Iterator[tuple[int, bytes]]:
    """Yield lines with their numbers. One that is too long is counted, and never in memory as a whole."""
    number, line = 1, stream.readline(MAX_LINE_BYTES).removeprefix(b"\xef\xbb\xbf")
    while line:
        if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
            yield number, line
        else:
            note(counts.left_out, f"line of more than {MAX_LINE_BYTES / 1e6:g} MB", f"{path}:{number}")
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_LINE_BYTES)
        number, line = number + 1, stream.readline(MAX_LINE_BYTES)


def _row(line: bytes, where: str, counts: LogCounts) -> dict[str, Any] | None:
    """Return the row of a line, or None. Any other line is counted, except blank ones."""
    row, reason = dict[str, Any](), ""
    try:
        row = ROWS.validate_json(line)
    except ValidationError as error:
        reason = fault(error) if line.strip() else ""
    is_question = row.get("query") is not None
    if "lost" in row and not is_question:
        row, reason = {}, _note_lost(row["lost"], where, counts)
    elif row:
        reason = missing_field(row, FEEDBACK if row.get("feedback") and not is_question else REQUIRED)
        _note_unknown(row, where, counts)
    if reason:
        note(counts.left_out, reason if line.endswith(b"\n") else "unfinished last line", where)
    return None if reason or not row else row


def _note_lost(lost: object, where: str, counts: LogCounts) -> str:
    """Count records that a process could not log. Returns the fault of the line."""
    if not isinstance(lost, dict) or not all(type(number) is int and 0 < number <= _MOST_COUNTED for number in lost.values()):
        return "an object of whole numbers expected in lost"
    for reason, number in lost.items():
        note(counts.lost, reason, where, number)
    return ""


def _note_unknown(row: dict[str, Any], where: str, counts: LogCounts) -> None:
    names = {name for name in row.keys() - NAMES if row[name] is not None}
    for name in row.keys() & _OF.keys():
        for item in row[name] or ():
            if not item.keys() <= _OF[name]:
                names |= {f"{name}.{part}" for part in item.keys() - _OF[name]}
    for name in names:
        note(counts.unknown, name, where)


@dataclass(frozen=True, slots=True)
class Compaction:
    """The parquet `files` that were written, the number of their `rows`, and the segments that were `skipped`: still written, or damaged."""

    files: tuple[Path, ...]
    rows: int
    skipped: tuple[Path, ...]


def compact(folder: str | os.PathLike[str], *, idle_seconds: float = 60) -> Compaction:
    """Compact the segments of a folder that no process writes: those that nobody has locked, unchanged for `idle_seconds`.

    `QueryLog` holds an exclusive lock (flock) on its segment while it is open, which also ends when its process is killed. A segment is deleted when it is
    compacted, unless lines of it are left out: then it stays, and is not read any more. Raises InputError while another process compacts the folder.
    """
    root = Path(folder)
    try:
        lock = FileLock(root / ".compaction.lock", timeout=0).acquire()
    except Timeout:
        raise InputError(f"another process compacts {root}", "wait for its end") from None
    written, skipped = list[Path](), list[Path]()
    with lock:
        for leftover in root.glob(f".*{COMPACTED}.*.tmp"):
            leftover.unlink()
        for segment in in_order(path for path in root.iterdir() if path.suffix == SEGMENT and not path.name.startswith(".")):
            try:
                written += _compacted(segment, idle_seconds)
            except (OSError, ValueError, TypeError, KeyError):  # locked, changed, a link, or beside a damaged file: readers count it
                skipped.append(segment)
        sync(root)
    return Compaction(tuple(written), sum(pq.read_metadata(path).num_rows for path in written), tuple(skipped))


def _compacted(segment: Path, idle_seconds: float) -> list[Path]:
    """Write the rows of a segment to a parquet file unless it exists, and delete the segment. Returns the file if it is new."""
    with opened(segment) as stream:
        lock_file(stream.fileno())
        target = segment.with_name(compacted_name(segment.name, segment.stat().st_size))
        new = not target.exists()
        if time.time() - segment.stat().st_mtime < idle_seconds:
            raise BlockingIOError
        if new:
            write_atomically(target, lambda aside: _write(aside, segment, stream))
    counts = LogCounts.model_validate_json(pq.read_metadata(target).metadata[COUNTS])
    # One that a process without a lock appended to has another name. No process opens the segment again, and Windows deletes no open file.
    if not counts.left_out and target.name == compacted_name(segment.name, segment.stat().st_size):
        segment.unlink()
    return [target] if new else []


def _write(aside: Path, segment: Path, stream: BinaryIO) -> None:
    counts = LogCounts()
    with pq.ParquetWriter(aside, SCHEMA, compression="zstd") as writer:
        # Larger row groups are compressed better.
        group = list[pa.RecordBatch]()
        for batch in segment_batches(stream, segment, SCHEMA.names, counts):
            group.append(batch)
            if sum(map(len, group)) >= BATCH_ROWS:
                writer.write_table(pa.Table.from_batches(group))
                group = []
        writer.write_table(pa.Table.from_batches(group, SCHEMA))
        writer.add_key_value_metadata({COUNTS.decode(): counts.model_dump_json()})
