"""Faults at single operations of a sweep, and damage of what it left. `make slow` runs a sample, `make soak` all of them."""

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path

import pytest

from tests.faults.campaign import Case, Journal, campaign
from tests.faults.cases import Worlds

pytestmark = pytest.mark.slow
PARTS = 8


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    return Worlds(tmp_path_factory.mktemp("worlds"))


def sample(cases: Iterable[Case], each: int) -> list[Case]:
    """So many cases of each group, the same in every run."""
    shuffled = list(cases)
    random.Random(15).shuffle(shuffled)
    groups = groupby(sorted(shuffled, key=lambda case: case.group), key=lambda case: case.group)
    return [case for _, group in groups for case in islice(group, each)]


def check(cases: list[Case], folder: Path) -> None:
    journal = Journal(folder / "journal.jsonl")
    campaign(cases, folder, journal)
    finished = journal.read()
    assert [failure for *_, failure in finished if failure] == []
    assert len(finished) == len(cases) > 0


@pytest.mark.parametrize(("kind", "each"), [(Worlds.operations, 1), (Worlds.messages, 1), (Worlds.damaged, 1)])
def test_a_sample_of_faults_changes_no_result(worlds: Worlds, tmp_path: Path, kind: Callable[[Worlds], Iterator[Case]], each: int) -> None:
    check(sample(kind(worlds), each), tmp_path)


# In parts, which workers share.
@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", [Worlds.operations, Worlds.messages, Worlds.damaged])
def test_no_fault_changes_a_result(worlds: Worlds, tmp_path: Path, kind: Callable[[Worlds], Iterator[Case]], part: int) -> None:
    check(list(kind(worlds))[part::PARTS], tmp_path)
