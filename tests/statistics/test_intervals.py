import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from benchmarks.verdict.coverage import SIZES, coverage, mean_interval
from workbench.errors import InputError
from workbench.statistics.intervals import mean_intervals

VALUES = st.lists(st.floats(0, 1), min_size=20, max_size=40)


@settings(max_examples=60)
@given(VALUES)
def test_with_clusters_of_one_size_the_t_interval_is_that_of_statsmodels(rows: list[float]) -> None:
    values = np.array(rows[: len(rows) // 2 * 2])
    clusters = np.arange(len(values)) // 2
    ours = mean_interval(values, clusters)
    if math.isnan(ours.low) or set(values) <= {0, 1} or np.ptp(values) < 1e-3:
        return
    groups = np.unique(clusters, return_inverse=True)[1]
    fit = sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    assert [ours.low, ours.high] == pytest.approx(fit.conf_int()[0].tolist(), abs=1e-9)
    assert ours.value == pytest.approx(values.mean(), abs=1e-12)
    assert (ours.n, ours.clusters) == (len(values), len(set(clusters.tolist())))


def test_worked_by_hand() -> None:
    # Ten clusters of two: residual sums ±.4, so SE² = 10/9 · 10 · .16 / 400 = .004444; t(9) at .975 = 2.26216.
    interval = mean_interval([0.2, 0.4, 0.6, 0.8] * 5, np.repeat(list("abcdefghij"), 2))
    assert (interval.value, interval.n, interval.clusters) == (0.5, 20, 10)
    assert interval.high - 0.5 == pytest.approx(2.26216 * 0.0666667, abs=1e-5)


def test_with_fewer_than_ten_documents_every_query_counts_alone() -> None:
    # Residuals ±.3, ±.1: s² = .2 / 3, SE = .1291; t(3) at .975 = 3.18245.
    interval = mean_interval([0.2, 0.4, 0.6, 0.8], ["a", "a", "b", "b"])
    assert (interval.value, interval.n, interval.clusters) == (0.5, 4, 2)
    assert interval.high - 0.5 == pytest.approx(3.18245 * 0.129099, abs=1e-5)
    bounded = mean_interval([0.2, 0.4, 0.6, 0.8], ["a", "a", "b", "b"], proportion=True)
    assert 0 < bounded.low < 0.5 < bounded.high < 1


def test_proportions_lie_between_0_and_1() -> None:
    with pytest.raises(InputError, match="are no proportions"):
        mean_interval([0.5, 1.5], [0, 1], proportion=True)


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (10, 10), (7, 14), (95, 100)])
def test_independent_successes_get_wilsons_interval(hits: int, n: int) -> None:
    ours = mean_interval([1] * hits + [0] * (n - hits), range(n))
    low, high = proportion_confint(hits, n, method="wilson")
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=1e-12)


def test_clusters_widen_it() -> None:
    values = [1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1, 1] * 3
    alone, grouped = mean_interval(values, range(36)), mean_interval(values, np.arange(36) // 3)
    assert grouped.low < alone.low < alone.value < alone.high < grouped.high
    # Of one mind: 36 successes in 12 documents are worth 12, and the width pays for 11 degrees of freedom.
    assert mean_interval([1] * 36, np.arange(36) // 3).low < proportion_confint(12, 12, method="wilson")[0]


def test_a_design_effect_below_1_is_not_believed() -> None:
    values = [0, 1] * 10
    assert mean_interval(values, np.arange(20) // 2).low <= mean_interval(values, range(20)).low


@pytest.mark.parametrize(
    ("values", "clusters"),
    [([0.5], [0]), ([1.0], [0]), ([0.3] * 10, range(10)), ([0.2, 0.8] * 10, np.arange(20) // 2)],
)
def test_no_bounds_where_the_data_allow_none(values, clusters) -> None:
    interval = mean_interval(values, clusters, proportion=True)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert interval.value == pytest.approx(np.mean(values))


@pytest.mark.parametrize(
    ("values", "clusters", "says"),
    [
        ([], [], "no mean of no values"),
        ([math.nan, 1], [0, 1], "NaN"),
        ([1, 0], [0], "do not match"),
    ],
)
def test_senseless_input_is_refused(values, clusters, says: str) -> None:
    with pytest.raises(InputError, match=says):
        mean_interval(values, clusters)


@pytest.mark.parametrize("documents", [5, 14])
def test_many_rows_at_once_are_what_each_is_alone(documents: int) -> None:
    random = np.random.default_rng(documents)
    clusters = random.integers(0, documents, 60)
    rows = np.array(
        [random.random(60), random.random(60) < 0.7, np.ones(60), np.full(60, 0.3), random.standard_normal(60)], dtype=np.float64
    )
    proportion = np.array([True, False, False, True, False])
    many = mean_intervals(rows, clusters, proportion=proportion)
    for row, one, share in zip(rows, many, proportion.tolist(), strict=True):
        alone = mean_interval(row, clusters, proportion=share)
        assert (one.n, one.clusters) == (alone.n, alone.clusters)
        assert [one.value, one.low, one.high] == pytest.approx([alone.value, alone.low, alone.high], abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("kind", ["successes", "shares in steps of 1/4"])
@pytest.mark.parametrize(("documents", "given"), [(12, False), (30, False), (5, True)])
def test_95_percent_intervals_cover_about_95_percent(documents: int, kind: str, given: bool) -> None:
    sizes = SIZES["documents of 1 to 9"](documents) * (5 if given else 1)
    assert coverage(sizes, kind, 0.8, 0.3, 400, given=given) >= 0.92
