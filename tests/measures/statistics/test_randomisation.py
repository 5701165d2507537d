import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.comparison import comparisons
from workbench.measures.statistics.pairs import all_pairs
from workbench.measures.statistics.randomisation import Totals, exact_blocks, exact_p, randomise, sign_blocks, unrejected


def flipped(values: np.ndarray, codes: np.ndarray, seed: int = 1, flips: int = 1_999):
    pairs = all_pairs(values, Clusters.of(codes))
    return pairs, randomise(pairs, np.ones(len(pairs.a), dtype=bool), seed, flips)


def scores(configurations: int = 4, queries: int = 40) -> np.ndarray:
    random = np.random.default_rng(5)
    return np.clip(random.random(queries) + 0.2 * random.standard_normal((configurations, queries)), 0, 1)


def test_alone_it_is_scipys_paired_t_test() -> None:
    values = scores()
    pairs, _ = flipped(values, np.arange(40))
    for p, a, b in zip(pairs.t_p, pairs.a, pairs.b, strict=True):
        assert p == pytest.approx(stats.ttest_rel(values[a], values[b]).pvalue)


@pytest.mark.parametrize("queries", [12, 40])
def test_the_randomisation_is_scipys(queries: int) -> None:
    values = scores(2, queries)
    values[0] += 0.05
    (ours,) = flipped(values, np.arange(queries), flips=9_999)[1].alone
    theirs = stats.permutation_test(
        (values[0] - values[1],), np.mean, permutation_type="samples", n_resamples=9_999, rng=np.random.default_rng(3)
    ).pvalue
    assert ours == pytest.approx(theirs, abs=1e-12 if queries <= 16 else 0.02)


def test_exact_p_by_hand() -> None:
    # 1 + 2 + 3: of 8 totals only 6 and -6 are as far. 1 + 1 - 1: all are.
    assert exact_p(np.array([1.0, 0, 2, 3])) == 0.25
    assert exact_p(np.array([1.0, 1, -1])) == 1
    assert exact_p(np.zeros(4)) == exact_p(np.zeros(0)) == 1
    assert exact_p(np.array([1.0, 2, 3]) * 1e-12) == 0.25


@pytest.mark.parametrize("change", ["none", "unscored", "next to equal"])
def test_totals_of_flips_equal_those_of_each_pair_computed_separately(change: str) -> None:
    values = scores(5)
    if change == "unscored":
        values[1, :9] = np.nan
    if change == "next to equal":
        values[3] = values[2]
        values[3, ::2] += 1e-13
    pairs = all_pairs(values, Clusters.of(range(40)))
    totals = Totals.of(pairs.a, pairs.b, pairs.sums)
    assert len(totals.apart) == {"none": 0, "unscored": 3, "next to equal": 1}[change]
    (signs,) = sign_blocks(40, 50, 1)
    by_itself = signs @ pairs.sums.T / np.sqrt((pairs.sums**2).sum(axis=1))
    assert totals.under(signs) == pytest.approx(by_itself, abs=1e-10)


def test_whole_units_are_flipped() -> None:
    values, codes = scores(2, 40), np.arange(40) // 4
    sums = (values[0] - values[1]).reshape(10, 4).sum(axis=1)
    assert flipped(values, codes)[1].alone[0] == exact_p(sums)


def test_corrected_p_are_stepped_down_and_between_the_plain_ones_and_bonferronis() -> None:
    values = scores(6)
    values[0] += 0.15
    pairs, found = flipped(values, np.arange(40), flips=9_999)
    assert (found.adjusted >= found.alone).all()
    assert (found.adjusted <= np.minimum(1, found.alone * len(pairs.a)) + 0.02).all()
    order = np.argsort(pairs.cautious_p)
    assert (np.diff(found.adjusted[order]) >= 0).all()


def test_a_family_of_one_is_not_corrected() -> None:
    values = np.zeros((2, 40))
    values[0] = np.linspace(-1, 1.4, 40)
    pairs, found = flipped(values, np.arange(40))
    assert pairs.damping == pytest.approx(1)
    assert found.adjusted == found.alone


def test_holm_is_that_of_statsmodels() -> None:
    values = scores()
    pairs, found = flipped(values, np.arange(40))
    rows = comparisons(pairs, found, np.ones(6, dtype=bool), list("abcd"))
    assert [row.p_holm for row in rows] == pytest.approx(multipletests([row.p for row in rows], method="holm")[1].tolist())
    assert all(row.p_adjusted >= row.p for row in rows)


def test_outside_the_family_nothing_is_corrected() -> None:
    pairs = all_pairs(scores(), Clusters.of(range(40)))
    family = pairs.a == 0
    found = randomise(pairs, family, 1, 199)
    assert (np.isnan(found.adjusted) == ~family).all()


def test_equal_seeds_give_equal_p_and_a_copy_changes_no_other() -> None:
    values = scores()
    one, again = flipped(values, np.arange(40))[1], flipped(values, np.arange(40))[1]
    assert (one.adjusted == again.adjusted).all()
    pairs, copied = flipped(np.vstack([values, values[0]]), np.arange(40))
    old = pairs.b < 4
    assert copied.adjusted[old] == pytest.approx(one.adjusted)
    same = (pairs.a == 0) & (pairs.b == 4)
    assert (copied.alone[same], copied.adjusted[same], pairs.t_p[same]) == (1, 1, 1)


def test_configurations_far_behind_are_distinguished_from_the_best() -> None:
    values = scores(4, 60)
    values[2:] -= 0.4
    assert may_be_best(values) == [0, 1]
    assert may_be_best(np.ones((3, 60))) == [0, 1, 2]


def test_where_one_document_decides_and_the_tests_part_nobody_is_left_out() -> None:
    # All 15 documents lean one way, so that flips of their signs never reach this; but 14 of them next to nothing.
    values = np.zeros((2, 15))
    values[0] = [1, *[0.01] * 14]
    pairs, tests = flipped(values, np.arange(15))
    assert tests.alone[0] < 0.001
    assert pairs.cautious_p[0] >= pairs.t_p[0] > 0.2
    assert may_be_best(values) == [0, 1]


def test_what_is_far_behind_does_not_count_against_the_rest() -> None:
    random = np.random.default_rng(2)
    values = 0.5 + 0.05 * random.standard_normal((2, 80))
    values[0] += 0.024
    behind = np.clip(0.2 + 0.05 * random.standard_normal((20, 80)), 0, 1)
    pairs, tests = flipped(np.vstack([values, behind]), np.arange(80))
    first = (pairs.a == 0) & (pairs.b == 1)
    assert tests.unbeaten[1] == pytest.approx(flipped(values, np.arange(80))[1].unbeaten[1], abs=0.01)
    assert tests.adjusted[first][0] > tests.unbeaten[1]


def test_the_level_of_simultaneous_intervals_is_between_bonferronis_and_the_plain_one() -> None:
    assert flipped(scores(2), np.arange(40))[1].level == pytest.approx(0.05, abs=0.01)
    pairs, found = flipped(scores(6), np.arange(40))
    assert 0.05 / len(pairs.a) <= found.level < 0.02


def may_be_best(values: np.ndarray) -> list[int]:
    pairs, tests = flipped(values, np.arange(values.shape[1]))
    return unrejected(tests, pairs).tolist()


@pytest.mark.parametrize("units", [0, 1, 3, 10])
def test_exact_flips_are_all_rows_of_signs_once(units: int) -> None:
    rows = [tuple(row) for block in exact_blocks(units) for row in block.tolist()]
    assert len(rows) == 2**units
    assert set(rows) == set(itertools.product([-1.0, 1.0], repeat=units))


def test_with_few_documents_the_corrected_p_is_the_share_of_all_flips() -> None:
    # Sums 1, 2, 3 and 4 of one sign: 2 of 16 flips are as far.
    values = np.zeros((2, 4))
    values[0] = [1, 2, 3, 4]
    pairs = replace(all_pairs(values, Clusters.of(range(4))), damping=np.ones(1))
    found = randomise(pairs, np.array([True]), 1)
    assert (found.alone[0], found.adjusted[0]) == (2 / 16, 2 / 16)
    # The first step counts the larger lead of either configuration: again 2 of 16.
    assert found.unbeaten.tolist() == [1, 2 / 16]


def test_random_flips_count_the_observed_signs_as_one_more() -> None:
    values = np.zeros((2, 40))
    values[0] = 1 + np.arange(40) / 40
    _, found = flipped(values, np.arange(40), flips=1_999)
    assert (found.alone[0], found.adjusted[0]) == (1 / 2_000, 1 / 2_000)
    assert found.unbeaten[1] == 1 / 2_000


def test_a_pair_with_few_differences_among_many_documents_is_exact() -> None:
    values = np.zeros((3, 40))
    values[0, :3], values[1] = [1, 2, 3], np.linspace(-1, 2, 40)
    pairs, found = flipped(values, np.arange(40))
    assert found.alone[(pairs.a == 0) & (pairs.b == 2)] == 0.25


def test_the_level_of_intervals_does_not_depend_on_the_differences() -> None:
    # Without centring, a large difference on documents of unequal sizes makes the level too high.
    values, codes = np.random.default_rng(8).normal(size=(3, 190)), np.repeat(np.arange(40), np.arange(40) % 9 + 1)
    level = flipped(values, codes)[1].level
    assert flipped(values + np.array([[0.0], [1.0], [2.0]]), codes)[1].level == pytest.approx(level, rel=1e-6)
    assert 0.05 / 3 <= level < 0.05


@pytest.mark.parametrize(
    ("sizes", "dominated"),
    [([110, *[5] * 38], True), ([5] * 40, False), ([20] * 12, False), ([80, *[10] * 11], True), ([30, *[10] * 11], False)],
    ids=["one of 39 has 37 %", "40 equal", "12 equal", "one of 12 has 42 %", "one of 12 has 21 %"],
)
def test_the_level_of_intervals_is_bonferronis_if_few_large_documents_dominate(sizes: list[int], dominated: bool) -> None:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    values = np.random.default_rng(9).normal(size=(3, len(codes)))
    values[2] = values[1] + 0.01 * values[2]
    level = flipped(values, codes)[1].level
    assert (level == pytest.approx(0.05 / 3)) is dominated
