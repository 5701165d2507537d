"""Corrected intervals contain the truth in 94 % of worlds, for every rate, number of labels and documents, and errors that differ."""

import itertools

import pytest
from scipy import stats

from benchmarks.judge_correction import JUDGES, RATES, WORLDS, simulated

REPETITIONS = 400
pytestmark = pytest.mark.soak


@pytest.mark.parametrize(("documents", "labels"), list(itertools.product([10, 50], [50, 100])))
def test_corrected_intervals_contain_the_truth(documents: int, labels: int) -> None:
    least = stats.binom.ppf(0.0005, REPETITIONS, 0.94) / REPETITIONS
    for world, judge, rates in itertools.product(WORLDS, JUDGES, RATES):
        cell = simulated(world, judge, documents, labels, rates, REPETITIONS)
        print(cell)
        assert min(cell.coverage.values()) >= least, cell
