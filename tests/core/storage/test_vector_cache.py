import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Timer

import numpy as np
import pytest

from workbench.core.errors import StoreError
from workbench.core.storage.vector_cache import VectorCache

# Commits batches of 200 vectors for ever; every vector of batch b is full of b + 1.
WRITER = """
import itertools, sys
from pathlib import Path
import numpy as np
from workbench.core.storage.vector_cache import VectorCache
cache = VectorCache(Path(sys.argv[1]))
for batch in itertools.count() if sys.argv[3] == "for ever" else range(int(sys.argv[3])):
    keys = [f"{sys.argv[2]}{batch:07}{row:08}".encode() for row in range(200)]
    cache.put(keys, np.full((200, 384), batch + 1, dtype=np.float32))
    print(batch, flush=True)
"""


def keys(n: int) -> list[bytes]:
    return [place.to_bytes(16, "big") for place in range(n)]


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "store" / "vectors.sqlite")


def test_vectors_come_back_bit_for_bit_in_another_cache_object(cache: VectorCache, like_embeddings: Callable) -> None:
    vectors = like_embeddings(1_300, 384)
    cache.put(keys(1_300), vectors)
    again = VectorCache(cache.path)
    found = again.get(keys(1_301))
    assert set(found) == set(keys(1_300)) == again.present(keys(1_301))
    np.testing.assert_array_equal(np.stack([found[key] for key in keys(1_300)]), vectors)
    assert found[keys(1)[0]].dtype == np.float32


def test_nothing_asked_is_nothing_found(cache: VectorCache) -> None:
    cache.put([], np.zeros((0, 3), np.float32))
    assert cache.get([]) == {}
    assert cache.present(keys(3)) == set()


def test_a_key_keeps_its_first_vector(cache: VectorCache) -> None:
    cache.put(keys(1), np.ones((1, 3), np.float32))
    cache.put(keys(2), np.full((2, 3), 2, np.float32))
    assert [vector.tolist() for vector in cache.get(keys(2)).values()] == [[1, 1, 1], [2, 2, 2]]


def test_keys_and_vectors_of_different_numbers_are_refused(cache: VectorCache) -> None:
    with pytest.raises(ValueError, match="shorter"):
        cache.put(keys(2), np.ones((1, 3), np.float32))
    assert cache.present(keys(2)) == set()


def test_a_vector_without_a_direction_is_refused_with_its_batch(cache: VectorCache, wording) -> None:
    def put(value: float) -> None:
        vectors = np.ones((3, 4), np.float32)
        vectors[1] = value
        try:
            cache.put(keys(3), vectors)
        finally:
            assert cache.present(keys(3)) == set()

    wording(put, [np.nan, np.inf, 3e38, 0], StoreError)


def test_a_cache_held_open_writes_its_log_back_once(cache: VectorCache) -> None:
    log = cache.path.with_name("vectors.sqlite-wal")
    vectors = np.ones((5, 4), np.float32)
    cache.put(keys(5), vectors)
    assert not log.exists()
    with cache.open_connection():
        cache.put(keys(10)[5:], vectors)
        assert log.stat().st_size > 0
        assert cache.present(keys(10)) == set(keys(10))
    assert not log.exists()
    assert cache.present(keys(10)) == set(keys(10))


def test_a_killed_writer_leaves_whole_batches(tmp_path: Path, fork: Callable) -> None:
    path = tmp_path / "vectors.sqlite"
    child = fork(WRITER, path, "a", "for ever")
    while child.stdout.readline() != "12\n":
        assert child.poll() is None
    child.kill()
    child.wait()
    with sqlite3.connect(path) as connection:
        rows = connection.execute(
            "SELECT substr(key, 2, 7), count(*), min(length(vector)) FROM checked_vectors GROUP BY 1 ORDER BY 1"
        ).fetchall()
    assert len(rows) >= 13
    assert [int(batch) for batch, _, _ in rows] == list(range(len(rows)))
    assert {(count, size) for _, count, size in rows} == {(200, 384 * 4)}
    VectorCache(path).put(keys(1), np.ones((1, 3), np.float32))


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path, fork: Callable) -> None:
    path = tmp_path / "vectors.sqlite"
    # Two write the same keys, one others; all three make the file.
    children = [fork(WRITER, path, name, 15) for name in "aab"]
    for child in children:
        _, err = child.communicate(timeout=60)
        assert child.returncode == 0, err
    cache = VectorCache(path)
    for name in "ab":
        for batch in (0, 7, 14):
            found = cache.get([f"{name}{batch:07}{row:08}".encode() for row in range(200)])
            assert len(found) == 200
            assert all((vector == batch + 1).all() for vector in found.values())
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM checked_vectors").fetchone() == (2 * 15 * 200,)


def test_a_new_cache_waits_for_another_process_that_prepares_it(tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    ending = Timer(0.1, other.rollback)
    ending.start()
    assert VectorCache(path).present(keys(1)) == set()
    ending.join()
    other.close()


def test_a_damaged_file_is_one_line_with_the_fix_which_works(cache: VectorCache) -> None:
    cache.put(keys(500), np.ones((500, 384), np.float32))
    raw = bytearray(cache.path.read_bytes())
    raw[: len(raw) // 2] = b"\xff" * (len(raw) // 2)
    cache.path.write_bytes(raw)
    for use in (lambda: cache.get(keys(500)), lambda: cache.put(keys(1), np.ones((1, 3), np.float32)), lambda: VectorCache(cache.path)):
        with pytest.raises(StoreError) as caught:
            use()
        (line,) = caught.value.lines
        assert line.startswith(f"the vector cache {cache.path} cannot be used (file is not a database)")
        assert line.endswith("delete it and run again: its vectors are computed again")
    cache.path.unlink()
    assert VectorCache(cache.path).present(keys(500)) == set()


def test_a_cache_that_only_cannot_be_reached_is_not_to_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="unable to open database file") as caught:
        VectorCache(tmp_path / "folder")
    assert "delete" not in caught.value.fix
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be written; choose another folder"):
        VectorCache(tmp_path / "file" / "vectors.sqlite")


def test_a_full_disk_is_one_line_and_what_was_there_stays(cache: VectorCache, fork: Callable) -> None:
    cache.put(keys(1), np.ones((1, 384), np.float32))
    script = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from workbench.core.storage.vector_cache import VectorCache
from workbench.core.errors import StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    VectorCache(Path(sys.argv[1])).put([bytes([row]) * 16 for row in range(255)], np.ones((255, 384), np.float32))
except StoreError as error:
    print(error.lines[0])
"""
    line = fork(script, cache.path).output()
    assert line.startswith(f"the vector cache {cache.path} cannot be used (disk I/O error)")
    assert "delete" not in line
    assert cache.present([*keys(1), b"\x07" * 16]) == set(keys(1))
