"""Read the rows of a cache from a file that SQLite cannot read, without its b-trees, since they may be damaged."""

import os
import re
from collections.abc import Iterator
from functools import reduce
from itertools import islice
from typing import NamedTuple

from workbench.core.progress import ProgressBar
from workbench.storage.sqlite_cache import KEY_BYTES, CacheFormat, Row

_ROWS = 4_096
# The start of a row in SQLite's file format (sqlite.org/fileformat2.html#record_format): the size of the record's header, and the types of a
# key of 16 bytes, a value of less than 128 MB and a digest of 16 bytes.
_RECORD = re.compile(rb"[\x04-\x07](?=\x2c([\x80-\xff]{0,3}[\x00-\x7f])\x2c)")
# The type of a blob of n bytes is 2n more.
_BLOB = 12
# SQLite's page size by default, the fewest bytes of a page that contain data, and a multiple of every page size.
_PAGE, _LEAST_USABLE, _CHUNK = 4_096, 480, 1 << 22


def intact_rows(descriptor: int, cache: CacheFormat) -> Iterator[list[Row]]:
    """Yield the intact rows anywhere in a file, in blocks."""
    header = os.pread(descriptor, 21, 0).ljust(21, b"\0")
    # SQLite writes 65,536 as 1.
    page = {1: 1 << 16}.get(size := int.from_bytes(header[16:18], "big"), size)
    # The header may be damaged, and its default is the one that nearly every file has.
    for file in {_PageFile(descriptor, page, page - header[20]), _PageFile(descriptor, _PAGE, _PAGE)}:
        if file.usable >= _LEAST_USABLE:
            records = file.records(f"rebuild {cache.items}")
            while rows := list(islice(records, _ROWS)):
                faults = cache.faults(rows)
                yield [row for place, row in enumerate(rows) if place not in faults]


class _PageFile(NamedTuple):
    """A file in SQLite's format, read without its b-trees, since they may be damaged. `usable` is the bytes of a page that contain data."""

    descriptor: int
    page: int
    usable: int

    def records(self, title: str) -> Iterator[Row]:
        """Yield the content of everything that looks like a row, with a progress bar of this title."""
        size = os.fstat(self.descriptor).st_size
        with ProgressBar(total=size, desc=title, unit="B", unit_scale=True, disable=None) as bar:
            for offset in range(0, size, _CHUNK):
                chunk = os.pread(self.descriptor, _CHUNK, offset)
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
            content = os.pread(self.descriptor, self.usable, (number - 1) * self.page)
            if len(content) < self.usable:
                break
            payload += content[4:]
            following = content[:4]
        return bytes(payload[:size])


def _decoded(varint: bytes) -> int:
    return reduce(lambda number, byte: number << 7 | byte & 0x7F, varint, 0)
