"""Read logged questions in bounded memory, from JSON Lines and from compacted parquet files, and count everything that is left out."""

import codecs
import os
import secrets
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.errors import InputError
from workbench.monitor.log.fields import FIELDS, NAMES, feedback_fault, row_fault
from workbench.monitor.log.log_files import FAILURES, CompactedFile, LogCounts, LogFile, Stream, failure, line_blocks, log_files, note
from workbench.monitor.log.log_table import SCHEMA, is_plain, logged_row, record_batch

MAX_LINE_BYTES = 8_000_000
# Of feedback that waits for its question.
MAX_FEEDBACK_BYTES = 250_000_000
BATCH_ROWS = 16_384
# A time before this, or this long after now, is not believed. Requests end in another order than they begin, but not by an hour.
EARLIEST, AHEAD, BACK = datetime(2000, 1, 1, tzinfo=UTC), timedelta(days=1), timedelta(hours=1)
# Libraries differ in the nesting that they bear. A line with fewer brackets has less.
_MOST_NESTED = 250
UNFINISHED, DUPLICATE, UNMATCHED = "unfinished last line", "duplicate id", "feedback to a question that is not in the log"
_OF = {field.name: frozenset(part.name for part in field.of) for field in FIELDS if field.of}

Hashes = npt.NDArray[np.uint64]
# A batch, and the line or row of each of its questions.
_Batches = Iterator[tuple[pa.RecordBatch, Sequence[int]]]


class DistinctIds:
    """The ids so far as sorted 64-bit hashes, 8 bytes for each, with a key that nobody knows: nobody can write ids with equal hashes."""

    def __init__(self) -> None:
        self._key, self._runs = secrets.token_hex(8), list[Hashes]()

    def hashes(self, ids: Sequence[str]) -> Hashes:
        """Hash ids (n)."""
        return np.asarray(pd.util.hash_array(np.array(ids, dtype=object), hash_key=self._key, categorize=False))

    def first(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Mark the hashes (n) that occur for the first time."""
        first = np.zeros(len(hashes), dtype=np.bool_)
        first[np.unique(hashes, return_index=True)[1]] = True
        for run in self._runs:
            first &= run[np.minimum(np.searchsorted(run, hashes), len(run) - 1)] != hashes
        added = np.sort(hashes[first])
        while self._runs and len(self._runs[-1]) <= len(added):
            added = np.sort(np.concatenate([self._runs.pop(), added]))
        self._runs += [added] if len(added) else []
        return first


class LoggedQuestions:
    """The questions of a log: of a folder of segments, of files, or of several of them.

    `counts` says what the last reading left out or did not believe. A time before the year 2000 or more than a day from now is not believed: it is
    counted and missing. A clock that goes back by an hour is counted.

    Parameters
    ----------
    paths: folders and files, `.jsonl`, `.jsonl.gz` (or any other name, for JSON Lines) and `.parquet`. Links in a folder are not followed.
    doubt_times: whether times are checked.
    """

    def __init__(self, *paths: str | os.PathLike[str], doubt_times: bool = True) -> None:
        self._paths, self._doubt_times = tuple(map(Path, paths)), doubt_times
        self._begin(())

    def _begin(self, columns: Sequence[str], only: Collection[str] | None = None) -> None:
        self.counts, self.faulty, self._vanished = LogCounts(), set[Path](), set[Path]()
        self._columns, self._only, self._ids, self._again = tuple(dict.fromkeys(("id", "time", *columns))), only, DistinctIds(), False
        self._late, self._late_bytes, self._merged = defaultdict[str, list[bytes]](list), 0, set[str]()

    def batches(self, columns: Sequence[str] = tuple(SCHEMA.names), ids: Collection[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the questions, or those with some ids, file by file. Feedback that was logged later is part of its question.

        `columns` are fields of a log, and `hit_count`, `first_score` and `retrievals`.
        """
        if unknown := {*columns} - {*SCHEMA.names}:
            raise InputError(f"{', '.join(unknown)} is no column of a log", f"choose from {', '.join(SCHEMA.names)}")
        self._begin(columns, None if ids is None else frozenset(ids))
        files = log_files(self._paths, self.counts.left_out)
        yield from (batch.select(list(columns)) for batch in self._read(files))
        if self._vanished:
            # Perhaps they were compacted meanwhile.
            self._again = True
            late = [file for file in log_files(self._paths, {}) if file.compacted and file.path not in {known.path for known in files}]
            yield from (batch.select(list(columns)) for batch in self._read(late))
        for path in self._vanished:
            note(self.counts.left_out, "file that vanished", path)
        for row in self.unmatched_feedback() if ids is None else ():
            note(self.counts.left_out, UNMATCHED, row["id"])

    def frame(self, columns: Sequence[str] = tuple(SCHEMA.names)) -> pd.DataFrame:
        """Return columns of all questions."""
        batches = [*self.batches(columns)]
        frame: pd.DataFrame = pa.Table.from_batches(batches, pa.schema([SCHEMA.field(name) for name in columns])).to_pandas()
        return frame

    def rows(self, ids: Collection[str] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the questions, or those with some ids, as rows of a log."""
        for batch in self.batches([field.name for field in FIELDS], ids):
            yield from map(logged_row, batch.to_pylist())

    def time_range(self) -> tuple[datetime, datetime] | None:
        """Return the first and the last time, or None without any."""
        limits = [pc.min_max(batch.column("time")).as_py() for batch in self.batches(["time"])]
        times = [time for limit in limits for time in limit.values() if time is not None]
        return (min(times), max(times)) if times else None

    def unmatched_feedback(self) -> list[dict[str, Any]]:
        """Return the feedback whose question the last reading did not find, as rows of a log."""
        return [{"id": key, "feedback": self._feedback(key)} for key in self._late if key not in self._merged]

    def _read(self, files: Sequence[LogFile]) -> Iterator[pa.RecordBatch]:
        for file in files if "feedback" in self._columns else ():
            with suppress(*FAILURES), file.opened() as (stream, size):
                self._collect_feedback(file, stream, size)
        for file in files:
            try:
                with file.opened() as (stream, size):
                    source = self._compacted(stream, file) if file.compacted else self._segment(stream, size, file)
                    yield from self._checked(source, file)
            except FileNotFoundError:
                self._vanished.add(file.path)
            except FAILURES as error:
                if isinstance(error, ValueError) and not file.compacted:
                    raise
                note(self.counts.left_out, failure(error), file.path)
                self.faulty.add(file.path)

    def _checked(self, source: _Batches, file: LogFile) -> Iterator[pa.RecordBatch]:
        """Leave out duplicates, and doubt times."""
        previous = np.datetime64("NaT", "us")
        for batch, lines in source:
            first = self._ids.first(self._ids.hashes(batch.column("id").to_pylist()))
            if not first.all():
                # A file that was compacted meanwhile can contain questions of segments that were read.
                if not self._again:
                    note(self.counts.left_out, DUPLICATE, f"{file.path}:{lines[int(np.argmin(first))]}", int((~first).sum()))
                batch, lines = batch.filter(pa.array(first)), np.asarray(lines)[first].tolist()
            batch, times = self._believed(batch, lines, file)
            back = np.diff(times, prepend=previous) < -np.timedelta64(BACK)
            if back.any() and not file.compacted:
                note(self.counts.doubtful, "clock that goes back by an hour", file.path, int(back.sum()))
            previous = times[-1] if len(times) else previous
            yield self._with_late_feedback(batch)

    def _believed(self, batch: pa.RecordBatch, lines: Sequence[int], file: LogFile) -> tuple[pa.RecordBatch, npt.NDArray[np.datetime64]]:
        """Return a batch without times that are not believed, and the others."""
        times = batch.column("time").to_numpy(zero_copy_only=False)
        latest = np.datetime64((datetime.now(UTC) + AHEAD).replace(tzinfo=None))
        past, future = times < np.datetime64(EARLIEST.replace(tzinfo=None)), times > latest
        for reason, doubted in (("time before the year 2000", past), ("time in the future", future)):
            if doubted.any() and self._doubt_times:
                note(self.counts.doubtful, reason, f"{file.path}:{lines[int(np.argmax(doubted))]}", int(doubted.sum()))
        if (past | future).any() and self._doubt_times:
            place = batch.schema.get_field_index("time")
            batch = batch.set_column(place, SCHEMA.field("time"), pc.if_else(pa.array(past | future), None, batch.column("time")))
        return batch, times[~(past | future)]

    def _with_late_feedback(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        keys = {place: key for place, key in enumerate(batch.column("id").to_pylist()) if key in self._late} if self._late else {}
        if not keys:
            return batch
        self._merged.update(keys.values())
        added = record_batch([{"feedback": self._feedback(key)} for key in keys.values()], ("feedback",)).column(0).to_pylist()
        column = batch.column("feedback").to_pylist()
        for place, items in zip(keys, added, strict=True):
            # Compaction has merged it if it ran meanwhile.
            column[place] = [*(column[place] or ()), *(item for item in items if item not in (column[place] or ()))]
        field = SCHEMA.field("feedback")
        return batch.set_column(batch.schema.get_field_index("feedback"), field, pa.array(column, field.type))

    def _feedback(self, key: str) -> list[Any]:
        return [item for content in self._late[key] for item in orjson.loads(content)]

    def _collect_feedback(self, file: LogFile, stream: Stream, size: int) -> None:
        if file.compacted:
            for batch in CompactedFile(stream).batches(("id", "feedback"), BATCH_ROWS, feedback=True):
                for row in batch.to_pylist():
                    self._keep(logged_row(row), file)
            return
        for _, lines, _ in line_blocks(stream, size, MAX_LINE_BYTES):
            for line in lines:
                row = _parsed(line)[0] if line and b'"feedback"' in line else None
                if row is not None and _is_feedback(row) and not feedback_fault(row):
                    self._keep(row, file)

    def _keep(self, row: dict[str, Any], file: LogFile) -> None:
        content = orjson.dumps(row["feedback"])
        # A text, a list and their places in tables take about 300 bytes.
        self._late_bytes += len(content) + 300
        if self._late_bytes > MAX_FEEDBACK_BYTES:
            note(self.counts.left_out, "feedback beyond 250 MB", file.path)
        else:
            self._late[row["id"]].append(content)

    def _compacted(self, stream: Stream, file: LogFile) -> _Batches:
        table = CompactedFile(stream)
        self._vanished -= {file.path.with_name(name) for name in table.about.segments}
        for kind in LogCounts.model_fields:
            for reason, tally in getattr(table.about.counts, kind).items():
                note(getattr(self.counts, kind), reason, tally.first, tally.number)
        row = 1
        for batch in table.batches(self._columns, BATCH_ROWS):
            known = batch.filter(pc.is_in(batch.column("id"), pa.array(self._only))) if self._only is not None else batch
            yield known, range(row, row + len(batch))
            row += len(batch)

    def _segment(self, stream: Stream, size: int, file: LogFile) -> _Batches:
        path = str(file.path)
        for number, lines, unfinished in line_blocks(stream, size, MAX_LINE_BYTES):
            rows, numbers = list[dict[str, Any]](), list[int]()
            for place, line in enumerate(lines, number):
                if line != b"" and (row := self._question(line, path, place, unfinished)):
                    rows.append(row)
                    numbers.append(place)
            if rows:
                yield record_batch(rows, self._columns), numbers

    def _question(self, line: bytes | None, path: str, number: int, unfinished: bool) -> dict[str, Any] | None:
        """Return the question of a line, or None. Any other line is counted, but not feedback, which is known, and blank lines."""
        row, fault = _parsed(line.removeprefix(codecs.BOM_UTF8) if line and number == 1 else line)
        question = None
        if row is not None and "lost" in row and "query" not in row:
            fault = self._note_lost(row["lost"], f"{path}:{number}")
        elif row is not None and _is_feedback(row):
            fault = feedback_fault(row) or ("" if line and b'"feedback"' in line else "feedback with an escaped name")
        elif row is not None:
            question = row
            if not is_plain(row):
                fault = row_fault(row)
                self._note_unknown(row, f"{path}:{number}")
        if fault:
            note(self.counts.left_out, UNFINISHED if unfinished else fault, f"{path}:{number}")
            if not unfinished:
                self.faulty.add(Path(path))
        return None if fault or question is None or (self._only is not None and question["id"] not in self._only) else question

    def _note_lost(self, lost: object, where: str) -> str:
        """Count records that a process could not log. Returns the fault of the line."""
        if not isinstance(lost, dict) or not all(type(number) is int and number > 0 for number in lost.values()):
            return "an object of whole numbers expected in lost"
        for reason, number in lost.items():
            note(self.counts.lost, reason, where, number)
        return ""

    def _note_unknown(self, row: dict[str, Any], where: str) -> None:
        names = {name for name, value in row.items() if value is not None} - NAMES
        for name, known in _OF.items():
            items = row[name] if isinstance(row.get(name), list) else ()
            names |= {f"{name}.{part}" for item in items if isinstance(item, dict) for part in item.keys() - known}
        for name in names:
            note(self.counts.unknown, name, where)


def _is_feedback(row: dict[str, Any]) -> bool:
    return row.get("query") is None and row.get("feedback") is not None


def _parsed(line: bytes | None) -> tuple[dict[str, Any] | None, str]:
    """Return the object of a line, or None and its fault, which is empty for a blank line."""
    if line is None:
        return None, f"line of more than {MAX_LINE_BYTES / 1e6:g} MB"
    try:
        row = orjson.loads(line)
        if line.count(b"{") + line.count(b"[") > _MOST_NESTED:
            orjson.dumps(row)
    except orjson.JSONDecodeError as error:
        return None, "" if not line.strip() else "line that is not UTF-8" if "UTF-8" in str(error) else "line that is not JSON"
    except orjson.JSONEncodeError:
        return None, "line with deep nesting"
    return (row, "") if isinstance(row, dict) else (None, "line that is not an object")
