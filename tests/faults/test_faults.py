"""Faults at single operations of commands, and damage of what a sweep left. `make slow` runs a sample, `make soak` all of them."""

import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.faults.campaign import Case, Journal, campaign, inject
from tests.faults.cases import Worlds
from tests.faults.injection import Fault


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Worlds:
    return Worlds(tmp_path_factory.mktemp("worlds"))


def sample(cases: Iterable[Case]) -> list[Case]:
    """Return a case of each operation of a sweep and of each other command, the same in every run."""
    shuffled = list(cases)
    random.Random(15).shuffle(shuffled)
    return list({case.group.split(": ")[0]: case for case in shuffled}.values())


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Worlds.operations, Worlds.messages, Worlds.damaged])
def test_a_sample_of_faults_changes_no_result(worlds: Worlds, tmp_path: Path, kind: Callable[[Worlds], Iterator[Case]]) -> None:
    cases, journal = sample(kind(worlds)), Journal(tmp_path / "journal.jsonl")
    campaign(cases, tmp_path, journal)
    finished = journal.read()
    assert [failure for _, failure in finished.values() if failure] == []
    assert len(finished) == len(cases) > 0


@pytest.mark.slow
def test_a_log_that_cannot_be_read_a_second_time_is_named_by_the_pass(worlds: Worlds, tmp_path: Path) -> None:
    reads = [number for number, place in enumerate(worlds.monitor.places["read"], 1) if "/log/" in place]
    for number in reads:
        assert inject(worlds.monitor, Fault("read", number, "error"), tmp_path / str(number)) == "repaired"


def test_a_campaign_that_was_stopped_continues_and_the_last_try_of_a_case_counts(tmp_path: Path) -> None:
    def failing(_: Path) -> str:
        raise AssertionError("believed")

    good, bad = Case("read: error", "read 1 error", lambda _: "repaired"), Case("read: error", "read 2 error", failing)
    journal = Journal(tmp_path / "journal.jsonl")
    campaign([good, bad], tmp_path, journal, seconds=0)
    assert journal.read() == {}
    campaign([good, bad], tmp_path, journal)
    ending, failure = journal.read()["read: error", "read 2 error"]
    assert (ending, failure.partition(" in ")[0], failure.rpartition(": ")[2]) == ("", "read 2 error", "believed")
    campaign([Case(bad.group, bad.name, good.run)], tmp_path, journal)
    assert set(journal.read().values()) == {("repaired", "")}
