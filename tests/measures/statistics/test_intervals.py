import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, stats

from benchmarks.verdict.coverage import SIZES, coverage, mean_interval
from tests.measures.statistics.reference import wilson
from workbench.core.errors import InputError
from workbench.measures.statistics.clusters import CONDITIONAL, Clusters, weighted
from workbench.measures.statistics.intervals import (
    Interval,
    SimultaneousInterval,
    bounds_text,
    counts_text,
    mean_intervals,
    robust,
    satterthwaite,
)

VALUES = st.lists(st.floats(0, 1), min_size=20, max_size=40)
UNIT_SIZES = [1, 2, 5, 9, 3, 7]
CODES = np.repeat(np.arange(6), UNIT_SIZES)


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


@pytest.mark.parametrize("values", [[0.2, 0.4, 0.6, 0.8] * 3, [0, 1] * 6, [1] * 12])
def test_from_five_documents_on_there_is_an_interval(values) -> None:
    few, enough = (mean_interval(values, np.arange(12) % documents, proportion=True) for documents in (4, 6))
    assert (few.clusters, few.bounds()) == (4, "[documents: 4]")
    assert (enough.clusters, enough.low < enough.high) == (6, True)


def test_five_documents_worked_by_hand() -> None:
    # Five clusters of two: residual sums -.8, -.4, 0, .4, .8, so SE² = 5/4 · 1.6 / 100 = .02; t(4) at .975 = 2.77645.
    interval = mean_interval(np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 2), np.repeat(range(5), 2))
    assert interval.high - 0.5 == pytest.approx(2.77645 * 0.02**0.5, abs=1e-5)


def test_proportions_lie_between_0_and_1() -> None:
    with pytest.raises(InputError, match="are not proportions"):
        mean_interval([0.5, 1.5], [0, 1], proportion=True)


@pytest.mark.parametrize(
    ("hits", "n", "published"),
    [(81, 263, (0.2553, 0.3662)), (15, 148, (0.0624, 0.1605)), (0, 20, (0, 0.1611)), (1, 29, (0.0061, 0.1718)), (20, 20, (0.8389, 1))],
)
def test_independent_successes_get_wilsons_interval(hits: int, n: int, published: tuple[float, float]) -> None:
    # Published by Newcombe (1998, Two-sided confidence intervals for the single proportion, table I, method 3), the last by symmetry.
    ours = mean_interval([1] * hits + [0] * (n - hits), range(n))
    assert (ours.low, ours.high) == pytest.approx(published, abs=5e-5)
    assert (ours.low, ours.high) == pytest.approx(wilson(hits, n), abs=1e-12)


def test_clusters_widen_it() -> None:
    values = [1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1, 1] * 3
    alone, grouped = mean_interval(values, range(36)), mean_interval(values, np.arange(36) // 3)
    assert grouped.low < alone.low < alone.value < alone.high < grouped.high
    # Of one mind: 36 successes in 12 documents are worth 12, and the width pays for 11 degrees of freedom.
    assert mean_interval([1] * 36, np.arange(36) // 3).low < wilson(12, 12)[0]


def test_a_design_effect_below_1_is_not_believed() -> None:
    values = [0, 1] * 10
    assert mean_interval(values, np.arange(20) // 2).low <= mean_interval(values, range(20)).low


@pytest.mark.parametrize(
    ("values", "clusters"),
    [([0.5], [0]), ([1.0], [0]), ([1.0] * 4, range(4)), ([0.3] * 10, range(10)), ([0.2, 0.8] * 10, np.arange(20) // 2)],
)
def test_no_bounds_where_the_data_allow_none(values, clusters) -> None:
    interval = mean_interval(values, clusters, proportion=True)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert interval.value == pytest.approx(np.mean(values))


@pytest.mark.parametrize(
    ("values", "clusters", "says"),
    [
        ([], [], "the mean of no values is undefined"),
        ([math.nan, 1], [0, 1], "NaN"),
        ([1, 0], [0], "do not match"),
    ],
)
def test_senseless_input_is_refused(values, clusters, says: str) -> None:
    with pytest.raises(InputError, match=says):
        mean_interval(values, clusters)


@pytest.mark.parametrize("documents", [5, 14])
def test_many_rows_at_once_equal_each_row_alone(documents: int) -> None:
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
@pytest.mark.parametrize("documents", [5, 12, 30])
def test_95_percent_intervals_cover_about_95_percent(documents: int, kind: str) -> None:
    assert coverage(SIZES["documents of 1 to 9"](documents), kind, 0.8, 0.3, 400) >= 0.92


def by_matrices(values: np.ndarray, correlation: float) -> tuple[float, float]:
    """CR2 and its degrees of freedom as Bell and McCaffrey write them, with matrix roots."""
    n = len(values)
    annihilator = np.eye(n) - 1 / n
    residuals, total, columns = values - values.mean(), 0.0, []
    for unit in range(6):
        mine = np.equal(CODES, unit)
        root = np.linalg.inv(linalg.sqrtm(annihilator[np.ix_(mine, mine)]).real)
        total += float(root.sum(axis=0) @ residuals[mine]) ** 2
        columns.append(annihilator[mine].T @ root @ np.ones(mine.sum()))
    together = np.where(CODES[:, None] == CODES, correlation, 0.0) + np.eye(n) * (1 - correlation)
    spread = np.array(columns) @ together @ np.array(columns).T
    return math.sqrt(total) / n, np.trace(spread) ** 2 / np.trace(spread @ spread)


@pytest.mark.parametrize("correlation", [0, 0.4, 1])
def test_it_is_cr2_with_the_degrees_of_freedom_of_bell_and_mccaffrey(correlation: float) -> None:
    values = np.random.default_rng(1).random(len(CODES))
    error, freedom = by_matrices(values, correlation)
    assert robust(values[None], Clusters.of(CODES)).error[0] == pytest.approx(error)
    found = satterthwaite(np.array([UNIT_SIZES], dtype=float), np.array([correlation]), np.array([True]))
    assert found[0] == pytest.approx(freedom)


def test_alone_it_is_the_ordinary_standard_error() -> None:
    values = np.random.default_rng(2).random((3, 20))
    found = robust(values, Clusters.of(range(20)))
    assert found.error == pytest.approx(stats.sem(values, axis=1))
    assert found.freedom == pytest.approx([19] * 3)


def test_rows_are_those_of_their_scored_queries() -> None:
    values = np.random.default_rng(3).random((2, len(CODES)))
    values[1, [0, 4, 9]] = np.nan
    kept = ~np.isnan(values[1])
    whole, part = robust(values, Clusters.of(CODES)), robust(values[1:, kept], Clusters.of(CODES[kept]))
    assert (whole.n[1], whole.mean[1]) == (len(CODES) - 3, pytest.approx(part.mean[0]))
    assert (whole.error[1], whole.freedom[1]) == (pytest.approx(part.error[0]), pytest.approx(part.freedom[0]))


def test_no_values_have_no_mean() -> None:
    found = robust(np.full((1, 3), np.nan), Clusters.of(range(3)))
    assert math.isnan(found.mean[0])
    assert math.isnan(found.error[0])


DOCUMENTS = [[place % 20] if place % 3 else [place % 20, (3 * place + 1) % 20] for place in range(60)]


def test_the_error_for_shared_documents_sums_over_all_queries_that_share_one() -> None:
    random = np.random.default_rng(7)
    effects = random.standard_normal(20)
    values = np.array([effects[documents].mean() for documents in DOCUMENTS]) + 0.2 * random.standard_normal(60)
    linked = np.array([[bool(set(one) & set(other)) for other in DOCUMENTS] for one in DOCUMENTS], dtype=float)
    residuals, pairs = values - values.mean(), linked.sum()
    expected = residuals @ linked @ residuals / 3600 / (1 - pairs / 3600)
    centred = (np.eye(60) - 1 / 60) @ linked @ (np.eye(60) - 1 / 60)
    clusters = Clusters.linked([documents[0] for documents in DOCUMENTS], DOCUMENTS)
    found = robust(values[None], clusters)
    assert found.error[0] == pytest.approx(expected**0.5)
    assert found.error[0] > found.alone[0] == robust(values[None], Clusters.of(clusters.codes)).error[0]
    assert found.freedom[0] == pytest.approx(min(found.alone_freedom[0], np.trace(centred) ** 2 / np.trace(centred @ centred)))
    assert not found.conditional[0]


def test_unscored_queries_link_nothing() -> None:
    values = np.random.default_rng(8).random((1, 60))
    values[0, ::7] = np.nan
    kept = ~np.isnan(values[0])
    clusters = Clusters.linked([documents[0] for documents in DOCUMENTS], DOCUMENTS)
    whole, part = robust(values, clusters), robust(values[:, kept], clusters[kept])
    assert (whole.error[0], whole.freedom[0]) == (pytest.approx(part.error[0]), pytest.approx(part.freedom[0]))


def test_too_many_shared_documents_make_the_interval_conditional() -> None:
    values, clusters = np.random.default_rng(9).random(60), Clusters.linked(range(60), [[place % 11, 11] for place in range(60)])
    interval = mean_interval(values, clusters)
    assert interval.conditional == CONDITIONAL
    assert (interval.low, interval.high) == pytest.approx((mean_interval(values, range(60)).low, mean_interval(values, range(60)).high))


def test_bounds_are_an_interval_or_the_number_of_documents() -> None:
    assert bounds_text(0.1, 0.25, 9, digits=2) == "[0.10, 0.25]"
    assert bounds_text(0.1, 0.25, 9, CONDITIONAL, 2) == "[0.10, 0.25] this corpus"
    assert bounds_text(0.1, 0.25, 9) == "[0.100, 0.250]"
    assert bounds_text(math.nan, math.nan, 1) == "[documents: 1]"
    assert bounds_text(math.nan, math.nan, 4) == "[documents: 4]"
    for documents in (0, 5, 9):
        assert bounds_text(math.nan, math.nan, documents) == "[no interval]"
    assert bounds_text(0.1, math.inf, 4) == "[documents: 4]"


def test_with_equal_documents_the_mean_is_that_of_the_documents_means() -> None:
    values = np.random.default_rng(3).random((2, 21))
    codes = np.repeat(np.arange(6), [1, 2, 9, 3, 5, 1])
    means = np.array([[row[codes == each].mean() for each in range(6)] for row in values])
    found = mean_intervals(values, weighted(Clusters.of(codes), "documents"), proportion=np.array([True, False]))
    expected = mean_intervals(means, range(6), proportion=np.array([True, False]))
    assert [(row.value, row.low, row.high) for row in found] == [pytest.approx((row.value, row.low, row.high)) for row in expected]
    assert {(row.n, row.clusters) for row in found} == {(21, 6)}


def test_with_equal_documents_unscored_queries_are_left_out_of_their_document() -> None:
    values = np.array([[1.0, np.nan, 0, 0, 1, 0.5, 0, np.nan]])
    found = robust(values, weighted(Clusters.of([0, 0, 1, 1, 2, 3, 4, 5]), "documents"))
    assert (found.mean[0], found.n[0], found.clusters[0]) == (pytest.approx((1 + 0 + 1 + 0.5 + 0) / 5), 6, 5)


def test_an_interval_prints_its_bounds_with_three_digits_or_as_many_as_asked() -> None:
    plain = Interval(0.2, 0.1, 0.25, 40, 9)
    assert (plain.bounds(), plain.bounds(2)) == ("[0.100, 0.250]", "[0.10, 0.25]")
    assert Interval(0.2, 0.1, 0.25, 40, 9, CONDITIONAL).bounds() == "[0.100, 0.250] this corpus"
    assert SimultaneousInterval(-0.1, -0.2, 0, 40, 9).bounds() == "[−0.200, 0.000]"
    assert SimultaneousInterval(-0.1, -0.2, 0, 40, 9, excludes_zero=True).bounds(1) == "[−0.2, 0.0)"
    assert SimultaneousInterval(0.1, 0.000092, 0.199, 40, 9, excludes_zero=True).bounds() == "(0.000, 0.199]"
    assert SimultaneousInterval(0.1, 0.000092, 0.199, 40, 9).bounds() == "[0.000, 0.199]"


def test_counts_define_a_cluster() -> None:
    assert counts_text(12, 5) == "12 questions in 5 clusters, each the questions about one document"
    assert counts_text(1, 1) == "1 question in 1 cluster, each the questions about one document"


def test_values_that_agree_in_large_documents_have_no_correlation_above_1() -> None:
    # All that deviates is the two largest documents, so the estimate by moments exceeds 1.
    values = np.array([0.5, 0.5, 0.5, 1.0, 0.5, 0.0])[CODES]
    found = satterthwaite(np.array([UNIT_SIZES], dtype=float), np.array([1.0]), np.array([True]))
    assert robust(values[None], Clusters.of(CODES)).freedom == pytest.approx(found)


@pytest.mark.parametrize(
    "groups",
    [
        [[1, 1, 0], [1], [1, 1, 1, 1], [1, 0], [1, 1]],
        [[0, 0, 0], [0, 1], [0, 0, 0, 0], [0], [0, 0]],
        [[0, 0, 0, 0], [1, 1], [1, 0], [1, 1], [1, 0, 0, 1]],  # a mean of .5: what is rare is anything but 1
        [[1, 1, 1], [1], [1, 1]] * 2,
        [[0.5, 1], [0.5, 0.75, 1], [1, 0.5], [0.25], [1, 0.5, 0.5]],  # shares may vary less than successes
        [[0.25, 0], [0, 0], [0, 0.25, 0], [0], [0.5, 0.25]],
    ],
)
def test_wilsons_interval_has_the_effective_n_of_its_documents(groups: list[list[float]]) -> None:
    values, codes = np.concatenate(groups), np.repeat(range(len(groups)), [len(group) for group in groups])
    n, mean, means = len(values), values.mean(), robust(values[None], Clusters.of(codes))
    agreeing = sum(len(group) ** 2 for group in groups) / n
    estimate = agreeing
    if 0 < mean < 1:
        estimate = means.error[0] ** 2 / (mean * (1 - mean) / (n - 1))
        estimate = max(estimate, 1) if set(values) <= {0, 1} else estimate
    rare = sum(any(value != (1 if mean >= 0.5 else 0) for value in group) for group in groups)
    design = (rare**2 * estimate + 4 * max(agreeing, estimate)) / (rare**2 + 4)
    effective = n / design * (stats.t.ppf(0.975, n - 1) / stats.t.ppf(0.975, means.freedom[0])) ** 2
    found = mean_interval(values, codes, proportion=True)
    assert (found.low, found.high) == pytest.approx(wilson(mean * effective, effective))
