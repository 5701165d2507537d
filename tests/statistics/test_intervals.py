import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from workbench.errors import InputError
from workbench.statistics.intervals import mean_interval

VALUES = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), min_size=4, max_size=30)


@settings(max_examples=60)
@given(VALUES)
def test_the_t_interval_is_that_of_statsmodels(rows: list[tuple[float, int]]) -> None:
    values, clusters = np.array([value for value, _ in rows]), np.array([group for _, group in rows])
    ours = mean_interval(values, clusters)
    if math.isnan(ours.low) or set(values) <= {0, 1} or np.ptp(values) < 1e-3:
        return
    groups = np.unique(clusters, return_inverse=True)[1]
    fit = sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    assert [ours.low, ours.high] == pytest.approx(fit.conf_int()[0].tolist(), abs=1e-9)
    assert ours.value == pytest.approx(values.mean(), abs=1e-12)
    assert (ours.n, ours.clusters) == (len(values), len(set(clusters.tolist())))


def test_worked_by_hand() -> None:
    # Cluster sums of residuals around .5: -.4 and .4, so SE² = 2/1 · .32 / 16 = .04; t(1) at .975 = 12.706.
    interval = mean_interval([0.2, 0.4, 0.6, 0.8], ["a", "a", "b", "b"])
    assert (interval.value, interval.n, interval.clusters) == (0.5, 4, 2)
    assert interval.high - 0.5 == pytest.approx(12.7062 * 0.2, abs=1e-4)
    clipped = mean_interval([0.2, 0.4, 0.6, 0.8], ["a", "a", "b", "b"], proportion=True)
    assert (clipped.low, clipped.high) == (0, 1)


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (10, 10), (7, 14), (95, 100)])
def test_independent_successes_get_wilsons_interval(hits: int, n: int) -> None:
    ours = mean_interval([1] * hits + [0] * (n - hits), range(n))
    low, high = proportion_confint(hits, n, method="wilson")
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=1e-12)


def test_clusters_widen_it() -> None:
    values = [1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1, 1]
    alone, grouped = mean_interval(values, range(12)), mean_interval(values, np.arange(12) // 3)
    assert grouped.low < alone.low < alone.value < alone.high < grouped.high
    # Of one mind: 12 successes in 4 documents are worth 4, and the width pays for 3 degrees of freedom.
    assert mean_interval([1] * 12, np.arange(12) // 3).low < proportion_confint(4, 4, method="wilson")[0]


def test_a_design_effect_below_1_is_not_believed() -> None:
    values = [0, 1] * 10
    assert mean_interval(values, np.arange(20) // 2).low <= mean_interval(values, range(20)).low


@pytest.mark.parametrize(
    ("values", "clusters"),
    [([0.5], [0]), ([1.0], [0]), ([0.2, 0.6], [0, 0]), ([0, 1, 1], [0, 0, 0]), ([0.3] * 10, range(10)), ([0.2, 0.8] * 4, [0, 0, 1, 1] * 2)],
)
def test_no_bounds_where_the_data_allow_none(values, clusters) -> None:
    interval = mean_interval(values, clusters, proportion=True)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert interval.value == pytest.approx(np.mean(values))


@pytest.mark.parametrize(
    ("values", "clusters", "level", "says"),
    [
        ([], [], 0.95, "no mean of no values"),
        ([math.nan, 1], [0, 1], 0.95, "NaN"),
        ([1, 0], [0], 0.95, "do not match"),
        ([1, 0], [0, 1], 95, "no confidence level"),
    ],
)
def test_senseless_input_is_refused(values, clusters, level: float, says: str) -> None:
    with pytest.raises(InputError, match=says):
        mean_interval(values, clusters, level)


@pytest.mark.parametrize(("groups", "size", "kind"), [(12, 5, "binary"), (5, 10, "binary"), (60, 1, "binary"), (12, 5, "graded")])
def test_95_percent_intervals_cover_about_95_percent(groups: int, size: int, kind: str) -> None:
    random, covered, runs = np.random.default_rng(20), 0, 400
    clusters = np.repeat(np.arange(groups), size)
    for _ in range(runs):
        # Beta(1.87, .47): mean .8, correlation .3 within a cluster of successes.
        chance = random.beta(0.8 * 7 / 3, 0.2 * 7 / 3, groups)[clusters]
        values = (random.random(len(chance)) < chance).astype(float) if kind == "binary" else random.binomial(4, chance) / 4
        interval = mean_interval(values, clusters, proportion=True)
        covered += interval.low <= 0.8 <= interval.high
    assert 0.90 <= covered / runs <= 0.985
