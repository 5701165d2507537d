"""Read logged questions in bounded memory, from JSON Lines and from compacted parquet files, and count everything that is left out."""

import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import InputError
from workbench.monitor.log.fields import FIELDS
from workbench.monitor.log.log_files import LogCounts, file_batches, log_files, note
from workbench.monitor.log.log_table import SCHEMA, logged_row

# Of feedback that waits for its question.
MAX_FEEDBACK_BYTES = 250_000_000
# A time before this, or this long after now, is not believed. Requests end in another order than they begin, but not by an hour.
EARLIEST, AHEAD, BACK = datetime(2000, 1, 1, tzinfo=UTC), timedelta(days=1), timedelta(hours=1)
DUPLICATE, UNMATCHED = "duplicate id", "feedback to a question that is not in the log"
Feedback = dict[str, list[dict[str, Any]]]


class LoggedQuestions:
    """The questions of a log: of a folder of segments, of files, or of several of them.

    `counts` says what the last reading left out or did not believe. A time before the year 2000 or more than a day from now is not believed: it is
    counted and missing. A clock that goes back by an hour is counted.

    Parameters
    ----------
    paths: folders and files, `.jsonl` (or any other name, for JSON Lines) and `.parquet`. Links in a folder are not followed.
    """

    def __init__(self, *paths: str | os.PathLike[str]) -> None:
        self._paths, self.counts = tuple(Path(path).resolve() for path in paths), LogCounts()

    def batches(self, columns: Sequence[str] = tuple(SCHEMA.names), ids: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the questions, or those with some ids, file by file. Feedback that was logged later is part of its question.

        `columns` are fields of a log, and those of `log_table.DERIVED`.
        """
        if unknown := {*columns} - {*SCHEMA.names}:
            raise InputError(f"{', '.join(unknown)} is no column of a log", f"choose from {', '.join(SCHEMA.names)}")
        self.counts = LogCounts()
        files = log_files(self._paths, self.counts.left_out)
        later = self._later_feedback(files) if "feedback" in columns else {}
        seen, merged, wanted = set[int](), set[str](), None if ids is None else pa.array([*ids], pa.string())
        for file in files:
            previous: pd.Timestamp | None = None
            for batch in file_batches(file, tuple(dict.fromkeys(("id", "time", "query", *columns))), self.counts):
                batch = self._distinct(batch.filter(pc.is_valid(batch.column("query"))), seen, file)
                batch = _with_feedback(self._believed(batch, file), later, merged)
                previous = self._note_clock(batch, previous, file)
                if wanted is not None:
                    batch = batch.filter(pc.is_in(batch.column("id"), wanted))
                if len(batch):
                    yield batch.select(list(columns))
        if unmatched := len(later.keys() - merged):
            note(self.counts.left_out, UNMATCHED, self._paths[0], unmatched)

    def table(self, columns: Sequence[str] = tuple(SCHEMA.names)) -> pa.Table:
        """Return columns of all questions as an Arrow table."""
        batches = [*self.batches(columns)]
        return pa.Table.from_batches(batches, pa.schema([SCHEMA.field(name) for name in columns]))

    def frame(self, columns: Sequence[str] = tuple(SCHEMA.names)) -> pd.DataFrame:
        """Return columns of all questions."""
        frame: pd.DataFrame = self.table(columns).to_pandas()
        return frame

    def rows(self, ids: Collection[str] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the questions, or those with some ids, as rows of a log."""
        for batch in self.batches([field.name for field in FIELDS], ids):
            yield from map(logged_row, batch.to_pylist())

    def _later_feedback(self, files: Sequence[Path]) -> Feedback:
        """Return the feedback that is in lines of its own, by the id of its question."""
        later, size = defaultdict[str, list[dict[str, Any]]](list), 0
        for file in files:
            for batch in file_batches(file, ("id", "query", "feedback"), LogCounts(), b'"feedback"'):
                given = batch.filter(pc.is_null(batch.column("query")))
                size += given.nbytes
                if size > MAX_FEEDBACK_BYTES:
                    note(self.counts.left_out, "feedback beyond 250 MB", file, len(given))
                    continue
                for row in given.to_pylist():
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
            ("time in the future", pc.greater(times, pa.scalar(datetime.now(UTC) + AHEAD, times.type))),
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
            note(self.counts.doubtful, "clock that goes back by an hour", file, int(back.sum()))
        last: pd.Timestamp = times.iloc[-1]
        return last


def _with_feedback(batch: pa.RecordBatch, later: Feedback, merged: set[str]) -> pa.RecordBatch:
    """Return a batch with the feedback that was logged later."""
    keys = {place: key for place, key in enumerate(batch.column("id").to_pylist()) if key in later} if later else {}
    if not keys:
        return batch
    merged.update(keys.values())
    column = batch.column("feedback").to_pylist()
    for place, key in keys.items():
        column[place] = [*(column[place] or ()), *later[key]]
    field = SCHEMA.field("feedback")
    return batch.set_column(batch.schema.get_field_index("feedback"), field, pa.array(column, field.type))
