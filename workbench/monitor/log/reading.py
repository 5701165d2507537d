"""Read logged questions in bounded memory, from JSON Lines and from compacted parquet files, and count everything that is left out."""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import repeat
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.core.environment import missing_package, modules_of_working_directory_ignored, usable_cores
from workbench.core.errors import InputError
from workbench.monitor.log.fields import FIELDS
from workbench.monitor.log.log_files import LogCounts, file_batches, log_files, note
from workbench.monitor.log.log_table import SCHEMA, logged_row

# Of feedback that waits for its question.
MAX_FEEDBACK_BYTES = 250_000_000
# A time before this, or this long after now, is not believed. Requests end in another order than they begin, but not by an hour.
EARLIEST, AHEAD, BACK = datetime(2000, 1, 1, tzinfo=UTC), timedelta(hours=1), timedelta(hours=1)
DUPLICATE, UNMATCHED = "duplicate id", "feedback to a question that is not in the log"
Feedback = dict[str, list[dict[str, Any]]]
FEEDBACK_COLUMNS = ("id", "query", "feedback")
# Bytes of a log that several processes read sooner than one: they start for a second or two.
_LARGE, _MOST_PROCESSES = 200_000_000, 4
_ID = re.compile(rb'\{"id":"([^"\\]*)"')
_Parts = Iterable[tuple[Path, Iterable[pa.RecordBatch]]]


class LoggedQuestions:
    """The questions of a log: of a folder of segments, of files, or of several of them.

    `counts` says what the last reading left out or did not believe. A time before the year 2000 or more than an hour from now is not believed: it is
    counted and missing. Times that go back by an hour are counted.

    Parameters
    ----------
    paths: folders and files, `.jsonl` (or any other name, for JSON Lines) and `.parquet`. Links in a folder are not followed.
    """

    def __init__(self, *paths: str | os.PathLike[str]) -> None:
        self._paths, self.counts = tuple(Path(path).resolve() for path in paths), LogCounts()

    def batches(self, columns: Sequence[str] = tuple(SCHEMA.names), ids: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the questions, or those with some ids, file by file. Feedback that was logged later is part of its question.

        `columns` are fields of a log, and those of `log_table.DERIVED`. Lines that cannot have one of the ids are not parsed, and nothing of them is counted.
        """
        files, names = self._begin(columns)
        wanted, counts = _lines_of(ids), LogCounts()
        given = (
            (file, file_batches(file, FEEDBACK_COLUMNS, counts, lambda line: b'"feedback"' in line and wanted(line))) for file in files
        )
        later = self._later_feedback(given if "feedback" in columns else (), ids)
        yield from self._questions(((file, file_batches(file, names, self.counts, wanted)) for file in files), columns, later, ids)
        # Such as a file that could not be read then.
        self.counts.add(counts.beyond(self.counts))

    def table(self, columns: Sequence[str] = tuple(SCHEMA.names)) -> pa.Table:
        """Return columns of all questions as an Arrow table. Each file is read once, those of a large log by several processes."""
        files, names = self._begin(columns)
        parts = [*zip(files, _parts(files, names), strict=True)]
        for _, part in parts:
            self.counts.add(part.counts)
        later = self._later_feedback(((file, part.feedback) for file, part in parts) if "feedback" in columns else ())
        batches = [*self._questions(((file, part.questions) for file, part in parts), columns, later)]
        return pa.Table.from_batches(batches, pa.schema([SCHEMA.field(name) for name in columns]))

    def frame(self, columns: Sequence[str] = tuple(SCHEMA.names)) -> pd.DataFrame:
        """Return columns of all questions."""
        frame: pd.DataFrame = self.table(columns).to_pandas()
        return frame

    def rows(self, ids: Collection[str] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the questions, or those with some ids, as rows of a log."""
        for batch in self.batches([field.name for field in FIELDS], ids):
            yield from map(logged_row, batch.to_pylist())

    def _begin(self, columns: Sequence[str]) -> tuple[list[Path], tuple[str, ...]]:
        """Return the files, and the columns that are read of them."""
        if unknown := {*columns} - {*SCHEMA.names}:
            raise InputError(f"{', '.join(unknown)} is no column of a log", f"choose from {', '.join(SCHEMA.names)}")
        self.counts = LogCounts()
        return log_files(self._paths, self.counts.left_out), tuple(dict.fromkeys(("id", "time", "query", *columns)))

    def _questions(
        self, parts: _Parts, columns: Sequence[str], later: Feedback, ids: Collection[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the questions of the rows of files, and count what is left out and doubtful."""
        seen, merged, wanted = set[int](), set[str](), None if ids is None else pa.array([*ids], pa.string())
        for file, batches in parts:
            previous: pd.Timestamp | None = None
            for rows in batches:
                batch = self._distinct(_rows_of_questions(rows), seen, file)
                batch = _with_feedback(self._believed(batch, file), later, merged)
                previous = self._note_clock(batch, previous, file)
                if wanted is not None:
                    batch = batch.filter(pc.is_in(batch.column("id"), wanted))
                if len(batch):
                    yield batch.select(list(columns))
        if unmatched := len(later.keys() - merged):
            note(self.counts.left_out, UNMATCHED, self._paths[0], unmatched)

    def _later_feedback(self, parts: _Parts, ids: Collection[str] | None = None) -> Feedback:
        """Return the feedback on lines without a question, by the id of its question."""
        later, size = defaultdict[str, list[dict[str, Any]]](list), 0
        for file, batches in parts:
            for batch in batches:
                given = batch.select(FEEDBACK_COLUMNS).filter(pc.is_null(batch.column("query")))
                size += given.nbytes
                if size > MAX_FEEDBACK_BYTES:
                    note(self.counts.left_out, "feedback beyond 250 MB", file, len(given))
                    continue
                for row in given.to_pylist():
                    if ids is None or row["id"] in ids:
                        later[row["id"]] += row["feedback"]
        return later

    def _distinct(self, batch: pa.RecordBatch, seen: set[int], file: Path) -> pa.RecordBatch:
        """Return the questions whose ids were not seen. Hashes take less memory than ids; Python keys them with a secret of the process."""
        first = list[bool]()
        for code in map(hash, batch.column("id").to_pylist()):
            first.append(code not in seen)
            seen.add(code)
        if all(first):
            return batch
        note(self.counts.left_out, DUPLICATE, file, first.count(False))
        return batch.filter(pa.array(first))

    def _believed(self, batch: pa.RecordBatch, file: Path) -> pa.RecordBatch:
        """Return a batch without the times that are not believed."""
        times = batch.column("time")
        for reason, doubted in (
            ("time before the year 2000", pc.less(times, pa.scalar(EARLIEST, times.type))),
            ("time more than an hour from now", pc.greater(times, pa.scalar(datetime.now(UTC) + AHEAD, times.type))),
        ):
            if number := pc.sum(doubted).as_py():
                note(self.counts.doubtful, reason, file, number)
                times = pc.if_else(doubted, None, times)
        return batch.set_column(batch.schema.get_field_index("time"), SCHEMA.field("time"), times)

    def _note_clock(self, batch: pa.RecordBatch, previous: pd.Timestamp | None, file: Path) -> pd.Timestamp | None:
        """Count times that are an hour before the one in the line before. Returns the last time."""
        times = batch.column("time").to_pandas().dropna()
        if times.empty:
            return previous
        back = times - times.shift(fill_value=previous or times.iloc[0]) < -BACK
        if back.any():
            note(self.counts.doubtful, "time an hour before that of the line before", file, int(back.sum()))
        last: pd.Timestamp = times.iloc[-1]
        return last


class _FileRows(NamedTuple):
    questions: list[pa.RecordBatch]
    feedback: list[pa.RecordBatch]
    counts: LogCounts


def _parts(files: Sequence[Path], columns: Sequence[str]) -> Iterator[_FileRows]:
    """Yield the rows of each file, and the counts of what is left out of it."""
    size = 0
    for file in files:
        with suppress(OSError):
            size += file.stat().st_size
    if size < _LARGE or missing_package("joblib", "psutil"):
        yield from (_part(file, columns) for file in files)
    else:
        from joblib.externals.loky import ProcessPoolExecutor

        # Workers of loky, unlike spawned ones, do not import the script that the user runs.
        with (
            modules_of_working_directory_ignored(),
            ProcessPoolExecutor(min(usable_cores(), _MOST_PROCESSES), initializer=_end_with, initargs=(os.getpid(),)) as pool,
        ):
            yield from pool.map(_part, files, repeat(tuple(columns)))


def _end_with(parent: int) -> None:
    """End this process when the one that reads the log ends, also if that was killed."""
    import psutil

    process = psutil.Process(parent)

    def watch() -> None:
        process.wait()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _part(file: Path, columns: Sequence[str]) -> _FileRows:
    """Read a file. What is not needed any more is not sent to another process."""
    rows = _FileRows([], [], LogCounts())
    for batch in file_batches(file, columns, rows.counts):
        rows.questions.append(_rows_of_questions(batch))
        if "feedback" in columns:
            rows.feedback.append(batch.filter(pc.is_null(batch.column("query"))).select(FEEDBACK_COLUMNS))
    return rows._replace(questions=pa.Table.from_batches(rows.questions).combine_chunks().to_batches() if rows.questions else [])


def _rows_of_questions(batch: pa.RecordBatch) -> pa.RecordBatch:
    query = batch.column("query")
    return batch.filter(pc.is_valid(query)) if query.null_count else batch


def _lines_of(ids: Collection[str] | None) -> Callable[[bytes], bool]:
    """Test whether a line can be a question with one of the ids, or feedback to it. `QueryLog` writes the id first."""
    if ids is None:
        return bool
    known = {name.encode("utf-8", "surrogatepass") for name in ids}

    def possible(line: bytes) -> bool:
        match = _ID.match(line)
        # A name of a field can be escaped, or occur twice.
        return not match or match[1] in known or line.count(b'"id"') > 1 or b"\\u00" in line

    return possible


def _with_feedback(batch: pa.RecordBatch, later: Feedback, merged: set[str]) -> pa.RecordBatch:
    """Return a batch with the feedback that was logged later."""
    keys = {row: key for row, key in enumerate(batch.column("id").to_pylist()) if key in later} if later else {}
    if not keys:
        return batch
    merged.update(keys.values())
    column = batch.column("feedback").to_pylist()
    for row, key in keys.items():
        column[row] = [*(column[row] or ()), *later[key]]
    field = SCHEMA.field("feedback")
    return batch.set_column(batch.schema.get_field_index("feedback"), field, pa.array(column, field.type))
