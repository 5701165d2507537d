"""Vectors by content: one SQLite file in WAL mode, keyed by everything that decides a vector and by its text."""

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.core.files import store_errors
from workbench.errors import StoreError

Vectors = NDArray[np.float32]

_AT_ONCE = 500
_WAIT_SECONDS = 60


class VectorCache:
    """float32 vectors by 16-byte keys; a batch is committed whole, so a killed run leaves whole batches. Safe for many processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with store_errors(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        self._run("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")

    def _connect(self) -> sqlite3.Connection:
        # A connection a call: SQLite's may not cross a fork or a thread, and opening costs microseconds.
        connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        return connection

    @contextlib.contextmanager
    def held_open(self) -> Iterator[None]:
        """For the time of many commits: closing the last connection to a file writes its log back and waits for the disk."""
        try:
            connection = self._connect()
        except sqlite3.DatabaseError as error:
            raise self._broken(error) from error
        try:
            # The file is opened by its first reading.
            connection.execute("SELECT 1 FROM vectors LIMIT 1").fetchall()
            yield
        finally:
            connection.close()

    def _run(self, statement: str, rows: Sequence[tuple[bytes, bytes]] = ()) -> None:
        with store_errors(self.path):
            try:
                connection = self._connect()
                try:
                    with connection:
                        connection.executemany(statement, rows) if rows else connection.execute(statement)
                finally:
                    connection.close()
            except sqlite3.DatabaseError as error:
                raise self._broken(error) from error

    def _broken(self, error: sqlite3.DatabaseError) -> Exception:
        if "full" in str(error):
            return StoreError(f"the disk is full at {self.path}", "free space and run again: what was finished is kept")
        # Only a damaged file is worth deleting: a locked or unreachable one holds vectors that were paid for.
        damaged = not isinstance(error, sqlite3.OperationalError)
        fix = "delete it and run again: its vectors will be computed anew" if damaged else "see that it can be written and run again"
        return StoreError(f"the vector cache {self.path} cannot be used ({error})", fix)

    def put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Commit a batch whole."""
        rows = [(key, vector.astype("<f4").tobytes()) for key, vector in zip(keys, vectors, strict=True)]
        if rows:
            self._run("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

    def present(self, keys: Sequence[bytes]) -> set[bytes]:
        """Which of the keys are there."""
        return {key for (key,) in self._select("key", keys)}

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        """The vectors of the keys that are there, each float32 of the model's dimension."""
        return {key: np.frombuffer(blob, dtype="<f4") for key, blob in self._select("key, vector", keys)}

    def _select(self, columns: str, keys: Sequence[bytes]) -> list[tuple[bytes, ...]]:
        found: list[tuple[bytes, ...]] = []
        try:
            connection = self._connect()
            try:
                for first in range(0, len(keys), _AT_ONCE):
                    part = keys[first : first + _AT_ONCE]
                    marks = ",".join("?" * len(part))
                    found += connection.execute(f"SELECT {columns} FROM vectors WHERE key IN ({marks})", part).fetchall()
            finally:
                connection.close()
        except sqlite3.DatabaseError as error:
            raise self._broken(error) from error
        return found
