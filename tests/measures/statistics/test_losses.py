"""The losses of answers under degraded contexts."""

import numpy as np
import pytest
from scipy import stats

from tests.measures.statistics.loss_worlds import LossWorld, RefusingWorld
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.comparison import paired_difference
from workbench.measures.statistics.effects import EffectReading
from workbench.measures.statistics.summary import losses, mean_interval, mean_of_repeats

QUESTIONS = 60
CLUSTERS = Clusters.of(np.arange(QUESTIONS) // 3)
RANDOM = np.random.default_rng(17)
CLEAN, WORSE = (RANDOM.random(QUESTIONS) < share for share in (0.9, 0.4))


def test_a_loss_is_the_paired_difference_of_the_questions_with_both_values() -> None:
    degraded = WORSE.astype(float)
    degraded[:10] = np.nan
    (effect,) = losses({("gold", "retrieved"): (CLEAN.astype(float), degraded)}, CLUSTERS).values()
    plain = paired_difference(CLEAN.astype(float), degraded, CLUSTERS)
    assert effect.comparison.difference.n == QUESTIONS - 10
    assert (effect.comparison.difference.value, effect.comparison.difference.low) == pytest.approx((plain.value, plain.low))
    assert (effect.comparison.a, effect.comparison.b) == ("gold", "retrieved")


def test_a_large_loss_is_read_as_a_loss_and_the_reverse_as_a_gain() -> None:
    found = losses(
        {("a", "b"): (CLEAN.astype(float), WORSE.astype(float)), ("b", "a"): (WORSE.astype(float), CLEAN.astype(float))}, CLUSTERS
    )
    assert found["a", "b"].reading is EffectReading.LOSS
    assert found["b", "a"].reading is EffectReading.GAIN


def test_a_condition_without_a_value_is_left_out() -> None:
    assert losses({("a", "b"): (CLEAN.astype(float), np.full(QUESTIONS, np.nan))}, CLUSTERS) == {}
    assert losses({}, CLUSTERS) == {}


def test_the_mean_of_repeats_leaves_out_failed_ones() -> None:
    means = mean_of_repeats(np.array([[1.0, np.nan, np.nan], [0.0, 1.0, np.nan]]))
    assert means[:2].tolist() == [0.5, 1.0]
    assert np.isnan(means[2])
    assert np.isnan(mean_of_repeats(np.empty((0, 2)))).all()


def test_a_mean_without_values_has_no_interval() -> None:
    assert mean_interval(np.full(QUESTIONS, np.nan), CLUSTERS, True) is None


def test_true_losses_are_covered_together_in_a_few_worlds() -> None:
    # tests/soak/test_losses.py draws enough worlds for the rates.
    world = LossWorld(true=(0.0, 0.2))
    covered = sum(world.covered(world.drawn(seed)) for seed in range(12))
    assert covered >= stats.binom.ppf(0.001, 12, 0.95)


def test_refusals_of_the_evidence_alone_make_the_loss_on_all_questions_too_small_in_a_few_worlds() -> None:
    world = RefusingWorld(lost=0.1)
    means = np.mean([[side.comparison.difference.value for side in world.drawn(seed, 99)] for seed in range(12)], axis=0)
    assert means[0] < 0.1 < means[1]
