"""The base of caches in one SQLite file in WAL mode: rows of a key, a value and a digest, safe for many processes."""

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from filelock import FileLock

from workbench.core import batching
from workbench.core.errors import StoreError
from workbench.core.files import store_errors
from workbench.core.text.formatting import plural
from workbench.core.text.progress import notice

# A row as SQLite returns it: key, value, digest. A damaged one can have values of any type.
Row = tuple[Any, Any, Any]

KEY_BYTES = 16
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


@dataclass(frozen=True)
class CacheFormat:
    """The table of a cache, and the words for it in messages.

    `item` is the name of the column with the values, and `items` its plural. `again` says how missing items are obtained. `version` is
    SQLite's user_version. `value_faults` describes the values that no version has written, by place. `foreign_table` is the table of another
    cache, whose file can be in the place of this one. `old_table` is the table of an earlier version, which had no digests.
    """

    name: str
    item: str
    items: str
    again: str
    table: str
    version: int
    value_faults: Callable[[Sequence[bytes]], dict[int, str]]
    foreign_table: str
    old_table: str = ""

    def counted(self, n: int) -> str:
        return plural(n, self.item, self.items)

    def row_fault(self, row: Row) -> str:
        """Return how a row differs from a row that was written, or an empty text: types and digest. See `value_faults` for the rest."""
        key, value, digest = row
        for name, part in (("key", key), (self.item, value), ("digest", digest)):
            if type(part) is not bytes:
                return f"its {name} is {type(part).__name__}, not bytes"
        return "" if digest == digest_of(key, value) else "its digest does not match"

    def faults(self, rows: Sequence[Row]) -> dict[int, str]:
        faults = {place: fault for place, row in enumerate(rows) if (fault := self.row_fault(row))}
        intact = [place for place in range(len(rows)) if place not in faults]
        return faults | {intact[number]: fault for number, fault in self.value_faults([rows[place][1] for place in intact]).items()}


class SqliteCache:
    """Values by 16-byte keys. Each batch is one commit, so a killed run leaves only complete batches.

    Every row has a digest, which each read checks. A damaged row is named on stderr and deleted.
    """

    format: ClassVar[CacheFormat]

    def __init__(self, path: Path) -> None:
        self.path = path
        with store_errors(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._connected() as connection:
            prepare(connection, path, self.format)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection for one call. SQLite's connections cannot cross a fork or a thread, and opening one takes microseconds."""
        with sqlite_errors(self.path, self.format), store_errors(self.path), contextlib.closing(opened(self.path)) as connection:
            use_wal(connection)
            connection.execute("PRAGMA synchronous=NORMAL")
            yield connection

    @contextlib.contextmanager
    def open_connection(self) -> Iterator[None]:
        """Keep the file open during many commits, since closing the last connection writes the log back and waits for the disk."""
        with self._connected() as connection:
            # SQLite opens the file on the first read.
            connection.execute(f"SELECT 1 FROM {self.format.table} LIMIT 1").fetchall()
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

    def _insert(self, values: Iterable[tuple[bytes, bytes]]) -> None:
        """Commit a batch of keys with their values in one transaction. A key keeps its first value."""
        rows = [(key, value, digest_of(key, value)) for key, value in values]
        if rows:
            with self._connected() as connection, connection:
                connection.executemany(f"INSERT OR IGNORE INTO {self.format.table} VALUES (?, ?, ?)", rows)

    def _present(self, keys: Sequence[bytes]) -> set[bytes]:
        return {key for rows in self._select("key", keys) for (key,) in rows}

    def _rows(self, keys: Sequence[bytes]) -> Iterator[list[Row]]:
        return self._select(f"key, {self.format.item}, digest", keys)

    def _delete(self, faults: Mapping[Any, str]) -> None:
        """Delete damaged rows and name the first of them."""
        with self._connected() as connection, connection:
            connection.executemany(f"DELETE FROM {self.format.table} WHERE key = ?", [(key,) for key in faults])
        rows = plural(len(faults), "damaged row")
        notice(f"the {self.format.name} {self.path} has {rows}, {self.format.again}: {named_rows(faults)}")

    def _select(self, columns: str, keys: Sequence[bytes]) -> Iterator[list[Any]]:
        with self._connected() as connection:
            for part in batching.blocks(len(keys), _KEYS_A_QUERY):
                marks = ",".join("?" * len(keys[part]))
                yield connection.execute(f"SELECT {columns} FROM {self.format.table} WHERE key IN ({marks})", keys[part]).fetchall()


def digest_of(key: bytes, value: bytes) -> bytes:
    """Return 16 bytes of BLAKE2b of a key and the bytes of its value."""
    return hashlib.blake2b(key + value, digest_size=KEY_BYTES).digest()


def shown_key(key: object) -> str:
    """Return a key for people: hexadecimal, or another value's representation in short."""
    return key.hex() if isinstance(key, bytes) else repr(key)[:40]


def named_rows(faults: Mapping[Any, str]) -> str:
    """Name the first damaged rows by their keys, with the damage, and count the others."""
    named = [f"{shown_key(key)} ({fault})" for key, fault in list(faults.items())[:_NAMED_ROWS]]
    return ", ".join(named) + (f" and {len(faults) - _NAMED_ROWS} more" if len(faults) > _NAMED_ROWS else "")


def opened(path: Path, **options: Any) -> sqlite3.Connection:
    """Open a cache's file. Text, which only a damaged file contains, is never an error of decoding."""
    connection: sqlite3.Connection = sqlite3.connect(path, timeout=_WAIT_SECONDS, **options)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def use_wal(connection: sqlite3.Connection) -> None:
    """Set the WAL mode, and wait for a process that sets it or writes at the same moment, which SQLite itself does not do for a new file."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def is_damage(error: Exception) -> bool:
    """Return True if an error means that the file is damaged, rather than locked or unreachable.

    Damage has many codes: SQLITE_CORRUPT, SQLITE_NOTADB, and SQLITE_ERROR for a table or a column whose name has changed.
    """
    code = getattr(error, "sqlite_errorcode", None)
    # The low byte of an extended code is its primary code.
    return isinstance(error, UnicodeDecodeError) or (code is not None and code & 0xFF not in _UNREACHABLE)


def message_of(error: Exception) -> str:
    """Return the message of one of SQLITE_ERRORS."""
    return error.object.decode("utf-8", "replace") if isinstance(error, UnicodeDecodeError) else str(error)


@contextlib.contextmanager
def sqlite_errors(path: Path, cache: CacheFormat) -> Iterator[None]:
    """Turn errors of SQLite into one line with a fix."""
    try:
        yield
    except SQLITE_ERRORS as error:
        # Suggest deleting only a damaged file: a locked or unreachable one contains values that may have cost money.
        repair = (
            f"run workbench doctor, which keeps its intact {cache.items}, or delete it and run again: its {cache.items} are {cache.again}"
        )
        fix = repair if is_damage(error) else "check that it can be written and run again"
        raise StoreError(f"the {cache.name} {path} cannot be used ({message_of(error)})", fix) from error


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of the cache's table, or 0 for a new file and for the first version."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def unusable(connection: sqlite3.Connection, path: Path, cache: CacheFormat) -> tuple[str, str] | None:
    """Return why a file is not used, and the fix, for another cache and for a later version, which stay as they are."""
    if has_table(connection, cache.foreign_table):
        return f"{path} is not the {cache.name}: it has the table {cache.foreign_table}", "put the right file there, or move it away"
    if (version := version_of(connection)) > cache.version:
        what = f"the {cache.name} {path} has version {version}, and this Workbench uses version {cache.version}"
        return what, "update Workbench, or choose another --outputs"
    return None


def prepare(connection: sqlite3.Connection, path: Path, cache: CacheFormat) -> None:
    """Create the table. Rows of a version without digests are not used. Raises StoreError for another cache and for a later version."""
    if found := unusable(connection, path, cache):
        raise StoreError(*found)
    if version_of(connection) == cache.version:
        return
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {cache.table} (key BLOB PRIMARY KEY, {cache.item} BLOB NOT NULL, digest BLOB NOT NULL)"
        )
        # The table stays for processes of the earlier version that use it now.
        old = old_rows(connection, cache) if version_of(connection) < cache.version else 0
        connection.execute(f"PRAGMA user_version={cache.version}")
    if old:
        what = f"the {cache.name} {path} has {cache.counted(old)} of an earlier Workbench, which wrote no digests"
        notice(f"{what}: they are {cache.again} when needed, and workbench doctor removes the old ones")


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Return True if a cache has a table."""
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)).fetchone())


def old_rows(connection: sqlite3.Connection, cache: CacheFormat) -> int:
    """Count the unused rows of a version without digests."""
    if not has_table(connection, cache.old_table):
        return 0
    return int(connection.execute(f"SELECT count(*) FROM {cache.old_table}").fetchone()[0])
