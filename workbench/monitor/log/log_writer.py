"""Write lines to a folder of JSON Lines segments from a thread, in bounded memory, without blocking the caller."""

import atexit
import contextlib
import fcntl
import logging
import os
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from multiprocessing.util import Finalize, register_after_fork
from pathlib import Path

import orjson

from workbench.core.files import sync
from workbench.monitor.log.capture import contained, writable

_LOGGER = logging.getLogger(__name__)
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
                self._file = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o640)
                self._size = 0
                with contextlib.suppress(OSError):  # not every file system has locks, or folders to sync
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
os.register_at_fork(after_in_child=lambda: _for_all(LogWriter.begin))
