"""Check a cache row by row, and rebuild a file that SQLite cannot read from the rows that are intact."""

import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from workbench.core.errors import StoreError
from workbench.core.operating_system import lock_bytes
from workbench.core.storage.folder_check import Finding
from workbench.core.storage.sqlite_cache import (
    KEY_BYTES,
    SQLITE_ERRORS,
    CacheFormat,
    Row,
    has_table,
    is_damage,
    message_of,
    named_rows,
    old_rows,
    opened,
    prepare,
    unusable,
    version_of,
)
from workbench.core.text.formatting import plural
from workbench.core.text.progress import ProgressBar

_ROWS = 4_096
# The start of a row in SQLite's file format (sqlite.org/fileformat2.html#record_format): the size of the record's header, and the types of a
# key of 16 bytes, a value of less than 128 MB and a digest of 16 bytes.
_RECORD = re.compile(rb"[\x04-\x07](?=\x2c([\x80-\xff]{0,3}[\x00-\x7f])\x2c)")
# The type of a blob of n bytes is 2n more.
_BLOB = 12
# SQLite's page size by default, the fewest bytes of a page that contain data, and a multiple of every page size.
_PAGE, _LEAST_USABLE, _CHUNK = 4_096, 480, 1 << 22
# The bytes of the file that SQLite locks while it uses it (sqlite.org/fileformat: the lock-byte page).
_LOCK_BYTES = (512, 0x40000000)


def intact_rows(file: BinaryIO, cache: CacheFormat) -> Iterator[list[Row]]:
    """Yield the intact rows anywhere in a file, in blocks."""
    header = _read_at(file, 21, 0).ljust(21, b"\0")
    # SQLite writes 65,536 as 1.
    page = {1: 1 << 16}.get(size := int.from_bytes(header[16:18], "big"), size)
    # The header may be damaged, and its default is the one that nearly every file has.
    for pages in {_PageFile(file, page, page - header[20]), _PageFile(file, _PAGE, _PAGE)}:
        if pages.usable >= _LEAST_USABLE:
            records = pages.records(f"rebuild {cache.items}")
            while rows := list(islice(records, _ROWS)):
                faults = cache.faults(rows)
                yield [row for place, row in enumerate(rows) if place not in faults]


class _PageFile(NamedTuple):
    """A file in SQLite's format, read without its b-trees, since they may be damaged. `usable` is the bytes of a page that contain data."""

    file: BinaryIO
    page: int
    usable: int

    def records(self, title: str) -> Iterator[Row]:
        """Yield the content of everything that looks like a row, with a progress bar of this title."""
        size = os.fstat(self.file.fileno()).st_size
        with ProgressBar(total=size, desc=title, unit="B", unit_scale=True, disable=None) as bar:
            for offset in range(0, size, _CHUNK):
                chunk = _read_at(self.file, _CHUNK, offset)
                for match in _RECORD.finditer(chunk):
                    header, value = 3 + len(match[1]), (_decoded(match[1]) - _BLOB) // 2
                    if chunk[match.start()] == header and 0 < value < size:
                        payload = self._payload(chunk, match.start(), header + value + 2 * KEY_BYTES)[header:]
                        yield payload[:KEY_BYTES], payload[KEY_BYTES:-KEY_BYTES], payload[-KEY_BYTES:]
                bar.update(len(chunk))

    def _payload(self, chunk: bytes, start: int, size: int) -> bytes:
        """Return `size` bytes from `start`, those that do not fit in the page from its overflow pages (sqlite.org/fileformat2.html#ovflpgs)."""
        most = self.usable - 35
        if size <= most:
            return chunk[start : start + size]
        least = (self.usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (self.usable - 4)
        end = start + (local if local <= most else least)
        payload, following = bytearray(chunk[start:end]), chunk[end : end + 4]
        while len(payload) < size and (number := int.from_bytes(following, "big")):
            content = _read_at(self.file, self.usable, (number - 1) * self.page)
            if len(content) < self.usable:
                break
            payload += content[4:]
            following = content[:4]
        return bytes(payload[:size])


def _read_at(file: BinaryIO, size: int, offset: int) -> bytes:
    # A damaged number of a page can be beyond what the file system takes.
    if offset >= os.fstat(file.fileno()).st_size:
        return b""
    file.seek(offset)
    return file.read(size)


def _decoded(varint: bytes) -> int:
    return reduce(lambda number, byte: number << 7 | byte & 0x7F, varint, 0)


def check_cache(path: Path, cache: CacheFormat, repair: bool) -> Iterator[Finding]:
    """Yield the damaged and unused parts of a cache, after deleting or rebuilding them if `repair`."""
    if not path.exists():
        return
    header = _header_fault(path)
    try:
        with closing(opened(path)) as connection:
            if found := unusable(connection, path, cache):
                yield Finding("stuck", *found)
                return
            damage = header or str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
            # Without its table, a file of this version is damaged.
            if damage == "ok" and (version_of(connection) == cache.version or has_table(connection, cache.table)):
                yield from _check_rows(connection, path, cache, repair)
    except SQLITE_ERRORS as error:
        if not is_damage(error):
            what = f"the {cache.name} {path} cannot be used ({message_of(error)})"
            yield Finding("stuck", what, "check that it can be written and run doctor again")
            return
        damage = message_of(error)
    if damage != "ok":
        what = f"the {cache.name} {path} is damaged ({' '.join(damage.split())})"
        yield _rebuild(path, cache, what) if repair else Finding("damage", what, "rebuilt from its intact rows")
    yield from _drop_old(path, cache, repair)


def _header_fault(path: Path) -> str:
    """Return a fault that SQLite reports as a file without permission to write: a later version of its file format for writing."""
    if not (path.is_file() and os.access(path, os.R_OK)):
        return ""
    with path.open("rb") as file:
        return "the file format in its header is unknown" if file.read(19)[18:] > b"\2" else ""


def _check_rows(connection: sqlite3.Connection, path: Path, cache: CacheFormat, repair: bool) -> Iterator[Finding]:
    faults: dict[Any, str] = {}
    places: list[tuple[int]] = []
    total = connection.execute(f"SELECT count(*) FROM {cache.table}").fetchone()[0]
    cursor = connection.execute(f"SELECT rowid, key, {cache.item}, digest FROM {cache.table} NOT INDEXED")
    with ProgressBar(total=total, desc=f"check {cache.items}", unit="row", disable=None) as bar:
        while rows := cursor.fetchmany(_ROWS):
            for place, fault in cache.faults([row[1:] for row in rows]).items():
                faults[rows[place][1]] = fault
                places.append((rows[place][0],))
            bar.update(len(rows))
    if faults:
        if repair:
            with connection:
                connection.executemany(f"DELETE FROM {cache.table} WHERE rowid = ?", places)
        what = f"the {cache.name} {path} has {plural(len(places), 'damaged row')}: {named_rows(faults)}"
        yield Finding("damage", what, f"deleted, and {cache.again} by the next sweep")


def _rebuild(path: Path, cache: CacheFormat, what: str) -> Finding:
    """Replace the file's content by a new cache with the rows that are intact, unless another process is using it."""
    aside = path.with_name(f"{path.name}.rebuilt")
    aside.unlink(missing_ok=True)
    try:
        with _locked_file(path) as file:
            if not file:
                return Finding("stuck", f"{what}, and a sweep is using it", "run doctor again when it has ended")
            kept = _copy_intact(file, aside, cache)
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
    intact = plural(kept, f"intact {cache.item}", f"intact {cache.items}")
    return Finding("damage", what, f"rebuilt with {intact}, the others are {cache.again} by the next sweep")


def _copy_intact(damaged: BinaryIO, aside: Path, cache: CacheFormat) -> int:
    """Write a cache with the intact rows of a damaged one, and return their number."""
    with closing(opened(aside)) as target:
        prepare(target, aside, cache)
        with target:
            for rows in intact_rows(damaged, cache):
                target.executemany(f"INSERT OR IGNORE INTO {cache.table} VALUES (?, ?, ?)", rows)
        return int(target.execute(f"SELECT count(*) FROM {cache.table}").fetchone()[0])


@contextmanager
def _locked_file(path: Path) -> Iterator[BinaryIO | None]:
    """Yield the file, locked as SQLite locks it for writing, or None while another process uses it."""
    with path.open("r+b") as file:
        try:
            lock_bytes(file.fileno(), *_LOCK_BYTES)
        except OSError:
            yield None
            return
        yield file


def _drop_old(path: Path, cache: CacheFormat, repair: bool) -> Iterator[Finding]:
    """Drop the rows of an earlier version, unless a process is using the file."""
    try:
        with _locked_file(path) as file:
            if not file:
                return
        with closing(opened(path)) as connection:
            if old := old_rows(connection, cache):
                if repair:
                    connection.execute(f"DROP TABLE {cache.old_table}")
                    connection.execute("VACUUM")
                what = f"the {cache.name} {path} has {cache.counted(old)} of an earlier Workbench, without digests"
                yield Finding("unused", what, "deleted")
    except SQLITE_ERRORS as error:
        if repair:
            raise StoreError(f"the {cache.name} {path} cannot be used ({message_of(error)})", "run doctor again") from error
