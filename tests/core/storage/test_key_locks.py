import errno
import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.core.errors import StoreError
from workbench.core.storage.key_locks import KeyLocks

# Locks keys in an order drawn from a seed, says which ones it got, and goes on until it is killed.
HOLDER = """
import random, signal, sys
from pathlib import Path
from workbench.core.storage.key_locks import KeyLocks
locks, keys = KeyLocks(Path(sys.argv[1])), sys.argv[3:]
random.Random(sys.argv[2]).shuffle(keys)
print(" ".join(sorted(key for key in keys if locks.try_lock(key))), flush=True)
signal.pause()
"""

# Locks a key, forks, and says which keys the child can lock, and then which ones the parent can.
FORKED = """
import os, sys
from pathlib import Path
from workbench.core.storage.key_locks import KeyLocks
path = Path(sys.argv[1])
locks = KeyLocks(path)
locks.try_lock("a")
if (child := os.fork()) == 0:
    print(locks.try_lock("a"), locks.try_lock("b"), KeyLocks(path).try_lock("b"), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(KeyLocks(path).try_lock("a"), locks.try_lock("b"))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store" / "calls.lock"


def test_a_key_is_locked_once_until_it_is_unlocked(path: Path) -> None:
    first, second = KeyLocks(path), KeyLocks(path)
    assert first.try_lock("a")
    assert not first.try_lock("a")
    assert not second.try_lock("a")
    assert second.try_lock("b")
    first.unlock("a")
    assert second.try_lock("a")


def test_unlocking_a_free_key_changes_nothing(path: Path) -> None:
    locks = KeyLocks(path)
    locks.unlock("a")
    assert locks.try_lock("a")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL])
def test_without_locks_of_the_file_system_the_threads_of_a_process_share_them(path: Path, monkeypatch, number: int) -> None:
    def lockf(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "lockf", lockf)
    locks = KeyLocks(path)
    assert [locks.try_lock("a"), locks.try_lock("a"), KeyLocks(path).try_lock("a")] == [True, False, False]
    locks.unlock("a")
    assert locks.try_lock("a")


def test_another_error_of_the_file_system_is_one_line(path: Path, monkeypatch) -> None:
    def lockf(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    locks = KeyLocks(path)
    monkeypatch.setattr(fcntl, "lockf", lockf)
    with pytest.raises(StoreError, match="Input/output error"):
        locks.try_lock("a")


def test_threads_share_locks(path: Path) -> None:
    locks, got = KeyLocks(path), []
    threads = [threading.Thread(target=lambda: got.append(locks.try_lock("a"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [False] * 7 + [True]


def test_another_process_is_locked_out_until_it_ends_in_any_way(path: Path, fork: Callable) -> None:
    locks = KeyLocks(path)
    child = fork(HOLDER, path, 1, "a", "c")
    assert child.stdout.readline() == "a c\n"
    assert not locks.try_lock("a")
    assert locks.try_lock("b")
    assert fork(HOLDER, path, 1, "a", "b", "c", "d").stdout.readline() == "d\n"
    child.kill()
    child.wait()
    assert locks.try_lock("a")
    assert locks.try_lock("c")


def test_objects_that_are_gone_free_no_lock_of_another(path: Path) -> None:
    kept = KeyLocks(path)
    assert kept.try_lock("a")
    for _ in range(3):
        KeyLocks(path).try_lock("b")
    assert not KeyLocks(path.parent / "." / path.name).try_lock("a")


def test_processes_that_race_share_the_keys(path: Path, fork: Callable) -> None:
    keys = [f"key{number}" for number in range(2_000)]
    children = [fork(HOLDER, path, seed, *keys) for seed in range(2)]
    first, second = (child.stdout.readline().split() for child in children)
    assert sorted(first + second) == sorted(keys)


def test_a_forked_process_has_none_of_the_locks_and_frees_none(path: Path, fork: Callable) -> None:
    assert fork(FORKED, path).output().split() == ["False", "True", "False", "False", "True"]


def test_a_file_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written; choose another folder"):
        KeyLocks(tmp_path / "file" / "calls.lock")
