"""The mean effect of a change over matched pairs of configurations."""

from dataclasses import replace

import numpy as np
import pytest

from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.comparison import paired_difference
from workbench.measures.statistics.effects import Change, Effect, EffectReading, SideLevels, _could_be_undone, effects
from workbench.measures.statistics.verdict import verdict

QUERIES = 120
SIDES = ("with", "without")
CLUSTERS = Clusters.of(np.arange(QUERIES) // 4)
NOISE = np.random.default_rng(11).normal(0, 0.1, (3, QUERIES))


def effect(change: np.ndarray, clusters: Clusters = CLUSTERS, **options: float) -> Effect:
    return effects([Change(change, SIDES)], clusters, 1.0, **options)[0]


def test_the_effect_is_the_paired_difference_of_the_pairs_averaged_within_each_question() -> None:
    found = effect(NOISE).comparison
    plain = paired_difference(NOISE.mean(axis=0), np.zeros(QUERIES), CLUSTERS)
    assert (found.a, found.b) == ("with", "without")
    assert (found.difference.value, found.difference.low, found.difference.high) == pytest.approx((plain.value, plain.low, plain.high))


def test_one_pair_has_the_p_of_a_verdict_on_its_two_configurations() -> None:
    random = np.random.default_rng(12)
    a = random.random(QUERIES)
    b = np.clip(a + random.normal(0.02, 0.1, QUERIES), 0, 1)
    (judged,) = verdict("recall@5", {"a": a, "b": b}, CLUSTERS).comparisons
    found = effect((a - b)[None]).comparison
    assert (found.p, found.p_adjusted, found.low_adjusted) == pytest.approx((judged.p, judged.p_adjusted, judged.low_adjusted))


def test_a_question_counts_if_all_pairs_have_a_value() -> None:
    change = NOISE.copy()
    change[1, :20] = np.nan
    assert effect(change).comparison.difference.n == QUERIES - 20


def test_documents_without_a_scored_question_change_nothing() -> None:
    unscored = np.full((3, QUERIES), np.nan)
    skewed = NOISE - 0.02 + np.where(np.arange(QUERIES) < 6, 0.4, 0.0)
    wide = effect(np.hstack([-skewed, unscored]), Clusters.of(np.arange(2 * QUERIES) // 4))
    assert wide == effect(-skewed)


@pytest.mark.parametrize(("shift", "sign", "reading"), [(0.1, 1, "gain"), (-0.1, 1, "loss"), (0.1, -1, "loss"), (0.0, 1, "undecided")])
def test_a_gain_is_in_the_direction_of_better(shift: float, sign: float, reading: str) -> None:
    centred = NOISE - NOISE.mean(axis=1, keepdims=True)
    assert effect(centred + shift, sign=sign).reading == reading


@pytest.mark.parametrize(("questions", "documents"), [(29, 29), (120, 9)])
def test_too_few_questions_or_documents_allow_no_claim(questions: int, documents: int) -> None:
    change = np.random.default_rng(13).normal(0.3, 0.05, (2, questions))
    found = effect(change, Clusters.of(np.arange(questions) % documents))
    assert found.comparison.p_adjusted <= 0.05
    assert found.reading is EffectReading.TOO_FEW


def test_effects_are_corrected_for_their_number() -> None:
    random = np.random.default_rng(11)
    weak = random.normal(0, 0.1, (1, QUERIES))
    weak += 0.023 - weak.mean()
    alone = effect(weak).comparison
    others = [random.normal(0, 0.1, (1, QUERIES)) for _ in range(20)]
    among = effects([Change(each, SIDES) for each in (weak, *others)], CLUSTERS, 1.0)[0].comparison
    assert alone.p == among.p
    assert alone.p_adjusted <= 0.05 < among.p_adjusted
    assert among.low_adjusted < alone.low_adjusted


def test_an_effect_that_differs_between_the_pairs_is_found_and_an_equal_one_is_not() -> None:
    crossed = NOISE[:2] + np.array([[0.1], [-0.1]])
    assert effect(crossed).p_differs <= 0.001
    assert effect(NOISE).p_differs > 0.05
    assert effect(np.stack([NOISE[0], NOISE[0]])).p_differs == 1
    assert np.isnan(effect(NOISE[:1]).p_differs)


def test_an_effect_of_0_on_every_question_is_identical_and_undecided() -> None:
    found = effect(np.array([[0.1] * QUERIES, [-0.1] * QUERIES]))
    assert found.comparison.identical
    assert found.reading is EffectReading.UNDECIDED


def test_no_effect_is_claimed_on_questions_that_must_not_be_tested() -> None:
    (found,) = effects([Change(NOISE + 0.5, SIDES)], replace(CLUSTERS, tested=False), 1.0)
    assert found.reading is EffectReading.TOO_FEW
    assert found.comparison.difference.value == effect(NOISE + 0.5).comparison.difference.value
    assert np.isnan(
        [found.comparison.p, found.comparison.p_adjusted, found.comparison.low_adjusted, found.p_differs, found.detectable]
    ).all()


@pytest.mark.parametrize(
    ("gain", "documents", "losing", "reading"),
    [
        # (.6 / .7)^20 is .046, (.6 / .7)^18 is .062.
        (0.1, 20, 0, EffectReading.GAIN),
        (0.1, 18, 0, EffectReading.GAIN_HERE),
        (0.4, 18, 2, EffectReading.GAIN),
    ],
)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_effect_that_unseen_documents_could_undo_is_one_on_these_documents(
    gain: float, documents: int, losing: int, reading: EffectReading, sign: float
) -> None:
    codes = np.repeat(np.arange(documents), 6)
    change = np.where(codes < losing, -0.3, gain) + np.random.default_rng(3).normal(0, 0.01, len(codes))
    clusters, levels = Clusters.of(codes), SideLevels(with_change=0.9, without=0.6)
    (found,) = effects([Change(sign * change[None], SIDES, levels)], clusters, 1.0, sign)
    assert found.reading is reading
    (other,) = effects([Change(-sign * change[None], SIDES[::-1], SideLevels(0.6, 0.9))], clusters, 1.0, sign)
    mirrored = {EffectReading.GAIN: EffectReading.LOSS, EffectReading.GAIN_HERE: EffectReading.LOSS_HERE}
    assert other.reading is mirrored[reading]


@pytest.mark.parametrize(("losing", "undone"), [(2, True), (3, False)])
def test_three_documents_that_lose_half_show_how_often_that_occurs(losing: int, undone: bool) -> None:
    codes = np.repeat(np.arange(12), 5)
    assert _could_be_undone(np.where(codes < losing, -0.31, 0.2), Clusters.of(codes), SideLevels(0.7, 0.6)) is undone


def test_no_change_has_no_effect() -> None:
    assert effects([], CLUSTERS, 1.0) == []


def test_the_detectable_effect_shrinks_with_the_noise() -> None:
    assert effect(NOISE / 2).detectable == pytest.approx(effect(NOISE).detectable / 2)
