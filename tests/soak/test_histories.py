"""The promises about changes of level in a history, by simulation; docs/statistics.md has the figures of 1,000 histories."""

import pytest

from benchmarks.verdict.histories import WORLDS, histories_table

HISTORIES = 300
# Three standard errors of a share of .05 over so many histories.
NOISE = 3 * (0.05 * 0.95 / HISTORIES) ** 0.5


@pytest.fixture(scope="module")
def rates():
    found, table = histories_table(HISTORIES)
    print(table)
    return found


@pytest.mark.soak
def test_an_unchanged_level_is_rarely_called_changed_whatever_repeats(rates) -> None:
    for name, world in WORLDS.items():
        if world.step is None:
            assert rates[name].found <= world.target + NOISE, name


@pytest.mark.soak
def test_a_step_is_found_although_repeats_are_one_observation(rates) -> None:
    for name, world in WORLDS.items():
        if world.step is not None:
            assert rates[name].hit >= world.target, name


@pytest.mark.soak
def test_runs_that_repeat_each_other_are_no_evidence(rates) -> None:
    assert rates["30 runs of 8 commits"].every > 0.25
    assert rates["60 runs, 3 alternating branches, 5 versions"].collapsed > 0.2
