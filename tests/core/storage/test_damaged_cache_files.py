"""Damage of the vector cache's file: doctor keeps every row whose own bytes are unchanged, and believes no other."""

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from workbench.core.errors import StoreError
from workbench.core.storage.cache_check import check_cache
from workbench.core.storage.sqlite_cache import sqlite_errors
from workbench.core.storage.vector_cache import VECTORS, VectorCache

PAGE, SECTOR = 4_096, 512


class Written:
    """A cache's file, and the bytes of the file that each row consists of: of its record, and of its overflow pages."""

    def __init__(self, path: Path, rows: int, dimension: int) -> None:
        draw = np.random.default_rng(dimension)
        self.keys, self.vectors = [draw.bytes(16) for _ in range(rows)], draw.normal(size=(rows, dimension)).astype("<f4")
        VectorCache(path).put(self.keys, self.vectors)
        self.raw, self.dimension = path.read_bytes(), dimension
        self.places = [self._place(key, vector.tobytes()) for key, vector in zip(self.keys, self.vectors, strict=True)]

    def _place(self, key: bytes, value: bytes) -> list[slice]:
        # The record's header has 5 bytes in these caches.
        start, size = self.raw.index(key + value[:300]) - 5, 5 + 16 + len(value) + 16
        if size <= PAGE - 35:
            return [slice(start, start + size)]
        # A record of this dimension begins in its cell and continues in overflow pages, each with the number of the next one.
        local = 489 + (size - 489) % (PAGE - 4)
        local = local if local <= PAGE - 35 else 489
        places, missing = [slice(start, start + local + 4)], size - local
        while missing > 0:
            page = (int.from_bytes(self.raw[places[-1]][-4:] if len(places) == 1 else self.raw[places[-1]][:4], "big") - 1) * PAGE
            places.append(slice(page, page + 4 + min(missing, PAGE - 4)))
            missing -= PAGE - 4
        return places

    def intact(self, damaged: bytes) -> set[bytes]:
        return {
            key for key, places in zip(self.keys, self.places, strict=True) if all(damaged[place] == self.raw[place] for place in places)
        }


@pytest.fixture(scope="module")
def inline(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return Written(tmp_path_factory.mktemp("inline") / "vectors.sqlite", 300, 384)


@pytest.fixture(scope="module")
def spilled(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return Written(tmp_path_factory.mktemp("spilled") / "vectors.sqlite", 40, 1_536)


def replaced(raw: bytes, start: int, content: bytes) -> bytes:
    return raw[:start] + content + raw[start + len(content) :]


def sectors(draw: random.Random, size: int) -> bytes:
    return draw.choice([bytes(size), b"\xff" * size, b"\xa5" * size, draw.randbytes(size)])


KINDS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    lambda draw, raw: replaced(raw, draw.randrange(len(raw) // SECTOR) * SECTOR, sectors(draw, SECTOR)),
    lambda draw, raw: replaced(raw, (at := draw.randrange(100, len(raw))), bytes([raw[at] ^ 1 << draw.randrange(8)])),
    # The header, without the version (bytes 60 to 63): a damaged one cannot be distinguished from that of a later Workbench.
    lambda draw, raw: replaced(raw, draw.choice([*range(60), *range(64, 110)]), draw.randbytes(1)),
    lambda draw, raw: replaced(raw, draw.randrange(1, 4) * PAGE, sectors(draw, PAGE)),
    lambda draw, raw: replaced(raw, draw.randrange(1, 8) * SECTOR, sectors(draw, SECTOR)),
    lambda draw, raw: raw[: draw.randrange(1, len(raw))],
)


def damages(raw: bytes) -> Iterator[bytes]:
    for seed in range(60):
        yield KINDS[seed % len(KINDS)](random.Random(seed), raw)


@pytest.mark.parametrize("rows", ["inline", "spilled"])
def test_every_vector_whose_bytes_are_unchanged_survives_any_damage(rows: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    written: Written = request.getfixturevalue(rows)
    found = 0
    for number, damaged in enumerate(damages(written.raw)):
        path = tmp_path / f"{number}.sqlite"
        path.write_bytes(damaged)
        findings = list(check_cache(path, VECTORS, repair=True))
        assert not [finding for finding in findings if finding.state == "stuck"], number
        found += bool(findings)
        kept = VectorCache(path).get(written.keys, written.dimension)
        assert not written.intact(damaged) - set(kept), number
        for key, vector in zip(written.keys, written.vectors, strict=True):
            assert key not in kept or (kept[key] == vector).all(), number
        assert not list(check_cache(path, VECTORS, repair=False)), number
    assert found > 30


def last_cell(raw: bytes) -> tuple[int, int]:
    """Return the page of the table's last leaf and the place of its last cell, which has the greatest rowid."""
    page = max(start for start in range(0, len(raw), PAGE) if raw[start] == 13 and start)
    count = int.from_bytes(raw[page + 3 : page + 5], "big")
    return page, page + int.from_bytes(raw[page + 6 + 2 * count : page + 8 + 2 * count], "big")


@pytest.mark.parametrize("rowid", [b"\xff" * 9, b"\xa5" * 9], ids=["negative", "huge"])
def test_a_damaged_row_number_does_not_lose_other_rows_or_last_for_ever(inline: Written, tmp_path: Path, rowid: bytes) -> None:
    _, cell = last_cell(inline.raw)
    damaged = replaced(inline.raw, cell + 2, rowid)
    path = tmp_path / "vectors.sqlite"
    path.write_bytes(damaged)
    assert [finding.state for finding in check_cache(path, VECTORS, repair=True)] == ["damage"]
    assert VectorCache(path).present(inline.keys) == inline.intact(damaged)
    assert len(inline.intact(damaged)) == 299


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda raw: replaced(raw, 100, b"\0"), "database disk image is malformed"),
        (lambda raw: replaced(raw, 0, bytes(100)), "file is not a database"),
        (lambda raw: raw.replace(b"checked_vectors", b"checked_vectorz"), "no such table: checked_vectors"),
        (lambda raw: raw.replace(b"digest BLOB", b"digesz BLOB"), "no such column: digest"),
        (lambda raw: raw.replace(b"CREATE TABLE", b"CREATE \xa5ABLE"), "malformed database schema .*"),
        (lambda raw: raw[:PAGE] + raw[PAGE:].replace(b"\x0d", b"\x0c"), "database disk image is malformed"),
    ],
    ids=["first page's type", "header", "table's name", "column's name", "text that is not UTF-8", "leaf pages"],
)
def test_a_sweep_that_finds_damage_names_the_doctor_who_repairs_it(
    inline: Written, tmp_path: Path, change: Callable[[bytes], bytes], said: str
) -> None:
    damaged = change(inline.raw)
    path = tmp_path / "vectors.sqlite"
    path.write_bytes(damaged)
    with pytest.raises(StoreError, match=f"cannot be used \\({said}\\); run workbench doctor"):
        VectorCache(path).get(inline.keys)
    (finding,) = check_cache(path, VECTORS, repair=True)
    assert finding.what.startswith(f"the vector cache {path} is damaged (")
    assert f"rebuilt with {len(inline.intact(damaged))} intact vectors" in finding.action
    assert set(VectorCache(path).get(inline.keys)) == inline.intact(damaged)


def test_a_header_with_which_sqlite_refuses_to_write_is_damage(inline: Written, tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite"
    path.write_bytes(replaced(inline.raw, 18, b"\x12"))
    (finding,) = check_cache(path, VECTORS, repair=True)
    assert "is damaged (the file format in its header is unknown)" in finding.what
    VectorCache(path).put([b"another key     "], inline.vectors[:1])
    assert VectorCache(path).present(inline.keys) == set(inline.keys)


@pytest.mark.parametrize("page", [512, 65_536])
def test_vectors_are_kept_with_every_page_size_of_sqlite(inline: Written, tmp_path: Path, page: int) -> None:
    path = tmp_path / "vectors.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size = {page}")
        connection.execute("VACUUM")
    VectorCache(path).put(inline.keys, inline.vectors)
    raw = path.read_bytes()
    assert int.from_bytes(raw[16:18], "big") == (page if page < 65_536 else 1)
    path.write_bytes(replaced(raw, 100, b"\0"))
    (finding,) = check_cache(path, VECTORS, repair=True)
    assert "rebuilt with 300 intact vectors" in finding.action
    assert set(VectorCache(path).get(inline.keys)) == set(inline.keys)


def test_vectors_that_only_the_log_of_a_killed_process_contains_are_kept(tmp_path: Path) -> None:
    cache, path = VectorCache(tmp_path / "live.sqlite"), tmp_path / "vectors.sqlite"
    cache.put([b"1" * 16], np.ones((1, 384), "<f4"))
    with cache.open_connection():
        cache.put([b"2" * 16], np.ones((1, 384), "<f4"))
        path.write_bytes(replaced(cache.path.read_bytes(), 0, b"\xa5" * PAGE))
        (tmp_path / "vectors.sqlite-wal").write_bytes((tmp_path / "live.sqlite-wal").read_bytes())
    (finding,) = check_cache(path, VECTORS, repair=True)
    assert "rebuilt with 2 intact vectors" in finding.action
    assert VectorCache(path).present([b"1" * 16, b"2" * 16]) == {b"1" * 16, b"2" * 16}


@pytest.mark.parametrize("held", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL])
def test_a_file_that_is_not_damaged_is_never_to_be_deleted(tmp_path: Path, held: int) -> None:
    error = sqlite3.OperationalError("locked")
    error.sqlite_errorcode = held | 2 << 8  # type: ignore[misc]  # an extended code
    with pytest.raises(StoreError, match="check that it can be written"), sqlite_errors(tmp_path, VECTORS):
        raise error


def test_a_file_that_cannot_be_opened_is_left_alone(tmp_path: Path) -> None:
    (finding,) = check_cache(tmp_path, VECTORS, repair=True)
    assert finding.state == "stuck"
    assert "cannot be used (unable to open database file)" in finding.what
