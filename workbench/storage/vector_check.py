"""Check the vector cache row by row, and rebuild a file that SQLite cannot read from the rows that are intact."""

import fcntl
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from workbench.core.formatting import plural
from workbench.core.progress import ProgressBar
from workbench.errors import StoreError
from workbench.storage.findings import Finding
from workbench.storage.vector_cache import OLD_TABLE, TABLE, VERSION, named_rows, old_rows, opened, prepare, version_of
from workbench.storage.vector_rows import Row, matrix_of, row_fault, vector_faults

_ROWS = 4_096
# The fewest bytes of a row, for the highest number that a row can have.
_ROW_BYTES = 64
# The bytes of the file that SQLite locks while it uses it (sqlite.org/fileformat: the lock-byte page).
_LOCK_BYTES = (512, 0x40000000)
# Errors of a file that is not damaged.
_UNREACHABLE = ("locked", "unable to open", "readonly", "disk")


def check_vectors(path: Path, repair: bool) -> Iterator[Finding]:
    """Yield the damaged and unused parts of a vector cache, after deleting or rebuilding them if `repair`."""
    if not path.exists():
        return
    try:
        with closing(opened(path)) as connection:
            version = version_of(connection)
            if version > VERSION:
                what = f"the vector cache {path} has version {version}, and this Workbench uses version {VERSION}"
                yield Finding("stuck", what, "update Workbench")
                return
            damage = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
            if damage == "ok":
                yield from _check_rows(connection, path, repair)
    except sqlite3.DatabaseError as error:
        if any(word in str(error) for word in _UNREACHABLE):
            yield Finding("stuck", f"the vector cache {path} cannot be used ({error})", "check that it can be written and run doctor again")
            return
        damage = str(error)
    if damage != "ok":
        yield _rebuild(path, damage) if repair else Finding("damage", _damaged(path, damage), "rebuilt from its intact rows")
    yield from _drop_old(path, repair)


def _damaged(path: Path, damage: str) -> str:
    return f"the vector cache {path} is damaged ({' '.join(damage.split())})"


def _check_rows(connection: sqlite3.Connection, path: Path, repair: bool) -> Iterator[Finding]:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (TABLE,)).fetchone():
        return
    faults: dict[Any, str] = {}
    places: list[tuple[int]] = []
    total = connection.execute(f"SELECT count(*) FROM {TABLE}").fetchone()[0]
    cursor = connection.execute(f"SELECT rowid, key, vector, digest FROM {TABLE} NOT INDEXED")
    with ProgressBar(total=total, desc="check vectors", unit="row", disable=None) as bar:
        while rows := cursor.fetchmany(_ROWS):
            for place, fault in _faults([row[1:] for row in rows]).items():
                faults[rows[place][1]] = fault
                places.append((rows[place][0],))
            bar.update(len(rows))
    if faults:
        if repair:
            with connection:
                connection.executemany(f"DELETE FROM {TABLE} WHERE rowid = ?", places)
        what = f"the vector cache {path} has {plural(len(places), 'damaged row')}: {named_rows(faults)}"
        yield Finding("damage", what, "deleted, the next sweep computes them again")


def _faults(rows: list[Row]) -> dict[int, str]:
    """Return the faults of rows by their places."""
    faults = {place: fault for place, row in enumerate(rows) if (fault := row_fault(row))}
    intact = [(len(row[1]), place) for place, row in enumerate(rows) if place not in faults]
    for _, group in groupby(intact, key=lambda sized: sized[0]):
        places = [place for _, place in group]
        faults |= {places[number]: fault for number, fault in vector_faults(matrix_of([rows[place][1] for place in places])).items()}
    return faults


def _rebuild(path: Path, damage: str) -> Finding:
    """Replace the file's content by a new cache with the rows that are intact, unless another process is using it."""
    aside = path.with_name(f"{path.name}.rebuilt")
    aside.unlink(missing_ok=True)
    try:
        with closing(opened(aside)) as target:
            prepare(target, aside)
            with target:
                for rows in _readable(path):
                    faults = _faults(rows)
                    intact = [row for place, row in enumerate(rows) if place not in faults]
                    target.executemany(f"INSERT OR IGNORE INTO {TABLE} VALUES (?, ?, ?)", intact)
            kept = int(target.execute(f"SELECT count(*) FROM {TABLE}").fetchone()[0])
        with _alone(path) as alone:
            if not alone:
                return Finding("stuck", f"{_damaged(path, damage)}, and a sweep is using it", "run doctor again when it has ended")
            for suffix in ("-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            # The same file, not another one renamed into place: a process may be waiting for its lock.
            with aside.open("rb") as source:
                alone.seek(0)
                shutil.copyfileobj(source, alone)
                alone.truncate()
                alone.flush()
    finally:
        aside.unlink(missing_ok=True)
    return Finding(
        "damage", _damaged(path, damage), f"rebuilt with {plural(kept, 'intact vector')}, the next sweep computes the others again"
    )


def _readable(path: Path) -> Iterator[list[Row]]:
    """Yield the rows that SQLite can read, in blocks."""
    with suppress(sqlite3.DatabaseError), closing(opened(path)) as connection:
        connection.execute(f"SELECT key, vector, digest FROM {TABLE} LIMIT 0")
        try:
            last = int(connection.execute(f"SELECT max(rowid) FROM {TABLE}").fetchone()[0] or 0)
        except sqlite3.DatabaseError:
            last = path.stat().st_size // _ROW_BYTES
        for first in ProgressBar(range(1, last + 1, _ROWS), desc="rebuild vectors", unit="block", disable=None):
            yield list(_rows(connection, first, min(first + _ROWS - 1, last)))


def _rows(connection: sqlite3.Connection, first: int, last: int) -> Iterator[Row]:
    """Yield the readable rows with numbers from `first` to `last`, halving the range where SQLite cannot read it."""
    query = f"SELECT key, vector, digest FROM {TABLE} NOT INDEXED WHERE rowid BETWEEN ? AND ?"
    try:
        yield from connection.execute(query, (first, last)).fetchall()
    except sqlite3.DatabaseError:
        if first < last:
            middle = (first + last) // 2
            yield from _rows(connection, first, middle)
            yield from _rows(connection, middle + 1, last)


@contextmanager
def _alone(path: Path) -> Iterator[Any]:
    """Yield the file, locked as SQLite locks it for writing, or None while another process uses it."""
    with path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, *_LOCK_BYTES)
        except OSError:
            yield None
            return
        yield file


def _drop_old(path: Path, repair: bool) -> Iterator[Finding]:
    """Drop the vectors of an earlier version, unless a process is using the file."""
    try:
        with _alone(path) as alone:
            if not alone:
                return
        with closing(opened(path)) as connection:
            if old := old_rows(connection):
                if repair:
                    connection.execute(f"DROP TABLE {OLD_TABLE}")
                    connection.execute("VACUUM")
                yield Finding(
                    "unused", f"the vector cache {path} has {plural(old, 'vector')} of an earlier Workbench, without digests", "deleted"
                )
    except sqlite3.DatabaseError as error:
        if repair:
            raise StoreError(f"the vector cache {path} cannot be used ({error})", "run doctor again") from error
