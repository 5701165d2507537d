import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.core.errors import StoreError
from workbench.core.storage.cache_check import check_cache
from workbench.core.storage.call_cache import CALLS, CallCache
from workbench.core.storage.vector_cache import VECTORS, VectorCache

# Commits batches of 20 replies for ever.
WRITER = """
import itertools, sys
from pathlib import Path
from workbench.core.storage.call_cache import CallCache
cache = CallCache(Path(sys.argv[1]))
for batch in itertools.count():
    cache.put({f"{batch}/{row}": {"text": f"reply {row} " * 50} for row in range(20)})
    print(batch, flush=True)
"""


def replies(n: int) -> dict[str, Any]:
    return {f"call {number}": {"text": f"reply {number} " * 20, "tokens": [number, None], "cost": 0.25} for number in range(n)}


@pytest.fixture
def cache(tmp_path: Path) -> CallCache:
    return CallCache(tmp_path / "store" / "calls.sqlite")


def execute(cache: CallCache, statement: str) -> None:
    with closing(sqlite3.connect(cache.path)) as connection, connection:
        connection.execute(statement)


def test_values_come_back_equal_in_another_cache_object(cache: CallCache) -> None:
    cache.put(replies(1_200))
    again = CallCache(cache.path)
    assert again.get([*replies(1_200), "another"]) == replies(1_200)
    assert again.present([*replies(3), "another"]) == set(replies(3))


def test_an_empty_batch_is_no_row(cache: CallCache) -> None:
    cache.put({})
    assert cache.get([]) == {}
    assert cache.present(["a"]) == set()


@pytest.mark.parametrize(
    "text", ["", "Größe", "half a pair \ud83d", "a\0b", "x" * 5_000_000], ids=["empty", "umlaut", "half", "null", "long"]
)
def test_any_text_of_a_model_comes_back(cache: CallCache, text: str) -> None:
    cache.put({text: {"text": text}})
    assert cache.get([text]) == {text: {"text": text}}


def test_a_key_keeps_its_first_value(cache: CallCache) -> None:
    cache.put({"a": 1})
    cache.put({"a": 2, "b": 3})
    assert cache.get(["a", "b"]) == {"a": 1, "b": 3}


def test_a_value_that_is_no_json_is_refused_with_its_batch(cache: CallCache) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        cache.put({"a": 1, "b": float("nan")})
    assert cache.present(["a", "b"]) == set()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("reply = x'7b7d'", "its digest does not match"),
        ("reply = '{}'", "its reply is str, not bytes"),
        ("digest = x''", "its digest does not match"),
        ("(reply, digest) = (SELECT reply, digest FROM replies WHERE rowid = 2)", "its digest does not match"),
    ],
)
def test_damaged_rows_are_named_and_deleted(cache: CallCache, capsys: pytest.CaptureFixture[str], change: str, fault: str) -> None:
    cache.put(replies(9))
    execute(cache, f"UPDATE replies SET {change} WHERE rowid % 3 = 1")
    found = cache.get(list(replies(9)))
    assert found == {key: value for number, (key, value) in enumerate(replies(9).items()) if number % 3}
    said = capsys.readouterr().err
    assert f"workbench: the call cache {cache.path} has 3 damaged rows, requested again: " in said
    assert said.count(f"({fault})") == 3
    cache.put(replies(9))
    assert cache.get(list(replies(9))) == replies(9)
    assert not capsys.readouterr().err


def test_doctor_finds_damaged_rows_and_deletes_them(cache: CallCache) -> None:
    cache.put(replies(9))
    execute(cache, "UPDATE replies SET reply = x'7b7d' WHERE rowid = 4")
    for repair in (False, True):
        (finding,) = check_cache(cache.path, CALLS, repair)
        assert finding.state == "damage"
        assert finding.what.startswith(f"the call cache {cache.path} has 1 damaged row: ")
        assert finding.action == "deleted, and requested again by the next sweep"
    assert not list(check_cache(cache.path, CALLS, repair=False))
    assert len(cache.get(list(replies(9)))) == 8


@pytest.mark.parametrize("start", [0, 100, 4_096, 40_960])
def test_a_damaged_file_keeps_its_intact_replies(tmp_path: Path, start: int) -> None:
    cache = CallCache(tmp_path / "calls.sqlite")
    # Replies in one page, in a chain of overflow pages, and of several megabytes.
    written = replies(200) | {f"long {size}": "x" * size for size in (4_000, 5_000, 100_000, 3_000_000)}
    cache.put(written)
    raw = cache.path.read_bytes()
    cache.path.write_bytes(raw[:start] + b"\xa5" * 90 + raw[start + 90 :])
    (finding,) = check_cache(cache.path, CALLS, repair=True)
    assert finding.what.startswith(f"the call cache {cache.path} is damaged (")
    assert " intact replies, the others are requested again by the next sweep" in finding.action
    kept = CallCache(cache.path).get(list(written))
    assert len(kept) >= len(written) - 1
    assert kept == {key: written[key] for key in kept}


def test_a_sweep_that_finds_a_damaged_file_names_the_doctor(cache: CallCache) -> None:
    cache.put(replies(9))
    cache.path.write_bytes(b"\xa5" * 100 + cache.path.read_bytes()[100:])
    with pytest.raises(StoreError, match="run workbench doctor, which keeps its intact replies, or delete it and run again"):
        cache.get(["a"])


def test_a_cache_of_a_later_version_is_refused_by_name(cache: CallCache) -> None:
    execute(cache, "PRAGMA user_version = 7")
    with pytest.raises(StoreError, match=rf"has version 7, and this Workbench uses version {CALLS.version}; update Workbench"):
        CallCache(cache.path)
    (finding,) = check_cache(cache.path, CALLS, repair=True)
    assert finding.state == "stuck"


def test_caches_that_were_exchanged_stay_as_they_are(cache: CallCache) -> None:
    cache.put(replies(9))
    vectors = VectorCache(cache.path.with_name("vectors.sqlite"))
    vectors.put([b"k" * 16], np.ones((1, 4), dtype=np.float32))
    for path, kind, form, table in ((cache.path, VectorCache, VECTORS, "replies"), (vectors.path, CallCache, CALLS, "checked_vectors")):
        before = path.read_bytes()
        with pytest.raises(StoreError, match=f"it has the table {table}; put the right file there"):
            kind(path)
        (finding,) = check_cache(path, form, repair=True)
        assert finding.state == "stuck"
        assert path.read_bytes() == before
    assert CallCache(cache.path).get(list(replies(9))) == replies(9)


def test_a_killed_writer_leaves_whole_batches(tmp_path: Path, fork: Callable) -> None:
    path = tmp_path / "calls.sqlite"
    child = fork(WRITER, path)
    while child.stdout.readline() != "12\n":
        assert child.poll() is None
    child.kill()
    child.wait()
    cache = CallCache(path)
    batches = [len(cache.present([f"{batch}/{row}" for row in range(20)])) for batch in range(200)]
    assert sum(batches) >= 13 * 20
    assert set(batches) <= {0, 20}
    assert batches == sorted(batches, reverse=True)


def test_random_bits_that_flip_never_change_a_reply(tmp_path: Path) -> None:
    draw, written = np.random.default_rng(7), replies(200)
    CallCache(tmp_path / "calls.sqlite").put(written)
    raw, refused = (tmp_path / "calls.sqlite").read_bytes(), 0
    for attempt in range(15):
        flipped = bytearray(raw)
        for place in draw.integers(100, len(raw), 20).tolist():
            flipped[place] ^= 1 << int(draw.integers(8))
        path = tmp_path / f"{attempt}.sqlite"
        path.write_bytes(flipped)
        try:
            found = CallCache(path).get(list(written))
        except StoreError:
            refused += 1
            continue
        assert found == {key: written[key] for key in found}
    assert refused < 15
