"""Compact the segments of a log to parquet files with the same rows. A crash at any point neither loses nor doubles a question."""

import fcntl
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from workbench.core.files import sync, write_atomically
from workbench.errors import InputError
from workbench.monitor.log.log_files import BATCH_ROWS, COMPACTED, COUNTS, SEGMENT, LogCounts, compacted_name, opened, segment_batches
from workbench.monitor.log.log_table import SCHEMA


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
    place = Path(folder)
    try:
        lock = FileLock(place / ".compaction.lock", timeout=0).acquire()
    except Timeout:
        raise InputError(f"another process compacts {place}", "wait for its end") from None
    written, skipped = list[Path](), list[Path]()
    with lock:
        for leftover in place.glob(f".*{COMPACTED}.*.tmp"):
            leftover.unlink()
        for segment in sorted(path for path in place.iterdir() if path.suffix == SEGMENT and not path.name.startswith(".")):
            try:
                written += _compacted(segment, idle_seconds)
            except (OSError, ValueError, TypeError, KeyError):  # locked, changed, a link, or beside a damaged file: readers count it
                skipped.append(segment)
        sync(place)
    return Compaction(tuple(written), sum(pq.read_metadata(path).num_rows for path in written), tuple(skipped))


def _compacted(segment: Path, idle_seconds: float) -> list[Path]:
    """Write the rows of a segment to a parquet file, if there is none, and delete the segment. Returns the file if it is new."""
    with opened(segment) as stream:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        target = segment.with_name(compacted_name(segment.name, segment.stat().st_size))
        new = not target.exists()
        if time.time() - segment.stat().st_mtime < idle_seconds:
            raise BlockingIOError
        if new:
            write_atomically(target, lambda aside: _write(aside, segment, stream))
        counts = LogCounts.model_validate_json(pq.read_metadata(target).metadata[COUNTS])
        # One that a process without a lock appended to has another name.
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
