import math

import numpy as np
import pytest
from scipy import stats

from workbench.core.errors import InputError
from workbench.measures.statistics.comparison import Comparison, judged_bounds, paired_difference, paired_differences
from workbench.measures.statistics.intervals import Interval


def test_identical_runs_differ_by_0_without_an_interval_that_would_claim_certainty() -> None:
    values = [0.2, 0.7, 1, 0, 0.3, 1]
    interval = paired_difference(values, values, [0, 1, 1, 2, 3, 4])
    assert (interval.value, interval.bounds(), interval.n, interval.clusters) == (0, "[no interval]", 6, 5)
    few = paired_difference(values, values, [0, 1, 1, 2, 3, 3])
    assert (few.value, few.bounds()) == (0, "[documents: 4]")


def test_one_query_has_no_bounds_even_if_equal() -> None:
    interval = paired_difference([0.5], [0.5], [0])
    assert (interval.value, interval.n) == (0, 1)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


def test_it_is_the_paired_t_interval_where_queries_are_independent() -> None:
    random = np.random.default_rng(3)
    a, b = random.random(40), random.random(40)
    ours = paired_difference(a, b, range(40))
    theirs = stats.ttest_rel(a, b).confidence_interval()
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
    assert ours.value == pytest.approx((a - b).mean())


def test_a_is_better_where_the_difference_is_positive() -> None:
    assert paired_difference([1, 1, 0], [0, 1, 0], [0, 1, 2]).value == pytest.approx(1 / 3)


def test_differences_of_0_and_1_are_no_proportion() -> None:
    interval = paired_difference([1, 1, 0, 0, 0], [0, 1, 0, 0, 0], range(5))
    assert interval.low < 0


def test_a_difference_that_does_not_vary_has_no_bounds() -> None:
    interval = paired_difference([0.3, 0.8, 0.5], [0.2, 0.7, 0.4], range(3))
    assert interval.value == pytest.approx(0.1)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


def test_queries_unscored_on_a_side_are_left_out() -> None:
    interval = paired_difference([1, math.nan, 0, 1], [0, 1, math.nan, 1], [0, 1, 2, 3])
    assert (interval.value, interval.n, interval.clusters) == (0.5, 2, 2)


def test_many_pairs_at_once_equal_each_pair_alone() -> None:
    random = np.random.default_rng(4)
    a, b, clusters = random.random((6, 50)), random.random((6, 50)), random.integers(0, 15, 50)
    a[1, :7], b[2, 40:], a[4, :45] = math.nan, math.nan, math.nan
    b[3] = a[3]
    for first, second, one in zip(a, b, paired_differences(a, b, clusters), strict=True):
        alone = paired_difference(first, second, clusters)
        assert (one.n, one.clusters) == (alone.n, alone.clusters)
        assert [one.value, one.low, one.high] == pytest.approx([alone.value, alone.low, alone.high], abs=1e-12, nan_ok=True)
    assert [one.n for one in paired_differences(a, b, clusters)] == [50, 43, 40, 50, 5, 50]


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(InputError, match="the mean of no values is undefined"):
        paired_difference([math.nan], [1], [0])
    with pytest.raises(InputError, match="cannot be paired"):
        paired_difference([1, 2], [1], [0])


def test_bounds_of_a_difference_of_which_parts_are_unknown() -> None:
    assert judged_bounds([0, 0.5, math.nan], [1, 0.5, 1], [0, 0, 0], [0.5, 0, 1]) == (0.0, 0.75)
    assert math.isnan(judged_bounds([math.nan], [1], [0], [1]).low)
    with pytest.raises(InputError, match="different shapes"):
        judged_bounds([0, 1], [1], [0], [1])


def test_unknown_parts_of_both_sides_widen_the_bounds() -> None:
    # At least .5 - .75 and at most 1 - .25.
    assert judged_bounds([0.5], [1.0], [0.25], [0.75]) == (-0.25, 0.75)
    assert np.isnan(judged_bounds([math.nan], [1], [0], [1])).all()


def test_a_missing_value_may_be_none() -> None:
    assert paired_difference([None, 1, 1], [0, None, 0], [0, 1, 2]).value == 1
    assert judged_bounds([None, 0], [1, 1], [0, 0], [0, 0]) == (0, 1)


def test_reversed_it_is_the_comparison_of_the_other_with_the_first() -> None:
    plain = Comparison("a", "b", Interval(0.2, 0.1, 0.4, 30, 9, "c"), 0.0, 0.5, False, 3, 0.02, 0.01, 0.02, 0.03, 0.04, 0.5)
    other = Comparison("b", "a", Interval(-0.2, -0.4, -0.1, 30, 9, "c"), -0.5, 0.0, False, 3, 0.02, 0.01, 0.02, 0.03, 0.04, 0.5)
    assert plain.reversed() == other
    assert math.copysign(1, plain.reversed().high_adjusted) == 1  # not -0.0
