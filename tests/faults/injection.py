"""Make one operation of this process fail: the n-th read, write, fsync, rename or SQLite call below a folder, or the n-th kernel message.

Python's own files are replaced one level above the system call, so a fault hits exactly one call of `write(2)` or `read(2)`. Files that
Chroma writes, and memory-mapped arrays, are outside: those are damaged at rest instead (`damage.py`). A request's fault is the server's
(`served.py`).
"""

import builtins
import contextlib
import errno
import io
import json
import os
import re
import shutil
import signal
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jupyter_client.session
import numpy as np
import psutil
import pyarrow.parquet as pq

Operation = Literal["read", "write", "fsync", "rename", "sqlite", "message", "request"]
Kind = Literal["error", "full", "kill", "torn"]

_NUMBERS = {"error": errno.EIO, "full": errno.ENOSPC}
# Of a statement of SQL, in the name of its place.
_LONGEST = 20
_VARYING = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8,}|[0-9]+")
_SQLITE = {"error": ("disk I/O error", sqlite3.SQLITE_IOERR), "full": ("database or disk is full", sqlite3.SQLITE_FULL)}


@dataclass(frozen=True)
class Fault:
    """What happens at the `number`-th `operation`.

    `error` and `full` raise what the system raises for a broken and for a full disk; a full one still takes half of a write by descriptor.
    `kill` ends the process without any clean-up before the operation, `torn` after half of it: half of the bytes are written, or the file
    is renamed. A message's `error` garbles it, and its `kill` ends the kernel. A request's `error` is the status 500, its `torn` half a reply.
    """

    operation: Operation
    number: int
    kind: Kind

    def __str__(self) -> str:
        return f"{self.operation} {self.number} {self.kind}"


def place_of(path: str) -> str:
    """Return a path without its numbers and digests, which differ between files of one kind."""
    return _VARYING.sub("#", path)


def kill_kernel() -> None:
    """Kill the first kernel that this process's server of kernels has forked."""
    for process in psutil.Process().children(recursive=True):
        # One may end meanwhile, or be a zombie already.
        with contextlib.suppress(psutil.Error):
            if "kernel_server" in " ".join(process.cmdline()) and process.children():
                process.children()[0].kill()
                return


class Injector:
    """Notes the places of the operations of this process below `folder`, and lets `fault` happen."""

    def __init__(self, folder: Path, fault: Fault | None) -> None:
        self._folder, self._fault = os.fspath(folder), fault
        self.places: dict[Operation, list[str]] = {}

    def place(self, path: Any) -> str:
        """Return the place of a path or a descriptor below the folder, and an empty text for any other."""
        with contextlib.suppress(TypeError, ValueError, OSError):
            name = os.readlink(f"/proc/self/fd/{path}") if isinstance(path, int) else os.path.abspath(os.fspath(path))
            return place_of(str(name).removeprefix(self._folder)) if str(name).startswith(self._folder) else ""
        return ""

    def hit(self, operation: Operation, place: str, half: Callable[[], object] = lambda: None, short: bool = False) -> bool:
        """Note an operation, and fail it if its turn has come. `half` does half of it.

        With `short` the operation can say that it did half: returns whether it has to, in place of the error of a full disk.
        """
        places, fault = self.places.setdefault(operation, []), self._fault
        places.append(place)
        if fault is None or (operation, len(places)) != (fault.operation, fault.number):
            return False
        if short and fault.kind == "full":
            return True
        if fault.kind == "torn":
            half()
        if fault.kind in ("kill", "torn"):
            os.kill(os.getpid(), signal.SIGKILL)
        if operation == "sqlite":
            message, code = _SQLITE[fault.kind]
            error = sqlite3.OperationalError(message)
            error.sqlite_errorcode = code
            raise error
        raise OSError(_NUMBERS[fault.kind], os.strerror(_NUMBERS[fault.kind]), "injected")

    def install(self) -> None:
        """Replace the functions that reach files, SQLite and kernels."""
        self._files()
        self._paths()
        self._sqlite()
        self._messages()

    def _files(self) -> None:
        injector, plain = self, io.open

        class RawFile(io.FileIO):
            place = ""

            def write(self, data: Any) -> int:
                view = memoryview(data).cast("B")
                injector.hit("write", self.place, lambda: super(RawFile, self).write(view[: len(view) // 2]))
                return super().write(data)

            def readinto(self, buffer: Any) -> int | None:
                injector.hit("read", self.place)
                return super().readinto(buffer)

            def readall(self) -> bytes:
                injector.hit("read", self.place)
                return super().readall()

            def read(self, size: int | None = -1) -> bytes:
                injector.hit("read", self.place)
                return super().read(-1 if size is None else size)

        def opened(
            file: Any,
            mode: str = "r",
            buffering: int = -1,
            encoding: str | None = None,
            errors: str | None = None,
            newline: str | None = None,
            closefd: bool = True,
            opener: Any = None,
        ) -> Any:
            place = injector.place(file)
            if not place:
                return plain(file, mode, buffering, encoding, errors, newline, closefd, opener)
            raw = RawFile(file, mode.replace("b", "").replace("t", ""), closefd, opener)
            raw.place = place
            if buffering == 0:
                return raw
            layer = io.BufferedRandom if "+" in mode else io.BufferedReader if "r" in mode else io.BufferedWriter
            size = buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
            buffered: Any = layer(raw, size)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

        builtins.open = io.open = opened
        # Both would pass bytes to the system beside the file object. Both are private, and no type is made for replacing them.
        np.lib._format_impl.isfileobj = lambda _: False  # type: ignore[assignment]
        shutil._USE_CP_SENDFILE = False  # type: ignore[attr-defined]
        pq.ParquetWriter.write_table = self._before("write", "parquet", pq.ParquetWriter.write_table)

    def _before(self, operation: Operation, place: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def failing(*values: Any, **options: Any) -> Any:
            self.hit(operation, place)
            return call(*values, **options)

        return failing

    def _paths(self) -> None:
        write = os.write

        def synced(descriptor: int) -> None:
            # Not flushed: the system keeps what a killed process wrote.
            if place := self.place(descriptor):
                self.hit("fsync", place)

        def written(descriptor: int, content: Any) -> int:
            view = memoryview(content).cast("B")
            place = self.place(descriptor)
            if place and self.hit("write", place, lambda: write(descriptor, view[: len(view) // 2]), short=True):
                return write(descriptor, view[: len(view) // 2])
            return write(descriptor, content)

        def moving(move: Callable[..., None]) -> Callable[..., None]:
            def moved(source: Any, target: Any, **options: Any) -> None:
                if place := self.place(target):
                    self.hit("rename", place, lambda: move(source, target, **options))
                move(source, target, **options)

            return moved

        os.write = written  # type: ignore[assignment]  # any arguments
        os.fsync, os.rename, os.replace = synced, moving(os.rename), moving(os.replace)  # type: ignore[assignment]  # any arguments

    def _sqlite(self) -> None:
        injector = self
        connect: Callable[..., sqlite3.Connection] = sqlite3.connect

        class Connection(sqlite3.Connection):
            place = ""

            def execute(self, *values: Any) -> Any:
                injector.hit("sqlite", f"{self.place} {str(values[0])[:_LONGEST]}")
                return super().execute(*values)

            def executemany(self, *values: Any) -> Any:
                injector.hit("sqlite", f"{self.place} {str(values[0])[:_LONGEST]}")
                return super().executemany(*values)

            def commit(self) -> None:
                injector.hit("sqlite", f"{self.place} commit", super().commit)
                super().commit()

            def __exit__(self, *error: Any) -> Any:
                # The commit of a `with` block.
                injector.hit("sqlite", f"{self.place} exit", lambda: super(Connection, self).__exit__(*error))
                return super().__exit__(*error)

        def connected(database: Any, *values: Any, **options: Any) -> Any:
            place = injector.place(database)
            if not place:
                return connect(database, *values, **options)
            connection = connect(database, *values, factory=Connection, **options)
            connection.place = place  # type: ignore[attr-defined]
            return connection

        sqlite3.connect = connected

    def _messages(self) -> None:
        session = jupyter_client.session.Session
        deserialize, fault = session.deserialize, self._fault

        def received(own: Any, parts: Any, *values: Any, **options: Any) -> Any:
            messages = self.places.setdefault("message", [])
            messages.append(json.loads(parts[1])["msg_type"])
            if fault and (fault.operation, fault.number) == ("message", len(messages)):
                if fault.kind == "error":
                    raise ValueError("Invalid Signature: injected")
                kill_kernel()
            return deserialize(own, parts, *values, **options)

        session.deserialize = received
