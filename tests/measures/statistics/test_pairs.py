import numpy as np
import pytest
from scipy import stats

from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.intervals import robust, t_quantile
from workbench.measures.statistics.pairs import all_pairs, detectable, without_skew


def test_the_difference_after_three_total_losses_worked_by_hand() -> None:
    values = np.zeros((2, 20))
    values[0] = 0.5
    # 20 gains of .5 survive three losses of 1, but not three of 4: (10 - 12) / 23.
    assert np.isnan(all_pairs(values, Clusters.of(range(20))).worst).all()
    values[:, 0] = 4.0, 3.5
    assert all_pairs(values, Clusters.of(range(20))).worst == pytest.approx(-2 / 23)
    assert all_pairs(values[::-1], Clusters.of(range(20))).worst == pytest.approx(2 / 23)


@pytest.mark.parametrize(("against", "known"), [(4, True), (5, False)])
def test_five_questions_against_a_difference_are_enough_to_know_it(against: int, known: bool) -> None:
    values = np.zeros((2, 60))
    values[0] = np.where(np.arange(60) < against, -0.01, 0.02)
    assert np.isfinite(all_pairs(values, Clusters.of(range(60))).worst[0]) == known


def test_a_difference_whose_p_is_too_small_for_a_number_is_not_damped() -> None:
    values = np.zeros((2, 400))
    values[0] = 0.5 + np.tile([-1e-4, 1e-4], 200)
    pairs = all_pairs(values, Clusters.of(range(400)))
    assert (pairs.cautious_p, pairs.damping) == (0, 1)
    assert t_quantile(5, 0.0) == np.inf


def test_t_without_skew_solves_johnsons_equation() -> None:
    values = np.array([[1.0] * 9 + [-4.0]])
    means = robust(values, Clusters.of(range(10)))
    residuals = values[0] - values.mean()
    a = -(residuals**3).sum() / (residuals**2).sum() ** 1.5
    (c,) = without_skew(np.array([3.0]), means)
    assert 0 < c < 3
    assert c + a * (1 + 2 * c**2) / 6 == pytest.approx(3)
    # A difference the other way round is the same, and a skew towards gains is ignored.
    assert without_skew(np.array([3.0]), robust(-values, Clusters.of(range(10)))) == pytest.approx(c)
    assert without_skew(np.array([3.0]), robust(5 - values, Clusters.of(range(10)))) == 3


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
