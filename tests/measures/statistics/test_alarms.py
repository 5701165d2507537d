import itertools

import numpy as np
import pytest
from scipy import stats

from workbench.measures.statistics.change_points import SHARES, change_estimate, drift_test, first_alarm, lower_bound, masses


def slow_detector(values, limit, weights, threshold):
    """M_t as the sum over all starts, as it is defined."""
    for t in range(len(values)):
        total = 0.0
        for share in SHARES:
            total += sum(weights[j] * np.prod(1 + share * (values[j : t + 1] / limit - 1)) for j in range(t + 1)) / len(SHARES)
        if total >= threshold:
            return t
    return None


@pytest.mark.parametrize("seed", range(6))
def test_the_detector_alarms_when_the_sum_over_all_starts_reaches_the_threshold(seed) -> None:
    random = np.random.default_rng(seed)
    values = np.concatenate([random.random(120) < 0.1, random.random(200) < 0.5]).astype(float)
    if seed % 2:
        values = values * random.random(320)
    weights = masses(np.arange(320) // 100, 50)
    alarm = first_alarm(values, 0.2, weights, 40)
    assert alarm == slow_detector(values, 0.2, weights, 40)
    if seed % 2 == 0:
        assert alarm is not None
        # From a later start it forgets what was before.
        assert first_alarm(values, 0.2, weights, 40, alarm + 1) == alarm + 1 + slow_detector(
            values[alarm + 1 :], 0.2, weights[alarm + 1 :], 40
        )


def test_a_hand_worked_detector() -> None:
    # Each bet f multiplies by 1 + f (1 / .5 - 1) = 1 + f at a bad value: M_1 = w (1 + f), M_2 = (M_1 + w) (1 + f), averaged over the bets.
    factors = 1 + SHARES
    second = 0.1 * ((factors + 1) * factors).mean()
    values, weights = np.array([1.0, 1.0]), np.full(2, 0.1)
    assert first_alarm(values, 0.5, weights, second - 1e-9) == 1
    assert first_alarm(values, 0.5, weights, second + 1e-9) is None


def test_blocks_change_nothing_in_a_long_stream() -> None:
    random = np.random.default_rng(0)
    values = (random.random(6000) < 0.1).astype(float)
    values[5000:] = random.random(1000) < 0.3
    weights = masses(np.zeros(6000, dtype=np.int64), 3000)
    log_m = np.full(len(SHARES), -np.inf)
    for t, value in enumerate(values):
        log_m = np.logaddexp(log_m, np.log(weights[t])) + np.log1p(SHARES * (value / 0.1 - 1))
        if np.logaddexp.reduce(log_m) >= np.log(1000 * len(SHARES)):
            break
    assert t > 5000
    assert first_alarm(values, 0.1, weights, 1000) == t


def test_the_weights_of_a_period_have_at_most_the_sum_1_however_many_come() -> None:
    assert masses(np.zeros(4, dtype=np.int64), 4) == pytest.approx([1 / 8] * 4)
    for number in (10, 1000, 1_000_000):
        weights = masses(np.zeros(number, dtype=np.int64), 100)
        assert weights.min() > 0
        assert weights.sum() <= 1
    two = masses(np.repeat([0, 3], 5), 5)
    assert two == pytest.approx([0.1] * 10)


def test_false_alarms_of_a_rate_at_its_limit_are_as_rare_as_promised() -> None:
    random = np.random.default_rng(1)
    months, level, weights = 800, 0.05, masses(np.zeros(1000, dtype=np.int64), 1000)
    raised = sum(first_alarm((random.random(1000) < 0.2).astype(float), 0.2, weights, 1 / level) is not None for _ in range(months))
    # Half of the mass is kept for more observations.
    assert raised <= stats.binom.ppf(0.999, months, level / 2)
    assert raised > 0


def test_the_change_is_where_the_evidence_begins() -> None:
    values = np.array([0.0] * 50 + [1.0] * 12)
    assert change_estimate(values, 0.1)[0] == 50
    first, latest = change_estimate(values, 0.1)
    steps = np.log1p(SHARES[:, None] * (values / 0.1 - 1))
    gains = [[row[start:].sum() for start in range(62)] for row in steps]
    assert np.max(gains) == pytest.approx(max(row[50] for row in gains))
    best = max(gains, key=max)
    assert latest == max(start for start, gain in enumerate(best) if gain >= max(best) - np.log(20))
    assert first <= latest < 62


@pytest.mark.parametrize("stopped", [False, True])
def test_the_bound_is_the_largest_mean_that_the_capital_refutes(stopped) -> None:
    random = np.random.default_rng(2)
    values, alpha = random.beta(4, 2, 60), 0.05
    bound = lower_bound(values, alpha, stopped)

    def capital(m):
        total, best, squares, mean_sum = 1.0, 0.0, 0.25, 0.5
        for t, value in enumerate(values, 1):
            variance = squares / t if t > 1 else 0.25
            horizon = t * np.log(t + 1) if stopped else len(values)
            bet = min(np.sqrt(2 * np.log(1 / alpha) / (variance * horizon)), 0.75 / m)
            total *= 1 + bet * (value - m)
            best = max(best, total)
            mean_sum += value
            squares += (value - mean_sum / (t + 1)) ** 2
        return best

    assert 0 < bound < values.mean()
    assert capital(bound - 1e-6) >= 1 / alpha > capital(bound + 1e-6)


def test_bounds_cover_the_mean_as_often_as_promised() -> None:
    random = np.random.default_rng(3)
    for (n, p), draw in itertools.product(
        [(100, 0.9), (300, 0.5)], [lambda n, p: (random.random(n) < p).astype(float), lambda n, p: random.beta(p, 1 - p, n)]
    ):
        missed = sum(lower_bound(draw(n, p), 0.05) > p for _ in range(300))
        assert missed <= stats.binom.ppf(0.999, 300, 0.05)
    assert lower_bound(np.zeros(0), 0.05) == 0
    assert lower_bound(np.ones(1000), 0.05) > 0.97


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
