"""Compact closed segments of a log into parquet files. A crash at any point neither loses nor doubles a question."""

import fcntl
import itertools
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from workbench.core.files import sync, write_atomically
from workbench.errors import InputError, StoreError
from workbench.monitor.log.log_files import ABOUT, FAILURES, SEGMENTS, CompactedAbout, CompactedFile, LogFile, file_size
from workbench.monitor.log.log_table import SCHEMA, record_batch
from workbench.monitor.log.reading import BATCH_ROWS, UNMATCHED, LoggedQuestions

# Of the segments of one parquet file, and of the questions that are sorted in memory.
GROUP_BYTES, _MOST_SEGMENTS = 128_000_000, 200
RUN_BYTES = 64_000_000
# Segments with lines that are left out are kept in this folder, which no reader enters.
KEPT = "left_out"
_SUFFIX = ".parquet"


@dataclass(frozen=True, slots=True)
class Compaction:
    """The parquet `files` that were written, the number of `segments` in them and of `questions`, and the segments that are `open`: still being written."""

    files: tuple[Path, ...]
    segments: int
    questions: int
    open: tuple[Path, ...]


def compact(folder: str | os.PathLike[str], *, idle_seconds: float = 60) -> Compaction:
    """Compact the segments of a folder that no process writes: those that nobody has locked, unchanged for `idle_seconds`.

    `QueryLog` holds an exclusive lock (flock) on its segment while it is open, which also ends when its process is killed. Questions are sorted by time
    within a file, at most 64 MB of them at once. Later feedback is merged into its question, or kept for one in another file. A segment with lines that
    are left out is moved to `left_out/`, others are deleted. Raises InputError while another process compacts the folder.
    """
    place = Path(folder)
    try:
        lock = FileLock(place / ".compaction.lock", timeout=0).acquire()
    except Timeout:
        raise InputError(f"another process compacts {place}", "wait for its end") from None
    with lock:
        for leftover in place.glob(f".*{_SUFFIX}.*.tmp"):
            leftover.unlink()
        for path in place.glob(f"*{_SUFFIX}"):
            with suppress(*FAILURES), LogFile(path).opened() as (stream, _):
                _delete(place, CompactedFile(stream).about)
        written, still_open = list[tuple[Path, CompactedAbout]](), list[Path]()
        for group in _groups(sorted(path for path in place.iterdir() if path.name.endswith(SEGMENTS) and not path.name.startswith("."))):
            with ExitStack() as locks:
                closed = [path for path in group if _locked(path, idle_seconds, locks)]
                still_open += [path for path in group if path not in closed]
                written += [_write(place, closed)] if closed else []
    segments, questions = (sum(len(about.segments) for _, about in written), sum(about.questions for _, about in written))
    return Compaction(tuple(path for path, _ in written), segments, questions, tuple(still_open))


def _locked(path: Path, idle_seconds: float, locks: ExitStack) -> bool:
    """Lock a segment until `locks` closes. Returns False for one that is being written, cannot be read or is a link."""
    try:
        if path.is_symlink() or not path.is_file() or time.time() - path.stat().st_mtime < idle_seconds:
            return False
        fcntl.flock(locks.enter_context(path.open("rb")), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # locked, gone, or a file system without locks
        return False
    return True


def _groups(segments: Iterable[Path]) -> Iterator[list[Path]]:
    group, size = list[Path](), 0
    for path in segments:
        if group and (size + file_size(path) > GROUP_BYTES or len(group) >= _MOST_SEGMENTS):
            yield group
            group, size = [], 0
        group.append(path)
        size += file_size(path)
    if group:
        yield group


def _write(folder: Path, segments: Sequence[Path]) -> tuple[Path, CompactedAbout]:
    """Write a parquet file, then delete its segments. A reader leaves out segments that a complete file contains."""
    about = CompactedAbout(segments={path.name: file_size(path) for path in segments}, questions=0)
    stem = segments[0].name.partition(".")[0]
    path = next(
        path for path in (folder / f"{stem}{tail}{_SUFFIX}" for tail in ("", *(f"-{n}" for n in range(1_000)))) if not path.exists()
    )
    write_atomically(path, lambda aside: _write_table(aside, LoggedQuestions(*segments, doubt_times=False), about))
    rows = pq.read_metadata(path).num_rows
    if rows < about.questions:
        raise StoreError(f"{path} has {rows} of {about.questions} questions", "check the disk; its segments are kept")
    _delete(folder, about)
    return path, about


def _write_table(path: Path, questions: LoggedQuestions, about: CompactedAbout) -> None:
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        run = list[pa.RecordBatch]()
        for batch in itertools.chain(questions.batches(), [None]):
            run += [batch] if batch is not None else []
            if run and (batch is None or sum(part.nbytes for part in run) > RUN_BYTES):
                writer.write_table(pa.Table.from_batches(run).sort_by("time"), BATCH_ROWS)
                about.questions += sum(map(len, run))
                run = []
        if feedback := questions.unmatched_feedback():
            writer.write_table(pa.Table.from_batches([record_batch(feedback, SCHEMA.names)]))
        questions.counts.left_out.pop(UNMATCHED, None)
        about.kept, about.counts = tuple(path.name for path in questions.faulty), questions.counts
        writer.add_key_value_metadata({ABOUT.decode(): about.model_dump_json()})


def _delete(folder: Path, about: CompactedAbout) -> None:
    """Delete the segments of a compacted file, unless they changed, or keep those with lines that are left out."""
    for name, size in about.segments.items():
        path = folder / name
        if path.parent == folder and name.endswith(SEGMENTS) and file_size(path) == size:
            if name in about.kept:
                (folder / KEPT).mkdir(exist_ok=True)
                path.replace(folder / KEPT / name)
            else:
                path.unlink()
    sync(folder)
