import numpy as np
import pytest
from scipy import stats

from workbench.measures.statistics.change_points import drift_test


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def drawn(n, seed, shift=0.0):
    random = np.random.default_rng(seed)
    return unit(random.normal(size=(n, 8)) + np.array([2.0 + shift, *[shift] * 7]))


def test_the_energy_distance_is_that_of_its_definition() -> None:
    x, y = drawn(12, 0), drawn(9, 1, 0.5)
    direction = x.mean(axis=0)
    found = drift_test(x, y, direction, 0.05, 0)

    def mean(a, b):
        return np.mean([[np.linalg.norm(p - q) for q in b] for p in a])

    assert found.energy == pytest.approx(2 * mean(x, y) - mean(x, x) - mean(y, y), abs=1e-5)
    assert found.fall == pytest.approx((x @ direction).mean() - (y @ direction).mean(), abs=1e-6)


def test_drift_is_found_at_the_smallest_level_and_samples_of_one_distribution_stop_early() -> None:
    x = drawn(150, 2)
    other = drift_test(x, drawn(120, 3, -1.5), x.mean(axis=0), 0.0005, 0)
    assert other.energy_p == pytest.approx(1 / 4000)
    assert other.fall_p <= 0.0005
    same = drift_test(x, drawn(120, 4), x.mean(axis=0), 0.0005, 0)
    assert min(same.energy_p, same.fall_p) > 0.0005
    # 2 / level permutations would allow a p of this size only if it is far from the level.
    assert same.energy_p > 1 / 64


def test_without_drift_the_level_is_kept() -> None:
    level, number = 0.05, 300
    found = [drift_test(drawn(40, [5, seed]), drawn(30, [6, seed]), np.eye(8)[0], level, seed) for seed in range(number)]
    for name in ("energy_p", "fall_p"):
        assert sum(getattr(one, name) <= level for one in found) <= stats.binom.ppf(0.999, number, level)
    assert any(one.energy_p <= level for one in found)


def test_equal_vectors_in_both_samples_are_no_drift() -> None:
    same = np.repeat(drawn(1, 7), 60, axis=0)
    found = drift_test(same[:30], same[30:], same[0], 0.01, 0)
    assert found.energy == pytest.approx(0, abs=1e-6)
    assert found.energy_p > 0.5
    assert found.fall_p > 0.5
