"""Cache vectors in one SQLite file in WAL mode, keyed by the text and everything else that determines a vector."""

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.core import batching
from workbench.core.files import store_errors
from workbench.errors import StoreError

Vectors = NDArray[np.float32]

_KEYS_A_QUERY = 500
_WAIT_SECONDS = 60


class VectorCache:
    """float32 vectors by 16-byte keys, safe for many processes. Each batch is one commit, so a killed run leaves only complete batches."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with store_errors(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._connected() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection for one call. SQLite's connections cannot cross a fork or a thread, and opening one takes microseconds."""
        try:
            with store_errors(self.path), contextlib.closing(sqlite3.connect(self.path, timeout=_WAIT_SECONDS)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
                yield connection
        except sqlite3.DatabaseError as error:
            # Suggest deleting only a damaged file: a locked or unreachable one contains vectors that may have cost money.
            damaged = not isinstance(error, sqlite3.OperationalError)
            fix = "delete it and run again to recompute its vectors" if damaged else "check that it can be written and run again"
            raise StoreError(f"the vector cache {self.path} cannot be used ({error})", fix) from error

    @contextlib.contextmanager
    def open_connection(self) -> Iterator[None]:
        """Keep the file open during many commits, since closing the last connection writes the log back and waits for the disk."""
        with self._connected() as connection:
            # SQLite opens the file on the first read.
            connection.execute("SELECT 1 FROM vectors LIMIT 1").fetchall()
            yield

    def put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Commit a batch in one transaction."""
        rows = [(key, vector.astype("<f4").tobytes()) for key, vector in zip(keys, vectors, strict=True)]
        if rows:
            with self._connected() as connection, connection:
                connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

    def present(self, keys: Sequence[bytes]) -> set[bytes]:
        """Return the keys that have a vector."""
        return {key for (key,) in self._select("key", keys)}

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        """Return the vectors of those keys that have one, each float32 of the model's dimension."""
        return {key: np.frombuffer(blob, dtype="<f4") for key, blob in self._select("key, vector", keys)}

    def _select(self, columns: str, keys: Sequence[bytes]) -> list[tuple[bytes, ...]]:
        rows: list[tuple[bytes, ...]] = []
        with self._connected() as connection:
            for part in batching.blocks(len(keys), _KEYS_A_QUERY):
                marks = ",".join("?" * len(keys[part]))
                rows += connection.execute(f"SELECT {columns} FROM vectors WHERE key IN ({marks})", keys[part]).fetchall()
        return rows
