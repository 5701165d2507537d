"""Processes that share a cache divide its calls."""

from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.core.errors import StoreError
from workbench.core.storage.call_cache import CallCache
from workbench.llm.session import CallClaims

# Claims keys in an order drawn from a seed, prints the claimed ones, and goes on until it is killed.
HOLDER = """
import random, signal, sys
from pathlib import Path
from tests.llm.test_claims import claimed, make
keys = sys.argv[3:]
random.Random(sys.argv[2]).shuffle(keys)
claims = make(Path(sys.argv[1]))
print(" ".join(sorted(claimed(claims, keys))), flush=True)
signal.pause()
"""

# Claims a key, forks, and prints what the child can claim, and then what the parent can.
FORKED = """
import os, sys
from pathlib import Path
from tests.llm.test_claims import claimed, make
path = Path(sys.argv[1])
claims = make(path)
claimed(claims, ["a"])
if (child := os.fork()) == 0:
    print(claimed(claims, ["a"]), claimed(claims, ["b"]), claimed(make(path), ["b"]), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(claimed(make(path), ["a"]), claimed(claims, ["b"]))
"""


def make(path: Path) -> CallClaims:
    return CallClaims(CallCache(path), 2, 60)


def claimed(claims: CallClaims, keys: list[str]) -> list[str]:
    """The keys that are not claimed elsewhere."""
    return [key for key in keys if claims.try_claim(key)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store" / "calls.sqlite"


def test_a_key_is_claimed_once_until_it_is_released(path: Path) -> None:
    first, second = make(path), make(path)
    assert claimed(first, ["a", "b"]) == ["a", "b"]
    assert claimed(second, ["a", "b", "c"]) == ["c"]
    first.release("a")
    first.release("a")
    assert claimed(second, ["a"]) == ["a"]
    first.release_all()
    assert claimed(second, ["b"]) == ["b"]


def test_another_process_has_its_keys_until_it_ends_in_any_way(path: Path, fork: Callable) -> None:
    child = fork(HOLDER, path, 1, "a", "c")
    assert child.stdout.readline() == "a c\n"
    claims = make(path)
    assert claimed(claims, ["a", "b"]) == ["b"]
    assert fork(HOLDER, path, 1, "a", "b", "c", "d").stdout.readline() == "d\n"
    child.kill()
    child.wait()
    assert claimed(claims, ["a", "c"]) == ["a", "c"]


def test_processes_that_race_never_claim_the_same_key(path: Path, fork: Callable) -> None:
    keys = [f"key{number}" for number in range(200)]
    children = [fork(HOLDER, path, seed, *keys) for seed in range(2)]
    first, second = (child.stdout.readline().split() for child in children)
    assert set(first).isdisjoint(second)
    # A few keys have the same lock as another one.
    assert len(first + second) >= 180


def test_a_forked_process_has_none_of_the_claims_and_frees_none(path: Path, fork: Callable) -> None:
    assert fork(FORKED, path).output().split() == ["[]", "['b']", "[]", "[]", "['b']"]


def test_a_folder_that_cannot_be_made_is_one_line(path: Path) -> None:
    claims = make(path)
    path.with_suffix(".claims").write_text("")
    with pytest.raises(StoreError, match=r"calls\.claims"):
        claimed(claims, ["a"])
