"""Cache vectors in one SQLite file in WAL mode, keyed by the text and everything else that determines a vector."""

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from workbench.core import batching
from workbench.core.files import store_errors
from workbench.core.formatting import plural
from workbench.core.progress import notice
from workbench.errors import StoreError
from workbench.storage.vector_rows import FLOAT, digest_of, matrix_of, row_fault, shown_key, vector_faults

Vectors = NDArray[np.float32]

# The version of the table, in SQLite's user_version. The first one had a table `vectors` without digests.
VERSION = 2
TABLE = "checked_vectors"
OLD_TABLE = "vectors"
_KEYS_A_QUERY = 500
_WAIT_SECONDS = 60
_NAMED_ROWS = 3
# Python raises UnicodeDecodeError if SQLite's message contains damaged text of the file.
SQLITE_ERRORS = (sqlite3.DatabaseError, UnicodeDecodeError)
# Primary result codes of a file that may be intact (sqlite.org/rescode.html).
_UNREACHABLE = (
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_AUTH,
)


class VectorCache:
    """float32 vectors by 16-byte keys, safe for many processes. Each batch is one commit, so a killed run leaves only complete batches.

    Every row has a digest, which each read checks. A damaged row is named on stderr and deleted, so that its vector is computed again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with store_errors(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._connected() as connection:
            prepare(connection, path)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection for one call. SQLite's connections cannot cross a fork or a thread, and opening one takes microseconds."""
        with sqlite_errors(self.path), store_errors(self.path), contextlib.closing(opened(self.path)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            yield connection

    @contextlib.contextmanager
    def open_connection(self) -> Iterator[None]:
        """Keep the file open during many commits, since closing the last connection writes the log back and waits for the disk."""
        with self._connected() as connection:
            # SQLite opens the file on the first read.
            connection.execute(f"SELECT 1 FROM {TABLE} LIMIT 1").fetchall()
            yield

    @property
    def way_to_empty(self) -> str:
        """Return the instruction for emptying the cache, for the fix of an error."""
        return f"delete {self.path}"

    @contextlib.contextmanager
    def lock(self, *names: str) -> Iterator[None]:
        """Hold a lock that all processes with this cache share."""
        path = self.path.parent.joinpath(*names).with_suffix(".lock")
        with store_errors(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(path):
                yield

    def put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Commit a batch in one transaction. Raises StoreError for a vector that has no direction, such as one with NaN."""
        for place, fault in vector_faults(vectors).items():
            raise StoreError(f"a vector cannot be cached for key {shown_key(keys[place])}: {fault}", "check the embedder")
        values = [vector.astype(FLOAT).tobytes() for vector in vectors]
        rows = [(key, value, digest_of(key, value)) for key, value in zip(keys, values, strict=True)]
        if rows:
            with self._connected() as connection, connection:
                connection.executemany(f"INSERT OR IGNORE INTO {TABLE} VALUES (?, ?, ?)", rows)

    def present(self, keys: Sequence[bytes]) -> set[bytes]:
        """Return the keys that have a vector."""
        return {key for rows in self._select("key", keys) for (key,) in rows}

    def get(self, keys: Sequence[bytes], dimension: int = 0) -> dict[bytes, Vectors]:
        """Return the vectors of those keys that have one, each float32 (dimension), by default the dimension that most of them have.

        Damaged rows, also those of another dimension, are named on stderr and deleted.
        """
        vectors: dict[bytes, Vectors] = {}
        faults: dict[Any, str] = {}
        for rows in self._select("key, vector, digest", keys):
            faults |= {row[0]: fault for row in rows if (fault := row_fault(row))}
            values = {key: value for key, value, _ in rows if key not in faults}
            dimension = dimension or _most_common([len(value) // FLOAT.itemsize for value in values.values()])
            for key in [key for key, value in values.items() if len(value) != dimension * FLOAT.itemsize]:
                faults[key] = f"its vector has {len(values.pop(key)) // FLOAT.itemsize} of {dimension} dimensions"
            intact, matrix = list(values), matrix_of(list(values.values()))
            faults |= {intact[place]: fault for place, fault in vector_faults(matrix).items()}
            vectors.update(zip(intact, matrix, strict=True))
        if faults:
            self._delete(faults)
        return {key: vector for key, vector in vectors.items() if key not in faults} if faults else vectors

    def _delete(self, faults: Mapping[bytes, str]) -> None:
        """Delete damaged rows and name the first of them."""
        with self._connected() as connection, connection:
            connection.executemany(f"DELETE FROM {TABLE} WHERE key = ?", [(key,) for key in faults])
        notice(f"the vector cache {self.path} has {plural(len(faults), 'damaged row')}, computed again: {named_rows(faults)}")

    def _select(self, columns: str, keys: Sequence[bytes]) -> Iterator[list[Any]]:
        with self._connected() as connection:
            for part in batching.blocks(len(keys), _KEYS_A_QUERY):
                marks = ",".join("?" * len(keys[part]))
                yield connection.execute(f"SELECT {columns} FROM {TABLE} WHERE key IN ({marks})", keys[part]).fetchall()


def _most_common(sizes: Sequence[int]) -> int:
    return max(counts, key=counts.__getitem__) if (counts := Counter(sizes)) else 0


def opened(path: Path, **options: Any) -> sqlite3.Connection:
    """Open a cache's file. Text, which only a damaged file contains, is never an error of decoding."""
    connection: sqlite3.Connection = sqlite3.connect(path, timeout=_WAIT_SECONDS, **options)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def is_damage(error: Exception) -> bool:
    """Return whether an error means that the file is damaged, rather than locked or unreachable.

    Damage has many codes: SQLITE_CORRUPT, SQLITE_NOTADB, and SQLITE_ERROR for a table or a column whose name has changed.
    """
    code = getattr(error, "sqlite_errorcode", None)
    # The low byte of an extended code is its primary code.
    return isinstance(error, UnicodeDecodeError) or (code is not None and code & 0xFF not in _UNREACHABLE)


def message_of(error: Exception) -> str:
    """Return the message of one of SQLITE_ERRORS."""
    return error.object.decode("utf-8", "replace") if isinstance(error, UnicodeDecodeError) else str(error)


@contextlib.contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into one line with a fix."""
    try:
        yield
    except SQLITE_ERRORS as error:
        # Suggest deleting only a damaged file: a locked or unreachable one contains vectors that may have cost money.
        repair = "run workbench doctor, which keeps its intact vectors, or delete it and run again to recompute its vectors"
        fix = repair if is_damage(error) else "check that it can be written and run again"
        raise StoreError(f"the vector cache {path} cannot be used ({message_of(error)})", fix) from error


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of the cache's table, or 0 for a new file and for the first version."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Create the table. Vectors of the first version, which has no digests, are not used. Raises StoreError for a later version."""
    version = version_of(connection)
    if version > VERSION:
        what = f"the vector cache {path} has version {version}, and this Workbench uses version {VERSION}"
        raise StoreError(what, "update Workbench, or choose another --outputs")
    if version == VERSION:
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"CREATE TABLE IF NOT EXISTS {TABLE} (key BLOB PRIMARY KEY, vector BLOB NOT NULL, digest BLOB NOT NULL)")
        # The table stays for processes of the earlier version that use it now.
        old = old_rows(connection) if version_of(connection) < VERSION else 0
        connection.execute(f"PRAGMA user_version={VERSION}")
    if old:
        what = f"the vector cache {path} has {plural(old, 'vector')} of an earlier Workbench, which wrote no digests"
        notice(f"{what}: they are computed again when needed, and workbench doctor removes the old ones")


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Return whether a cache has a table."""
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)).fetchone())


def old_rows(connection: sqlite3.Connection) -> int:
    """Count the unused vectors of the first version."""
    if not has_table(connection, OLD_TABLE):
        return 0
    return int(connection.execute(f"SELECT count(*) FROM {OLD_TABLE}").fetchone()[0])


def named_rows(faults: Mapping[bytes, str]) -> str:
    """Name the first damaged rows by their keys, with the damage, and count the others."""
    named = [f"{shown_key(key)} ({fault})" for key, fault in list(faults.items())[:_NAMED_ROWS]]
    return ", ".join(named) + (f" and {len(faults) - _NAMED_ROWS} more" if len(faults) > _NAMED_ROWS else "")
