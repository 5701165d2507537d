"""Check the vector cache row by row, and rebuild a file that SQLite cannot read from the rows that are intact."""

import fcntl
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import reduce
from itertools import groupby, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from workbench.core.formatting import plural
from workbench.core.progress import ProgressBar
from workbench.errors import StoreError
from workbench.storage.findings import Finding
from workbench.storage.vector_cache import (
    OLD_TABLE,
    SQLITE_ERRORS,
    TABLE,
    VERSION,
    has_table,
    is_damage,
    message_of,
    named_rows,
    old_rows,
    opened,
    prepare,
    version_of,
)
from workbench.storage.vector_rows import Row, matrix_of, row_fault, vector_faults

_ROWS = 4_096
# The start of a row in SQLite's file format (sqlite.org/fileformat2.html#record_format): the size of the record's header, and the types of a
# key of 16 bytes, a vector and a digest of 16 bytes. A vector has less than a megabyte.
_RECORD = re.compile(rb"[\x04-\x06](?=\x2c([\x80-\xff]{0,2}[\x00-\x7f])\x2c)")
_KEY_BYTES = 16
# The type of a blob of n bytes is 2n more.
_BLOB = 12
# SQLite's page size by default, the fewest bytes of a page that contain data, and a multiple of every page size.
_PAGE, _LEAST_USABLE, _CHUNK = 4_096, 480, 1 << 22
# The bytes of the file that SQLite locks while it uses it (sqlite.org/fileformat: the lock-byte page).
_LOCK_BYTES = (512, 0x40000000)


def check_vectors(path: Path, repair: bool) -> Iterator[Finding]:
    """Yield the damaged and unused parts of a vector cache, after deleting or rebuilding them if `repair`."""
    if not path.exists():
        return
    header = _header_fault(path)
    try:
        with closing(opened(path)) as connection:
            version = version_of(connection)
            if version > VERSION:
                what = f"the vector cache {path} has version {version}, and this Workbench uses version {VERSION}"
                yield Finding("stuck", what, "update Workbench")
                return
            damage = header or str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
            # Without its table, a file of this version is damaged.
            if damage == "ok" and (version == VERSION or has_table(connection, TABLE)):
                yield from _check_rows(connection, path, repair)
    except SQLITE_ERRORS as error:
        if not is_damage(error):
            yield Finding(
                "stuck",
                f"the vector cache {path} cannot be used ({message_of(error)})",
                "check that it can be written and run doctor again",
            )
            return
        damage = message_of(error)
    if damage != "ok":
        yield _rebuild(path, damage) if repair else Finding("damage", _damaged(path, damage), "rebuilt from its intact rows")
    yield from _drop_old(path, repair)


def _header_fault(path: Path) -> str:
    """Return a fault that SQLite reports as a file without permission to write: a later version of its file format for writing."""
    if not (path.is_file() and os.access(path, os.R_OK)):
        return ""
    with path.open("rb") as file:
        return "the file format in its header is unknown" if file.read(19)[18:] > b"\2" else ""


def _damaged(path: Path, damage: str) -> str:
    return f"the vector cache {path} is damaged ({' '.join(damage.split())})"


def _check_rows(connection: sqlite3.Connection, path: Path, repair: bool) -> Iterator[Finding]:
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
        with _locked_file(path) as file:
            if not file:
                return Finding("stuck", f"{_damaged(path, damage)}, and a sweep is using it", "run doctor again when it has ended")
            kept = _copy_intact(file, aside)
            for suffix in ("-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            # The same file, not another one renamed into place: a process may be waiting for its lock.
            with aside.open("rb") as source:
                file.seek(0)
                shutil.copyfileobj(source, file)
                file.truncate()
                file.flush()
    finally:
        aside.unlink(missing_ok=True)
    return Finding(
        "damage", _damaged(path, damage), f"rebuilt with {plural(kept, 'intact vector')}, the next sweep computes the others again"
    )


def _copy_intact(damaged: BinaryIO, aside: Path) -> int:
    """Write a cache with the intact rows of a damaged one, and return their number."""
    with closing(opened(aside)) as target:
        prepare(target, aside)
        with target:
            for rows in _intact_rows(damaged.fileno()):
                target.executemany(f"INSERT OR IGNORE INTO {TABLE} VALUES (?, ?, ?)", rows)
        return int(target.execute(f"SELECT count(*) FROM {TABLE}").fetchone()[0])


class _PageFile(NamedTuple):
    """A file in SQLite's format, read without its b-trees, since they may be damaged. `usable` is the bytes of a page that contain data."""

    descriptor: int
    page: int
    usable: int

    def records(self) -> Iterator[Row]:
        """Yield the content of everything that looks like a row."""
        size = os.fstat(self.descriptor).st_size
        with ProgressBar(total=size, desc="rebuild vectors", unit="B", unit_scale=True, disable=None) as bar:
            for offset in range(0, size, _CHUNK):
                chunk = os.pread(self.descriptor, _CHUNK, offset)
                for match in _RECORD.finditer(chunk):
                    header, value = 3 + len(match[1]), (_decoded(match[1]) - _BLOB) // 2
                    if chunk[match.start()] == header and value > 0:
                        payload = self._payload(chunk, match.start(), header + value + 2 * _KEY_BYTES)[header:]
                        yield payload[:_KEY_BYTES], payload[_KEY_BYTES:-_KEY_BYTES], payload[-_KEY_BYTES:]
                bar.update(len(chunk))

    def _payload(self, chunk: bytes, start: int, size: int) -> bytes:
        """Return `size` bytes from `start`, those that do not fit in the page from its overflow pages (sqlite.org/fileformat2.html#ovflpgs)."""
        most = self.usable - 35
        if size <= most:
            return chunk[start : start + size]
        least = (self.usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (self.usable - 4)
        end = start + (local if local <= most else least)
        payload, following = chunk[start:end], chunk[end : end + 4]
        while len(payload) < size and (number := int.from_bytes(following, "big")):
            content = os.pread(self.descriptor, self.usable, (number - 1) * self.page)
            if len(content) < self.usable:
                break
            payload, following = payload + content[4:], content[:4]
        return payload[:size]


def _intact_rows(descriptor: int) -> Iterator[list[Row]]:
    """Yield the intact rows anywhere in a file, in blocks."""
    header = os.pread(descriptor, 21, 0).ljust(21, b"\0")
    # SQLite writes 65,536 as 1.
    page = {1: 1 << 16}.get(size := int.from_bytes(header[16:18], "big"), size)
    # The header may be damaged, and its default is the one that nearly every file has.
    for file in {_PageFile(descriptor, page, page - header[20]), _PageFile(descriptor, _PAGE, _PAGE)}:
        if file.usable >= _LEAST_USABLE:
            records = file.records()
            while rows := list(islice(records, _ROWS)):
                faults = _faults(rows)
                yield [row for place, row in enumerate(rows) if place not in faults]


def _decoded(varint: bytes) -> int:
    return reduce(lambda number, byte: number << 7 | byte & 0x7F, varint, 0)


@contextmanager
def _locked_file(path: Path) -> Iterator[BinaryIO | None]:
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
        with _locked_file(path) as file:
            if not file:
                return
        with closing(opened(path)) as connection:
            if old := old_rows(connection):
                if repair:
                    connection.execute(f"DROP TABLE {OLD_TABLE}")
                    connection.execute("VACUUM")
                yield Finding(
                    "unused", f"the vector cache {path} has {plural(old, 'vector')} of an earlier Workbench, without digests", "deleted"
                )
    except SQLITE_ERRORS as error:
        if repair:
            raise StoreError(f"the vector cache {path} cannot be used ({message_of(error)})", "run doctor again") from error
