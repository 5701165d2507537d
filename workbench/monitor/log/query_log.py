"""The log of a production service: a line for each question, written by a thread in bounded memory, without blocking or failing the service."""

import atexit
import contextlib
import logging
import os
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from multiprocessing.util import Finalize, register_after_fork
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import orjson
from pydantic_core import ValidationError

from workbench.core.errors import InputError
from workbench.core.files import require_folder
from workbench.core.operating_system import after_fork, lock_file, open_descriptor, sync
from workbench.core.text.display import excerpt
from workbench.core.text.guessed_names import checked_init, unknown_argument
from workbench.core.text.printable import printable
from workbench.monitor.log.capture import CURRENT, MOST_HITS, LoggedQuestion, contained, hit_rows, new_id, watched, writable
from workbench.monitor.log.fields import FEEDBACK, FIELDS, MAX_LINE_BYTES, NAMES, REQUIRED, ROWS, fault, missing_field, row_fault, values_of
from workbench.systems.base import TargetError
from workbench.systems.contents import identifier, number, plain

P = ParamSpec("P")
R = TypeVar("R")
Row = dict[str, Any]
Redact = Callable[[Row], Mapping[str, Any] | None]
_LOGGER = logging.getLogger(__name__)
_LONGEST = 40
_JSON = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE


@checked_init
class QueryLog:
    """A log of questions, hits, answers and feedback: a folder of JSON Lines, to which any number of processes write.

    It neither blocks the service nor raises errors into it. Records that cannot be written are counted in `lost` and in the log. A record is in its file within
    0.2 seconds, and a killed process loses no more than that. At most 64 MB wait to be written. Make one in each process, or before forking: each has a
    thread and a file, until it is closed or dropped.

    Parameters
    ----------
    path: the folder.
    salt: a secret with which `user` and `session` are hashed.
    redact: a function that returns a row (also of feedback) without its secrets, or None to leave it out. If it fails, the row is left out.
    head: the probability with which a question is logged, that of its session if it has one: a conversation is kept or left out as a whole.
    tail: a function of a row, with a datetime as `time`: whether it is kept in any case. `probability` is then 1, else `head`.
    fields: fields of all questions, such as `configuration`, `model`, and `versions` by name: `index`, `embedder`, `prompt`, `release`.

    Raises
    ------
    InputError: a setting is wrong.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        salt: str | bytes | None = None,
        redact: Redact | None = None,
        head: float = 1.0,
        tail: Callable[[Row], object] | None = None,
        **fields: object,
    ) -> None:
        checks: list[tuple[str, object, bool, str]] = [
            ("path", path, isinstance(path, str | os.PathLike), "a folder"),
            ("salt", "…", salt is None or (isinstance(salt, str | bytes) and bool(salt)), "a text with a letter"),
            ("redact", redact, redact is None or callable(redact), "a function of a row"),
            ("head", head, 0 < (number(head) or 0) <= 1, "a number above 0 and at most 1"),
            ("tail", tail, tail is None or callable(tail), "a function of a row"),
        ]
        known = {field.name: field for field in FIELDS if field.name not in REQUIRED}
        for name, value in fields.items():
            if name not in known:
                raise unknown_argument("QueryLog", name, [*(check[0] for check in checks), *known])
            checks.append((name, value, ROWS.isinstance_python({name: writable(value)}), values_of(known[name])))
        for name, value, right, kind in checks:
            if not right:
                raise InputError(f"{name} is {excerpt(repr(value), _LONGEST)}", f"give {kind}")
        self._key = blake2b(salt.encode() if isinstance(salt, str) else salt).digest() if salt else b""
        self._redact, self._head, self._tail, self._warned = redact, head, tail, set[str]()
        self._fields = {name: writable(value) for name, value in fields.items() if value is not None}
        self._writer = LogWriter(require_folder(Path(path), "the log"), self)

    @property
    def lost(self) -> Mapping[str, int]:
        """Return how many records this process has lost, by reason."""
        return self._writer.lost

    @property
    def current(self) -> LoggedQuestion:
        """Return the question that this code helps to answer, or one that is not logged."""
        return CURRENT.get() or LoggedQuestion(lambda **_: "", self.lose, "", {})

    def record(self, query: str = "", hits: object = None, answer: str | None = None, **fields: object) -> str:
        """Log a question with further fields of a log, and return its id. Hits are of any form that `wb.evaluate` takes of functions.

        A hit that is a text is an id, or a passage if it has a space. Hits after the first 1,000 are left out, which is counted as `hits`. Later changes of
        these values do not change the log.
        """
        question_id = new_id(fields.get("id"))
        with contained(partial(self.lose, "invalid")):
            given = {"query": query, "answer": answer, **fields, "id": question_id}
            row = {"time": datetime.now(UTC), **self._fields, **{name: value for name, value in given.items() if value is not None}}
            if isinstance(error := row.get("error"), str):
                row["error"] = printable(error)
            lists = {name: hit_rows(value) for name, value in (("hits", hits), ("sources", row.pop("sources", None))) if value is not None}
            for rows in lists.values():
                if len(rows) > MOST_HITS:
                    del rows[MOST_HITS:]
                    self.lose("hits", f"those after the first {MOST_HITS:,} of a question")
            self._add(row, lists)
        return question_id

    def feedback(self, question_id: str, kind: str = "thumb", value: float | None = None, text: str | None = None) -> None:
        """Log feedback to a question: `thumb` with 1 or -1, `edit` with the corrected text, `follow_up` with the next question, or another kind."""
        with contained(partial(self.lose, "invalid")):
            row = writable({"id": question_id, "feedback": [{"kind": kind, "value": value, "text": text, "time": datetime.now(UTC)}]})
            ROWS.validate_python(row)
            self._put(row, FEEDBACK)

    def question(self, query: str = "", **fields: object) -> LoggedQuestion:
        """Begin a question, which is logged at the end of its `with` block."""
        return LoggedQuestion(self.record, self.lose, query, fields)

    def watch(self, function: Callable[P, R]) -> Callable[P, R]:
        """Log each call of a function of a question, also an asynchronous one. Its result is an answer or hits as for `wb.evaluate`.

        The texts of a generator are passed on and logged at its end. The function can add fields: `log.current.set(user=…)`.
        """
        return watched(self.question, function)

    def close(self) -> None:
        """Write the lines that wait and end the log. It is done when Python exits, except by SIGKILL, an unhandled SIGTERM or `os._exit`."""
        self._writer.close()

    def lose(self, reason: str, detail: str | BaseException = "") -> None:
        """Count a record, or a part of one, that could not be logged. Of an error only its type is kept: its text can have secrets."""
        cause = detail if isinstance(detail, str) else ""
        with contained():  # errors of the service can be of any class
            if isinstance(detail, ValidationError):
                cause = fault(detail)
            elif isinstance(detail, BaseException):
                cause = f"hits in an unknown form ({type(detail).__name__})" if isinstance(detail, TargetError) else type(detail).__name__
        self._writer.lose(reason, cause)

    def _add(self, row: Row, lists: Row) -> None:
        """Check, hash and sample a row, of which the lists of hits are checked already. Raises ValidationError for a wrong value."""
        for name in ("user", "session"):
            if name in row and (text := writable(identifier(row[name]))):
                row[name] = blake2b(text.encode(), key=self._key, digest_size=16).hexdigest() if self._key else text
        if isinstance(row["time"], str):
            row["time"] = datetime.fromisoformat(row["time"])
        if isinstance(row["time"], datetime) and row["time"].tzinfo is not None:
            row["time"] = row["time"].astimezone(UTC)
        try:
            ROWS.validate_python(row)
        except ValidationError:  # numbers of numpy, values that are left out, halves of surrogate pairs
            row = writable(plain(row)) | {"time": row["time"]}
            ROWS.validate_python(row)
        if not NAMES.issuperset(row):
            self._warn("fields", f"{excerpt(min(row.keys() - NAMES), _LONGEST)} is no field that a reader knows")
        row |= lists
        if "versions" in row:
            row["versions"] = {**self._fields.get("versions", {}), **row["versions"]}
        if self._head < 1:
            row["probability"] = 1.0 if self._is_tail(row) else self._head
            if row["probability"] < 1 and self._draw(row.get("session") or row["id"]) >= self._head:
                return
        self._put(row, REQUIRED)

    def _is_tail(self, row: Row) -> bool:
        with contained(lambda error: self._warn("tail", f"tail failed with {type(error).__name__}; its rows are kept")):
            return self._tail is not None and bool(self._tail(row))
        return True  # the row is kept for certain, so its probability is right

    def _draw(self, key: str) -> float:
        """Return a number in [0, 1) that is the same for all questions of a session, in every process."""
        return int.from_bytes(blake2b(key.encode(), key=self._key, digest_size=8, person=b"sample").digest()) / 2**64

    def _put(self, row: Row, required: Sequence[str]) -> None:
        if missing := missing_field(row, required):
            return self.lose("invalid", missing)
        try:
            line = orjson.dumps(row, _json_value, _JSON)
        except TypeError:
            line = orjson.dumps(writable(row), _json_value, _JSON)
        if self._redact is not None and not (line := self._redacted(self._redact, line, required)):
            return None
        return self._writer.put(line) if len(line) < MAX_LINE_BYTES else self.lose("invalid", "a line of more than 8 MB")

    def _redacted(self, redact: Redact, line: bytes, required: Sequence[str]) -> bytes:
        """Return a line without its secrets, or nothing if it must not be written, which is counted."""
        with contained(partial(self.lose, "redaction")):
            # A copy: the hook can change it, and sees nothing but what would be written.
            row = redact(orjson.loads(line))
            if row is None:
                self.lose("redacted")
            elif wrong := row_fault(row, required):
                self.lose("redaction", wrong)
            else:
                return orjson.dumps(row, option=_JSON)
        return b""

    def _warn(self, of: str, message: str) -> None:
        if of not in self._warned:
            self._warned.add(of)
            with contained():  # a handler of logging can fail
                _LOGGER.warning("the query log: %s; said once", message)


def _json_value(value: object) -> object:
    """Return the JSON value for one of another type, or null."""
    return plain({"value": value}).get("value")


# The size after which the next segment begins, that of the lines that wait, and the time within which a line is in its file.
SEGMENT_BYTES, MEMORY_BYTES, FLUSH_SECONDS = 64_000_000, 64_000_000, 0.2
# The bytes of a waiting line beside its own.
_OVERHEAD = 64
_EXIT_SECONDS = 10
# Causes of lost records that are counted apart, and the characters of one.
_MOST_CAUSES, _LONGEST_CAUSE = 100, 200


class LogWriter:
    """Lines that wait, and the thread that writes them. Each process has a segment to itself, locked (flock) while it is open.

    A line `{"time": …, "lost": {reason: number}}` counts the records that its process lost since the last such line.
    The thread ends when `owner` was dropped.
    """

    def __init__(self, folder: Path, owner: object) -> None:
        self._folder, self._file, self._owner = folder, -1, weakref.ref(owner)
        self.begin()
        _OPEN.add(self)

    def begin(self) -> None:
        """Begin without a thread and a file. After a fork, locks can be held by threads that do not exist, and lines are the parent's."""
        self._close_file()
        self._lock, self._closing = threading.RLock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._lines, self._waiting, self._size, self._segments = list[bytes](), 0, 0, 0
        self._lost, self._unwritten = Counter[str](), Counter[str]()

    @property
    def lost(self) -> dict[str, int]:
        """Return the numbers of lost records by reason."""
        with self._lock:
            return dict(self._lost)

    def put(self, line: bytes) -> None:
        """Add a line with its newline to those that wait, or count it if the memory is full."""
        size = len(line) + _OVERHEAD
        with self._lock:
            full = self._waiting + size > MEMORY_BYTES
            if not full and not self._closing.is_set():
                self._lines.append(line)
                self._waiting += size
                return self._start()
        return self.lose("memory" if full else "closed")

    def lose(self, reason: str, detail: str = "", count: int = 1) -> None:
        """Count lost records: by reason, and in the log by reason and detail. The first of a reason is a warning."""
        reason, detail = writable(reason[:_LONGEST_CAUSE]), writable(detail[:_LONGEST_CAUSE])
        with self._lock:
            if reason not in self._lost and len(self._lost) >= _MOST_CAUSES:
                reason = "others"
            first = reason not in self._lost
            self._lost[reason] += count
            self._count(reason, detail, count)
            if not self._closing.is_set():
                self._start()
        if first:
            with contained():  # a handler of logging can fail
                _LOGGER.warning(
                    "the log %s lost a record or a part of one (%s: %s); later ones are counted only", self._folder, reason, detail
                )

    def close(self) -> None:
        """Write the lines that wait and end the thread. Later records are counted as lost."""
        with self._lock:
            self._closing.set()
            if self._thread is None:  # there is nothing to write, or no thread could start
                self._finish()
        if self._thread:
            self._thread.join(_EXIT_SECONDS)

    def _count(self, reason: str, detail: str, count: int) -> None:
        apart = detail and len(self._unwritten) < _MOST_CAUSES
        self._unwritten[f"{reason}: {detail}" if apart else reason] += count

    def _start(self) -> None:
        if self._thread is None:
            with contextlib.suppress(RuntimeError):  # no thread starts while Python ends, or if there are too many
                thread = threading.Thread(target=self._run, name="query log", daemon=True)
                thread.start()
                self._thread = thread

    def _run(self) -> None:
        # Half of the time is for writing.
        while not self._closing.wait(FLUSH_SECONDS / 2) and self._owner() is not None:
            self._write()
        self._finish()

    def _finish(self) -> None:
        self._write()
        self._close_file()
        _OPEN.discard(self)

    def _write(self) -> None:
        """Write the lines that wait, and one that counts lost records. If that fails, the lines are lost."""
        with self._lock:
            lines, lost = self._lines, self._unwritten
            self._lines, self._unwritten = [], Counter()
        if not lines and not lost:
            return
        counted = {"time": datetime.now(UTC), "lost": lost}
        try:
            last = [orjson.dumps(counted, option=orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE)] if lost else []
            self._append(b"".join([*lines, *last]))
        except BaseException as error:  # the thread must live
            with self._lock:
                for cause, count in lost.items():
                    self._count(*cause.partition(": ")[::2], count)
            if lines:
                with contextlib.suppress(BaseException):  # its warning
                    self.lose("write", str(error), len(lines))
        with self._lock:
            self._waiting -= sum(map(len, lines)) + _OVERHEAD * len(lines)

    def _append(self, lines: bytes) -> None:
        """Append lines to the segment and flush it to disk. No part of them stays if that fails, as on a full disk."""
        self._open_file()
        try:
            written = 0
            while written < len(lines):
                written += os.write(self._file, memoryview(lines)[written:])
            os.fsync(self._file)
        except OSError:
            try:
                os.ftruncate(self._file, self._size)
            except OSError:
                self._close_file()
            raise
        self._size += len(lines)

    def _open_file(self) -> None:
        if self._size >= SEGMENT_BYTES:
            self._close_file()
        # A segment that was deleted has no name any more.
        while self._file < 0 or not os.fstat(self._file).st_nlink:
            self._close_file()
            self._folder.mkdir(parents=True, exist_ok=True)
            name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}-{self._segments:06}.jsonl"
            self._segments += 1
            with contextlib.suppress(FileExistsError):  # another log, or a process of another machine
                self._file = open_descriptor(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o640)
                self._size = 0
                with contextlib.suppress(OSError):  # not every file system has locks, or folders to sync
                    lock_file(self._file)
                    sync(self._folder)

    def _close_file(self) -> None:
        # Forgotten first: a process forked meanwhile must not close the number again.
        file, self._file = self._file, -1
        if file >= 0:
            with contextlib.suppress(OSError):
                os.close(file)


_OPEN: set[LogWriter] = set()


def _for_all(act: Callable[[LogWriter], None]) -> None:
    for writer in tuple(_OPEN):
        act(writer)


def _close_at_exit(_: object = None) -> None:
    Finalize(None, _for_all, (LogWriter.close,), exitpriority=-100)


atexit.register(_for_all, LogWriter.close)
# Children of multiprocessing end without `atexit`, and forget what was to be done at their end when they begin.
_close_at_exit()
register_after_fork(LogWriter, _close_at_exit)
after_fork(lambda: _for_all(LogWriter.begin))
