"""Items are drawn on the same questions, at random, and with enough of each verdict class. Means of sampled questions: worked by hand, the limits of few values, and the correction for the judge."""

import numpy as np
import pytest

from workbench.measures.statistics.intervals import Interval
from workbench.measures.statistics.judge_calibration import CalibrationValue
from workbench.measures.statistics.samples import DrawableItem, DrawnSample, corrected_for_judge, draw, sampled_mean, shuffled


def items(name, questions=200, claims=3, bad=10):
    return [
        DrawableItem(f"{name}-{question}-{claim}", f"q{question}", 0, int(question % bad != 0), f"claim {claim}")
        for question in range(questions)
        for claim in range(claims)
    ]


def questions_of(ids):
    return [item_id.split("-")[1] for item_id in ids]


def test_configurations_get_the_same_questions_and_claims():
    (a, _), (b, _) = draw(items("a"), 60, 0), draw(items("b"), 60, 0)
    assert [item_id[1:] for item_id in a] == [item_id[1:] for item_id in b]
    assert len(set(questions_of(a))) == 60


def test_rare_verdicts_are_drawn_beyond_the_number_until_there_are_enough():
    at_random, by_class = draw(items("a", 400), 60, 0, 25)
    bad = [question for question in questions_of((*at_random, *by_class)) if int(question) % 10 == 0]
    assert len(bad) == 25
    assert not set(questions_of(at_random)) & set(questions_of(by_class))


def test_a_larger_draw_contains_the_smaller_one():
    small, large = draw(items("a"), 60, 0), draw(items("a"), 100, 0)
    assert {*small[0], *small[1]} <= {*large[0], *large[1]}
    assert draw(items("a"), 60, 1)[0] != small[0]


def test_the_order_of_lines_does_not_tell_how_they_were_drawn():
    at_random, by_class = draw(items("a", 400), 60, 0)
    mixed = shuffled([*at_random, *by_class], 0)
    assert set(mixed[: len(at_random)]) != set(at_random)


def sample(stratum: list[int], weight: list[float], sizes: list[float], cluster: list[int] | None = None) -> DrawnSample:
    places = cluster or list(range(len(stratum)))
    return DrawnSample(np.array(stratum), np.array(weight), np.array(places), np.array(sizes))


def test_the_mean_is_that_of_strata_by_their_sizes() -> None:
    # 90 questions with the mean 1/2 and 10 with the mean 1: the weights within a stratum differ.
    drawn = sample([0, 0, 0, 1, 1], [30.0, 30.0, 15.0, 5.0, 5.0], [90, 10])
    found = sampled_mean(np.array([1.0, 0.0, 0.5, 1.0, 1.0]), drawn)
    assert found.value == pytest.approx(0.9 * (30 + 7.5) / 75 + 0.1)
    assert found.n == found.clusters == 5


def test_failures_that_were_not_seen_are_possible() -> None:
    drawn = sample([0] * 60 + [1] * 30, [10.0] * 60 + [2.0] * 30, [600, 60])
    found = sampled_mean(np.ones(90), drawn)
    assert found.value == found.high == 1
    assert 0.9 < found.low < 0.97


def test_equal_answers_of_a_session_count_once() -> None:
    values = np.tile([1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0], 8)
    alone = sampled_mean(values, sample([0] * 80, [1.0] * 80, [800]))
    together = sampled_mean(values, sample([0] * 80, [1.0] * 80, [800], list(range(10)) * 8))
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_scores_that_vary_little_have_narrow_intervals() -> None:
    scores = np.random.default_rng(0).normal(0.7, 0.05, 100).clip(0, 1)
    found = sampled_mean(scores, sample([0] * 100, [1.0] * 100, [1000]))
    assert found.high - found.low == pytest.approx(4 * 0.005, rel=0.25)


def test_two_days_of_one_service_differ_by_chance_although_their_own_means_are_known_well() -> None:
    # A fifth of the questions has no results and the score 0. Its stratum is known without judging, so the mean of the day's own questions is, too.
    random = np.random.default_rng(0)

    def day(questions: int, judged: int) -> tuple[np.ndarray, DrawnSample]:
        empty = random.binomial(questions, 0.2)
        parts = [(questions - empty, round(0.7 * judged)), (empty, min(empty, round(0.3 * judged)))]
        scores = np.concatenate([random.normal(0.9, 0.03, parts[0][1]).clip(0, 1), np.zeros(parts[1][1])])
        weights = np.concatenate([np.full(drawn, size / drawn) for size, drawn in parts])
        strata = np.repeat([0, 1], [drawn for _, drawn in parts])
        return scores, DrawnSample(strata, weights, np.arange(len(scores)), np.array([size for size, _ in parts], dtype=float))

    own, of_process = 0, 0
    for _ in range(100):
        (scores, drawn), (before, drawn_before) = day(200, 70), day(1400, 500)
        own += _apart(sampled_mean(scores, drawn), sampled_mean(before, drawn_before))
        found = sampled_mean(scores, drawn.of_process())
        assert found.value == pytest.approx(sampled_mean(scores, drawn).value)
        of_process += _apart(found, sampled_mean(before, drawn_before.of_process()))
    assert own > 60
    assert of_process <= 5


def _apart(one: Interval, other: Interval) -> bool:
    """Return whether the interval of a difference excludes 0 (MOVER)."""
    value = one.value - other.value
    below, above = np.hypot(one.value - one.low, other.high - other.value), np.hypot(one.high - one.value, other.value - other.low)
    return bool(value - below > 0 or value + above < 0)


def test_no_value_has_no_mean() -> None:
    assert np.isnan(sampled_mean(np.array([np.nan]), sample([0], [1.0], [9])).value)


def measured(value: float, low: float, high: float) -> CalibrationValue:
    return CalibrationValue(value, low, high, 50)


def test_the_correction_is_that_of_rogan_and_gladen() -> None:
    judged = Interval(0.75, 0.7, 0.8, 100, 100)
    exact = corrected_for_judge(judged, measured(0.9, 0.9, 0.9), measured(0.3, 0.3, 0.3))
    assert (exact.value, exact.low, exact.high) == pytest.approx((0.75, 0.4 / 0.6, 0.5 / 0.6))
    unsure = corrected_for_judge(judged, measured(0.9, 0.8, 0.95), measured(0.3, 0.2, 0.4))
    # √(.08333² + .05769² + .05²) below and √(.08333² + .15² + .03571²) above.
    assert (unsure.value, unsure.low, unsure.high) == pytest.approx((0.75, 0.63699, 0.92527), abs=1e-5)


def test_a_judge_that_may_know_nothing_leaves_everything_possible() -> None:
    found = corrected_for_judge(Interval(0.7, 0.6, 0.8, 50, 50), measured(0.7, 0.5, 0.85), measured(0.5, 0.3, 0.7))
    assert (found.low, found.high) == (0, 1)


def test_fewer_than_twenty_scores_have_no_interval_and_verdicts_have_one() -> None:
    scores = np.random.default_rng(0).uniform(0.3, 0.9, 20)
    for n, known in ((19, False), (20, True)):
        found = sampled_mean(scores[:n], sample([0] * n, [1.0] * n, [n]))
        assert np.isfinite(found.low) == np.isfinite(found.high) == known
        assert found.value == pytest.approx(scores[:n].mean())
    verdicts = sampled_mean(np.array([0.0, 1.0] * 4), sample([0] * 8, [1.0] * 8, [8]))
    assert verdicts.low < 0.5 < verdicts.high
