"""Intervals of sampled, judged logs contain the truth in at least 93 % of logs of every world."""

import pytest
from scipy import stats

from benchmarks.sampled_judging import WORLDS, coverage

REPETITIONS = 400
pytestmark = pytest.mark.soak


@pytest.mark.parametrize("name", WORLDS)
def test_intervals_contain_the_truth(name: str) -> None:
    least = stats.binom.ppf(0.0005, REPETITIONS, 0.93) / REPETITIONS
    share, width, bias = coverage(WORLDS[name], REPETITIONS, seed=1)
    print(name, share, width, bias)
    assert share >= least
    assert width < 0.6
