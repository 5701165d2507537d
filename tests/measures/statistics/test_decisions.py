import math

import numpy as np
import pytest
from scipy import stats

from tests.measures.statistics.reference import wilson
from workbench.core.errors import InputError
from workbench.measures.statistics.clusters import Clusters, weighted
from workbench.measures.statistics.comparison import holm
from workbench.measures.statistics.decisions import (
    Decision,
    MetricScale,
    PairedTest,
    Values,
    average,
    floor_test,
    paired_test,
    second_stage,
)

MARGIN = 0.04


def values(*parts: tuple[float, int], unscored: int = 0) -> Values:
    """Values from pairs of a value and its number, then questions without a value."""
    known = np.repeat([value for value, _ in parts], [count for _, count in parts]).astype(np.float64)
    return Values(np.append(known, np.full(unscored, np.nan)), np.append(np.zeros(len(known), bool), np.ones(unscored, bool)))


def alone(count: int) -> Clusters:
    return Clusters.of(np.arange(count))


def compared(candidate: Values, baseline: Values, margin: float = MARGIN, **options):
    return paired_test(candidate, baseline, alone(len(candidate.values)), margin, **options)


def test_p_and_the_upper_bound_are_those_of_the_paired_t_test() -> None:
    random = np.random.default_rng(1)
    baseline = random.random(60)
    candidate = np.clip(baseline - 0.05 + np.tile([-0.1, 0.1], 30), 0, 1)
    found = compared(Values(candidate, np.zeros(60, bool)), Values(baseline, np.zeros(60, bool)))
    difference = candidate - baseline
    test = stats.ttest_rel(candidate, baseline, alternative="less")
    error = difference.std(ddof=1) / math.sqrt(60)
    assert found.difference == pytest.approx(difference.mean())
    assert found.high == pytest.approx(difference.mean() + stats.t.ppf(0.95, 59) * error)
    skew = max(0.0, float(stats.skew(difference)) / math.sqrt(60))
    t = -test.statistic
    # The t whose correction by Johnson is the t without skew.
    c = stats.t.isf(found.p, 59)
    assert c + skew * (1 + 2 * c**2) / 6 == pytest.approx(t, abs=1e-6)


def score_bound(mean: float, variance: float, quantile: float, documents: int) -> float:
    """The lower bound of documents with one question each: d = q · √((variance + d²) / documents), solved for d."""
    return mean - quantile * math.sqrt(variance / (documents - quantile**2))


def test_a_lower_bound_worked_by_hand() -> None:
    # 10 gains and 10 losses of 100: no skew, t(99) at .04 = 1.7688. A true mean that is lower by d has the SE² (.2 + d²) / 100.
    found = compared(values((1, 10), (0, 10), (1, 80)), values((0, 10), (1, 10), (1, 80)))
    assert found.low == pytest.approx(score_bound(0, 0.2, stats.t.isf(0.04, 99), 100), abs=1e-9)
    assert (found.outcome, found.p) == (Decision.UNDECIDED, pytest.approx(0.5))


def test_a_skew_towards_losses_lowers_the_lower_bound() -> None:
    # 20 losses of 100: γ of the differences is -(1 - 2 · .2) / √(.2 · .8) = -1.5, so A = .15.
    found = compared(values((0, 20), (1, 80)), values((1, 100)))
    q = stats.t.isf(0.04, 99)
    assert found.low == pytest.approx(score_bound(-0.2, 0.16, q + 0.15 * (1 + 2 * q**2) / 6, 100), abs=1e-9)
    assert found.outcome is Decision.FAIL


def test_fewer_than_5_differing_questions_cannot_fail() -> None:
    three, five = (compared(values((0, lost), (1, 30 - lost)), values((1, 30))) for lost in (3, 5))
    assert (three.outcome, three.few) == (Decision.UNDECIDED, True)
    assert (five.outcome, five.few, five.p <= 0.05) == (Decision.FAIL, False, True)


def test_fewer_than_30_questions_cannot_fail() -> None:
    found = compared(values((0, 29)), values((1, 29)))
    assert (found.outcome, found.few, found.p < 1e-6) == (Decision.UNDECIDED, True, True)
    assert compared(values((0, 30)), values((1, 30))).outcome is Decision.FAIL


def test_equal_values_pass_if_the_outputs_are_equal_or_unseen_losses_are_within_the_margin() -> None:
    # Up to 3 unseen total losses: 3 / 53 exceeds a margin of .04, and 3 / 103 does not.
    fifty, hundred = (compared(values((1, n)), values((1, n))) for n in (50, 100))
    assert (fifty.outcome, fifty.low, fifty.p) == (Decision.UNDECIDED, pytest.approx(-3 / 53), 1.0)
    assert (hundred.outcome, hundred.low, hundred.identical) == (Decision.PASS, pytest.approx(-3 / 103), True)
    assert compared(values((1, 50)), values((1, 50)), same_outputs=True).outcome is Decision.PASS
    assert fifty.needed == (75, 150)


def test_a_constant_drop_is_tested_by_the_signs_of_its_documents() -> None:
    baseline, small, large = values((0.5, 40)), values((0.49, 40)), values((0.4, 40))
    assert (compared(small, baseline).outcome, compared(small, baseline).worse) == (Decision.PASS, True)
    codes = Clusters.of(np.arange(40) % 6)
    found = paired_test(large, baseline, codes, MARGIN)
    assert (found.outcome, found.p) == (Decision.FAIL, 0.5**6)


def test_fewer_than_5_documents_decide_nothing() -> None:
    found = paired_test(values((0, 40)), values((1, 40)), Clusters.of(np.arange(40) % 4), MARGIN)
    assert (found.outcome, found.low, found.high) == (Decision.UNDECIDED, -math.inf, math.inf)
    assert (math.isnan(found.p), found.needed) == (True, None)
    same = paired_test(values((1, 40)), values((1, 40)), Clusters.of(np.arange(40) % 4), MARGIN, same_outputs=True)
    assert same.outcome is Decision.PASS


def test_questions_of_one_document_count_together() -> None:
    candidate, baseline = values((0, 20), (1, 80)), values((1, 100))
    apart = paired_test(candidate, baseline, alone(100), MARGIN)
    together = paired_test(candidate, baseline, Clusters.of(np.arange(100) // 10), MARGIN)
    assert (apart.outcome, together.outcome, together.few) == (Decision.FAIL, Decision.UNDECIDED, True)
    assert together.low < apart.low < together.difference == pytest.approx(apart.difference)


def test_documents_can_count_equally() -> None:
    codes = Clusters.of(np.repeat(np.arange(40), [61] + [1] * 39))
    found = paired_test(values((0, 61), (1, 39)), values((1, 100)), weighted(codes, "documents"), MARGIN)
    assert (found.difference, found.n, found.clusters) == (pytest.approx(-1 / 40), 100, 40)


def test_lower_is_better_for_faults() -> None:
    found = compared(values((1, 20), (0, 80)), values((0, 100)), scale=MetricScale(worst=1, best=0))
    assert (found.outcome, found.difference) == (Decision.FAIL, pytest.approx(-0.2))
    mirrored = compared(values((0, 20), (1, 80)), values((1, 100)))
    assert (found.low, found.high, found.p) == pytest.approx((mirrored.low, mirrored.high, mirrored.p))


def test_unscored_questions_are_bounded_in_both_directions() -> None:
    random = np.random.default_rng(2)
    candidate, baseline = (random.integers(0, 2, 200).astype(float) for _ in range(2))
    hidden = np.zeros(200, bool)
    hidden[:4] = True
    left = Values(np.where(hidden, np.nan, candidate), hidden)
    found = compared(left, Values(baseline, np.zeros(200, bool)))
    ends = [compared(Values(np.where(hidden, end, candidate), ~hidden & hidden), Values(baseline, ~hidden & hidden)) for end in (0.0, 1.0)]
    assert found.low == pytest.approx(min(end.low for end in ends))
    assert found.high == pytest.approx(max(end.high for end in ends))
    assert found.p == pytest.approx(max(end.p for end in ends))
    assert (found.n, found.unscored, found.identical) == (196, 4, False)


def test_equal_values_with_an_unscored_question_are_not_identical() -> None:
    found = compared(values((1, 99), unscored=1), values((1, 99), unscored=1), same_outputs=True)
    # A loss on the one question that may be lost, and 3 on unseen ones.
    assert (found.identical, found.low <= -4 / 103) == (False, True)


def test_without_a_common_value_there_is_no_test() -> None:
    with pytest.raises(InputError, match="no question has a value in both runs"):
        compared(values(unscored=40), values((1, 40)))


def test_an_alarm_is_decided_by_the_second_runs() -> None:
    alarm = compared(values((0, 10), (1, 90)), values((1, 100)))
    unchanged = compared(values((1, 10), (0, 10), (1, 80)), values((0, 10), (1, 10), (1, 80)))
    sure = compared(values((1, 1000)), values((1, 1000)))
    assert alarm.outcome is Decision.FAIL
    assert second_stage(alarm, alarm, alarm).outcome is Decision.FAIL
    assert second_stage(alarm, unchanged, unchanged).outcome is Decision.UNDECIDED
    assert second_stage(alarm, sure, sure).outcome is Decision.PASS
    # Without an alarm the first runs decide.
    assert second_stage(unchanged, alarm, alarm) == unchanged


def test_a_second_run_fails_at_04() -> None:
    # 17 losses and 8 gains of 100: t = -1.82, p = .036; 16 and 8: p = .051.
    confirmed, alarm = (compared(values((0, lost), (1, 8), (1, 92 - lost)), values((1, lost), (0, 8), (1, 92 - lost))) for lost in (17, 30))
    assert 0.03 < confirmed.p <= 0.04
    assert second_stage(alarm, confirmed, confirmed).outcome is Decision.FAIL
    weaker = compared(values((0, 33), (1, 20), (1, 47)), values((1, 33), (0, 20), (1, 47)))
    assert 0.03 < weaker.p <= 0.05
    decided = second_stage(alarm, weaker, weaker).outcome
    assert decided is (Decision.FAIL if weaker.p <= 0.04 else Decision.UNDECIDED)


def test_the_mean_of_two_runs_lacks_what_either_lacks() -> None:
    found = average(values((1, 1), (0, 1), unscored=1), values((0, 1), (0, 2)))
    assert found.values[:2].tolist() == [0.5, 0.0]
    assert (math.isnan(found.values[2]), found.unscored.tolist()) == (True, [False, False, True])


def test_the_questions_that_would_decide_grow_with_the_square_of_the_distance() -> None:
    found = compared(values((1, 10), (0, 10), (1, 80)), values((0, 10), (1, 10), (1, 80)))
    reach = (stats.t.isf(0.04, 99) + stats.norm.ppf(0.8)) * math.sqrt(0.2 / 99)
    assert found.needed == (math.ceil(100 * (reach / 0.04) ** 2), math.ceil(100 * (reach / 0.02) ** 2))


@pytest.mark.parametrize(("hits", "limit", "outcome"), [(7, 0.7, Decision.PASS), (6, 0.7, Decision.FAIL), (8, 0.7, Decision.PASS)])
def test_a_specification_is_about_these_questions(hits: int, limit: float, outcome: Decision) -> None:
    found = floor_test(values((1, hits), (0, 10 - hits)), alone(10), limit, inference=False)
    assert (found.outcome, found.value, math.isnan(found.p)) == (outcome, hits / 10, True)


def test_rounding_does_not_break_a_specification() -> None:
    found = floor_test(values((0.1, 3), (0.7, 7)), alone(10), math.fsum([0.3, 4.9]) / 10, inference=False)
    assert found.outcome is Decision.PASS


@pytest.mark.parametrize(("hits", "outcome"), [(97, Decision.PASS), (92, Decision.UNDECIDED), (70, Decision.FAIL)])
def test_inference_compares_wilsons_interval(hits: int, outcome: Decision) -> None:
    found = floor_test(values((1, hits), (0, 100 - hits)), alone(100), 0.9, inference=True)
    assert (found.low, found.high) == pytest.approx(wilson(hits, 100))
    assert found.outcome is outcome
    z = (hits / 100 - 0.9) / math.sqrt(0.9 * 0.1 / 100)
    assert found.p == pytest.approx(stats.norm.cdf(z))


def test_a_failed_floor_has_a_p_of_at_most_025() -> None:
    # By the t test p would be .053.
    found = floor_test(values((1, 5), (0, 5)), alone(10), 0.8, inference=True)
    assert (found.outcome, found.p <= 0.025) == (Decision.FAIL, True)


def test_a_mean_that_is_no_proportion_has_the_t_test() -> None:
    numbers = np.arange(40) / 10
    found = floor_test(Values(numbers, np.zeros(40, bool)), alone(40), 2.5, inference=True, proportion=False)
    assert found.p == pytest.approx(stats.ttest_1samp(numbers, 2.5, alternative="less").pvalue)


def test_a_ceiling_is_a_limit_from_above() -> None:
    scale = MetricScale(worst=1, best=0)
    found = [floor_test(values((1, n), (0, 100 - n)), alone(100), 0.1, inference=True, scale=scale) for n in (3, 8, 30)]
    assert [each.outcome for each in found] == [Decision.PASS, Decision.UNDECIDED, Decision.FAIL]
    assert found[2].p == pytest.approx(stats.norm.sf(0.2 / math.sqrt(0.09 / 100)))


def test_unscored_questions_count_at_worst_for_a_pass_and_at_best_for_a_failure() -> None:
    found = [floor_test(values((1, hits), (0, 98 - hits), unscored=2), alone(100), 0.7, inference=False) for hits in (70, 69, 67)]
    assert [each.outcome for each in found] == [Decision.PASS, Decision.UNDECIDED, Decision.FAIL]


def test_inference_needs_5_documents() -> None:
    found = floor_test(values((0, 40)), Clusters.of(np.arange(40) % 4), 0.5, inference=True)
    assert (found.outcome, math.isnan(found.low)) == (Decision.UNDECIDED, True)


def test_several_rules_are_corrected_by_holm() -> None:
    # .01 · 3, .02 · 2, and .04, which may not be smaller.
    assert holm(np.array([0.04, math.nan, 0.01, 0.02])).tolist() == pytest.approx([0.04, math.nan, 0.03, 0.04], nan_ok=True)
    # The smaller p has the larger factor: without the larger p's floor it would be corrected less.
    assert holm(np.array([0.021, 0.02])).tolist() == pytest.approx([0.04, 0.04])
    assert holm(np.zeros(0)).tolist() == []
    assert np.isnan(holm(np.array([math.nan]))).all()


def test_few_documents_lower_the_lower_bound_below_that_of_the_t_interval() -> None:
    # A gain or a loss of .1 in each of 10 documents: SE² = .01 / 9, and .01 / 10 + d² / 10 if the true mean is lower by d.
    candidate, baseline = values((0.6, 5), (0.4, 5)), values((0.5, 10))
    found = compared(candidate, baseline, margin=0.2)
    q = stats.t.isf(0.04, 9)
    assert found.low == pytest.approx(score_bound(0, 0.01, q, 10), abs=1e-9)
    assert found.low < -q * math.sqrt(0.01 / 9)


def test_a_drop_that_total_gains_on_three_questions_would_undo_does_not_fail() -> None:
    drops = np.repeat([0.04, 0.06], 20)
    found = compared(Values(0.5 - drops, np.zeros(40, bool)), values((0.5, 40)), margin=0.02)
    assert found.p < 0.001
    assert (found.few, found.outcome) == (True, Decision.UNDECIDED)
    larger = compared(Values(0.5 - 2 * drops, np.zeros(40, bool)), values((0.5, 40)), margin=0.02)
    assert (larger.few, larger.outcome) == (False, Decision.FAIL)


def test_the_questions_that_would_decide_reach_80_percent_power() -> None:
    random = np.random.default_rng(3)
    outcomes = np.array([-1.0, 0.0, 1.0])

    def sample(count: int) -> PairedTest:
        drawn = random.choice(outcomes, count, p=[0.06, 0.88, 0.06])
        return compared(Values(0.5 + drawn, np.zeros(count, bool)), values((0.5, count)), margin=0.04)

    # Of 60 questions, which are mostly undecided.
    needed = sorted(found.needed[0] for _ in range(60) if (found := sample(60)).needed)
    assert len(needed) > 40
    needed = needed[len(needed) // 2]
    passed = np.mean([sample(needed).outcome is Decision.PASS for _ in range(300)])
    # Three standard errors of a share of .8 over 300 samples, and those of the number itself.
    assert abs(passed - 0.8) < 0.1


def steady(mean: float, spread: float = 0.03, questions: int = 120) -> Values:
    """Values around .5 plus a mean, with as many above as below."""
    return Values(0.5 + mean + np.tile([-spread, spread], questions // 2), np.zeros(questions, bool))


BEFORE = Values(np.full(120, 0.5), np.zeros(120, bool))


@pytest.mark.parametrize(
    ("mean", "outcome", "equivalent"),
    [
        (0.0, Decision.PASS, True),
        (-0.02, Decision.PASS, True),  # a significant drop that is smaller than the margin
        (0.02, Decision.PASS, True),
        (0.039, Decision.PASS, False),  # a gain of the margin is not excluded
        (0.2, Decision.PASS, False),
        (-0.039, Decision.FAIL, False),
        (-0.2, Decision.FAIL, False),
    ],
)
def test_a_pass_is_equivalent_if_a_gain_of_the_margin_is_excluded_as_well(mean: float, outcome: Decision, equivalent: bool) -> None:
    found = compared(steady(mean), BEFORE)
    assert (found.outcome, found.equivalent) == (outcome, equivalent)


def test_few_questions_or_documents_are_not_equivalent_unless_the_outputs_are_the_same() -> None:
    few = paired_test(steady(0.0), BEFORE, Clusters.of(np.arange(120) % 9), MARGIN)
    assert (few.outcome, few.equivalent) == (Decision.PASS, False)
    assert not compared(steady(0, questions=28), values((0.5, 28)), margin=0.2).equivalent
    assert compared(BEFORE, BEFORE, same_outputs=True).equivalent


def test_gains_that_are_rare_are_as_unseen_as_losses() -> None:
    # Only 4 of 120 questions gain and 4 lose anything: 3 more total gains of 123 could be 0.024.
    changed = values((0.45, 4), (0.5, 112), (0.55, 4))
    assert compared(changed, BEFORE, margin=0.025).equivalent
    assert not compared(changed, BEFORE, margin=0.024).equivalent
