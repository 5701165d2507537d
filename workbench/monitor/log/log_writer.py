"""Write lines to a folder of JSON Lines segments from a thread, in bounded memory, without blocking the caller."""

import atexit
import contextlib
import fcntl
import logging
import os
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue

import orjson

from workbench.core.files import sync

_LOGGER = logging.getLogger(__name__)
# The bytes of a line in the queue beside its own.
_OVERHEAD = 64
_EXIT_SECONDS = 10
# Causes of lost records that are counted apart in a line.
_MOST_CAUSES = 100


def utc_now() -> str:
    """Return the time as logs have it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


class LogWriter:
    """A queue of lines and the thread that writes them. Each process has a segment to itself, locked (flock) while it is open.

    A line `{"time": …, "lost": {reason: number}}` counts the records that its process lost since the last such line.
    """

    def __init__(self, folder: Path, segment_bytes: int, flush_seconds: float, memory_bytes: int) -> None:
        self._folder, self._segment_bytes, self._flush_seconds, self._memory_bytes = folder, segment_bytes, flush_seconds, memory_bytes
        self._file = -1
        self.begin()
        _OPEN.add(self)

    def begin(self) -> None:
        """Begin without a thread and a file. After a fork, locks can be held by threads that do not exist, and lines are the parent's."""
        self._close_file()
        self._lock, self._closing = threading.RLock(), threading.Event()
        self._queue: SimpleQueue[bytes] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._size, self._segments, self._queued, self._error = 0, 0, 0, ""
        self._lost, self._unwritten = Counter[str](), Counter[str]()

    @property
    def lost(self) -> dict[str, int]:
        """Return the numbers of lost records by reason."""
        with self._lock:
            return dict(self._lost)

    def put(self, line: bytes) -> None:
        """Queue a line with its newline, or count it if the memory is full."""
        size = len(line) + _OVERHEAD
        with self._lock:
            full = self._queued + size > self._memory_bytes
            if not full and not self._closing.is_set():
                self._wake(line)
                self._queued += size
                return
        self.lose("memory" if full else "closed")

    def lose(self, reason: str, detail: str = "", count: int = 1) -> None:
        """Count lost records: by reason, and in the log by reason and detail. The first of a reason is a warning."""
        with self._lock, contextlib.suppress(RuntimeError):  # no thread starts while Python ends
            first, quiet = not self._lost[reason], not self._unwritten
            self._lost[reason] += count
            self._unwritten[f"{reason}: {detail}" if detail and len(self._unwritten) < _MOST_CAUSES else reason] += count
            if quiet and not self._closing.is_set():
                self._wake(b"")
        if first:
            _LOGGER.warning("the log %s lost a record or a part of one (%s: %s); later ones are counted only", self._folder, reason, detail)

    def close(self) -> None:
        """Write what is queued and end the thread. Later records are counted as lost."""
        with self._lock:
            self._closing.set()
            self._queue.put(b"")
        if self._thread:
            self._thread.join(_EXIT_SECONDS)
        _OPEN.discard(self)

    def _wake(self, line: bytes) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="query log", daemon=True)
            thread.start()
            self._thread = thread
        self._queue.put(line)

    def _run(self) -> None:
        ended = False
        while not ended:
            lines = [self._queue.get()]
            # The other half is for writing: a line is in the file within `flush_seconds`.
            self._closing.wait(self._flush_seconds / 2)
            ended = self._closing.is_set()
            with contextlib.suppress(Empty):
                while True:
                    lines.append(self._queue.get_nowait())
            lines = [line for line in lines if line]
            try:
                self._write(b"".join(lines))
            except Exception as error:  # the thread must live
                self.lose("write", type(error).__name__, len(lines))
            with self._lock:
                self._queued -= sum(map(len, lines)) + _OVERHEAD * len(lines)
        self._close_file()

    def _write(self, lines: bytes) -> None:
        if lines and (failed := self._append(lines)):
            self.lose("write", self._error, failed)
        with self._lock:
            lost, self._unwritten = self._unwritten, Counter()
        if lost and self._append(orjson.dumps({"time": utc_now(), "lost": lost}, option=orjson.OPT_APPEND_NEWLINE)):
            with self._lock:
                self._unwritten += lost
                self._queue.put(b"")

    def _append(self, lines: bytes) -> int:
        """Append lines to the segment, and return how many could not be written."""
        written = whole = 0
        try:
            self._open_file()
            while written < len(lines):
                written += os.write(self._file, memoryview(lines)[written:])
                whole = lines.rfind(b"\n", 0, written) + 1
            os.fsync(self._file)
        except OSError as error:
            self._error = str(error)
            # Without fsync no line is certain to be in the file.
            whole = whole if written < len(lines) else 0
            try:  # no part of a line stays, also on a full disk
                os.ftruncate(self._file, self._size + whole)
            except OSError:
                self._close_file()
        self._size += whole
        return lines.count(b"\n", whole)

    def _open_file(self) -> None:
        if self._size >= self._segment_bytes:
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
                try:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    sync(self._folder)
                except BlockingIOError:  # a reader was faster, and may delete it
                    self._close_file()
                except OSError:
                    pass  # not every file system has locks, or folders to sync

    def _close_file(self) -> None:
        # Forgotten first: a process forked meanwhile must not close the number again.
        file, self._file = self._file, -1
        if file >= 0:
            with contextlib.suppress(OSError):
                os.close(file)


_OPEN: set[LogWriter] = set()


def _for_all(action: str) -> None:
    for writer in tuple(_OPEN):
        getattr(writer, action)()


atexit.register(_for_all, "close")
os.register_at_fork(after_in_child=lambda: _for_all("begin"))
