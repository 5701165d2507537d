import numpy as np
import pytest
from scipy import stats

from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.pairs import all_pairs, detectable


def _power(n: int, level: float, smallest: float = 0.02):
    values = np.random.default_rng(4).normal(0, 0.1, (2, n))
    pairs = all_pairs(values, Clusters.of(range(n)))
    return detectable(pairs, 0, ["a", "b"], level, smallest), float(pairs.error[0])


@pytest.mark.parametrize("level", [0.05, 0.001])
def test_the_difference_is_found_in_80_percent_of_experiments(level: float) -> None:
    found, error = _power(100, level)
    critical = stats.t.isf(level / 2, 99)
    # The power of the t test is that of a noncentral t.
    assert stats.nct.sf(critical, 99, found.difference / error) == pytest.approx(0.8, abs=0.01)


def test_four_times_the_questions_show_half_the_difference() -> None:
    found, _ = _power(100, 0.05)
    assert found.level == 0.05
    assert _power(100, 0.05, found.difference / 2)[0].needed == pytest.approx(400, abs=1)
    assert _power(100, 0.05, found.difference / 3)[0].needed == pytest.approx(900, abs=1)
    assert _power(100, 0.05, found.difference * 100)[0].needed == 30


def test_a_difference_that_does_not_vary_has_no_power() -> None:
    pairs = all_pairs(np.array([np.ones(40), np.zeros(40)]), Clusters.of(range(40)))
    assert detectable(pairs, 0, ["a", "b"], 0.05, 0.02) is None
