"""The files of a log, segments of JSON Lines and compacted parquet files, and what is left out of them. Lines are read in blocks of bounded memory."""

import errno
import gzip
import itertools
import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel

from workbench.core.files import table_fault
from workbench.core.formatting import count
from workbench.datasets.file_access import readable
from workbench.errors import InputError
from workbench.monitor.log.fields import REQUIRED
from workbench.monitor.log.log_table import SCHEMA
from workbench.printable import printable_line

BLOCK_BYTES = 4_000_000
SEGMENTS = (".jsonl", ".jsonl.gz")
# Of the metadata of a compacted file.
ABOUT = b"workbench.log"
# Reasons and names can come from the log.
_MOST_REASONS = 100
_LONGEST = 100
Stream = BinaryIO | gzip.GzipFile
FAILURES = (OSError, EOFError, zlib.error, ValueError)


class Tally(BaseModel):
    """A number and the `file:line` of the first case, safe to print."""

    number: int
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


def note(tallies: dict[str, Tally], reason: str, where: object, number: int = 1) -> None:
    """Count cases of a reason. Beyond 100 reasons, others are counted together."""
    reason = printable_line(reason[:_LONGEST])
    if reason not in tallies and len(tallies) >= _MOST_REASONS:
        reason = "others"
    if reason not in tallies:
        tallies[reason] = Tally(number=0, first=printable_line(str(where)))
    tallies[reason].number += number


class CompactedAbout(BaseModel):
    """What a compacted file says of itself: the sizes of its `segments`, those that are `kept`, the number of `questions`, and the `counts` of its reading."""

    segments: dict[str, int] = {}
    kept: tuple[str, ...] = ()
    questions: int = 1 << 62
    counts: LogCounts = LogCounts()


class CompactedFile:
    """A parquet file with columns of the table of a log. Raises ArrowException, OSError or ValueError for any other file."""

    def __init__(self, stream: Stream) -> None:
        self._file = pq.ParquetFile(stream)
        self.about = CompactedAbout.model_validate_json((self._file.metadata.metadata or {}).get(ABOUT, b"{}"))
        fields = {field.name: field.type for field in self._file.schema_arrow}
        self._names = [name for name in SCHEMA.names if name in fields]
        if not fields.keys() >= {*REQUIRED} or any(fields[name] != SCHEMA.field(name).type for name in self._names):
            raise ValueError("not the table of a log")

    def batches(self, columns: Sequence[str], rows: int, *, feedback: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield columns of the questions, or of the `feedback` after them, which has row groups of its own. A column that is not in the file is null."""
        about = self._file.metadata
        starts = itertools.accumulate((about.row_group(group).num_rows for group in range(about.num_row_groups)), initial=0)
        groups = [
            group for group, start in zip(range(about.num_row_groups), starts, strict=False) if (start >= self.about.questions) == feedback
        ]
        schema = pa.schema([SCHEMA.field(name) for name in columns])
        for batch in self._file.iter_batches(rows, groups, [name for name in columns if name in self._names]):
            arrays = [batch.column(name) if name in self._names else pa.nulls(len(batch), SCHEMA.field(name).type) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


class LogFile:
    """A file of a log. One that the user named may be a link; in a folder it must be a regular file."""

    def __init__(self, path: Path, named: bool = False) -> None:
        self.path, self.named, self.compacted = path, named, path.suffix == ".parquet"

    @contextmanager
    def opened(self) -> Iterator[tuple[Stream, int]]:
        """Open the file. Yields the stream and its size now, beyond which a growing file is not read; of a compressed file it is unknown and large."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | (0 if self.named else os.O_NOFOLLOW))
        with os.fdopen(descriptor, "rb") as stream:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                raise OSError(errno.EINVAL, "not a regular file", str(self.path))
            if self.path.suffix == ".gz":
                with gzip.GzipFile(fileobj=stream) as unpacked:
                    yield unpacked, 1 << 62
            else:
                yield stream, about.st_size


def failure(error: Exception) -> str:
    """Describe why a file cannot be read."""
    reason = table_fault(error) if isinstance(error, OSError | ValueError) else "damaged compression"
    return f"file that cannot be read ({reason})"


def log_files(paths: tuple[Path, ...], left_out: dict[str, Tally]) -> list[LogFile]:
    """List the files of a log in order of their names, without segments that a compacted file contains. Folders below a folder are not read."""
    files = list[LogFile]()
    for path in paths:
        with readable():
            if path.is_dir():
                files += _in_folder(path, left_out)
            else:
                files.append(LogFile(path, named=True))
                with files[-1].opened():
                    pass
    if not files:
        raise InputError(f"{', '.join(map(str, paths))} contains no log", f"name a folder with files {', '.join(SEGMENTS)} or .parquet")
    return files


def _in_folder(folder: Path, left_out: dict[str, Tally]) -> list[LogFile]:
    files, contained = list[LogFile](), dict[str, int]()
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name.startswith(".") or entry.is_dir(follow_symlinks=False):
            continue
        if not entry.is_file(follow_symlinks=False) or not entry.name.endswith((*SEGMENTS, ".parquet")):
            note(left_out, "file of another kind, or a link", entry.path)
            continue
        file = LogFile(Path(entry.path))
        files.append(file)
        if file.compacted:
            try:
                with file.opened() as (stream, _):
                    contained |= CompactedFile(stream).about.segments
            except FAILURES:  # counted when it is read
                continue
    return [file for file in files if file.compacted or contained.get(file.path.name) != file_size(file.path)]


def file_size(path: Path) -> int:
    """Return the size of a file in bytes, or -1 if it does not exist."""
    try:
        return path.stat(follow_symlinks=False).st_size
    except OSError:
        return -1


def line_blocks(stream: Stream, size: int, most: int) -> Iterator[tuple[int, list[bytes | None], bool]]:
    """Yield the number of a first line, lines, and whether the last one is unfinished. A line of more than `most` bytes is None, and never in memory."""
    number, rest, skipping = 1, b"", False
    while block := stream.read(min(BLOCK_BYTES, size)):
        size -= len(block)
        lines: list[bytes | None] = [*(rest + block).split(b"\n")]
        rest = lines.pop() or b""
        if lines and skipping:
            lines[0], skipping = None, False
        if skipping or len(rest) > most:
            rest, skipping = b"", True
        yield number, [None if line is not None and len(line) > most else line for line in lines], False
        number += len(lines)
    if rest or skipping:
        yield number, [None if skipping else rest], True
