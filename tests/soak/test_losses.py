"""Losses are claimed falsely in at most 5 % of worlds, found at the stated rate, and covered by their intervals."""

import numpy as np
import pytest
from scipy import stats

from tests.measures.statistics.loss_worlds import LossWorld, RefusingWorld
from workbench.measures.statistics.effects import EffectReading

WORLDS = 400
pytestmark = pytest.mark.soak


@pytest.mark.parametrize("together", [0.0, 0.5])
def test_a_loss_is_claimed_falsely_in_at_most_5_percent_of_worlds(together: float) -> None:
    world = LossWorld(together=together)
    claimed = sum(any(loss.comparison.p_adjusted <= 0.05 for loss in world.drawn(seed)) for seed in range(WORLDS))
    print(f"claimed falsely in {claimed} of {WORLDS} worlds")
    assert claimed <= stats.binom.ppf(0.999, WORLDS, 0.05)


def test_a_loss_of_the_detectable_size_is_found_in_80_percent_of_worlds() -> None:
    stated = np.mean([LossWorld(true=(0.0, 0.2, 0.2)).drawn(seed)[1].detectable for seed in range(40)])
    world = LossWorld(true=(0.0, float(stated), 0.0))
    found = [world.drawn(seed)[1].reading is EffectReading.LOSS for seed in range(100, 100 + WORLDS)]
    print(f"a loss of {stated:.3f} found in {np.mean(found):.3f} of worlds")
    assert 0.74 <= np.mean(found) <= 0.88


def test_simultaneous_intervals_cover_all_true_losses_together() -> None:
    world = LossWorld(true=(0.0, 0.1, 0.2, -0.1))
    covered = sum(world.covered(world.drawn(seed)) for seed in range(WORLDS))
    print(f"covered in {covered} of {WORLDS} worlds")
    assert covered >= stats.binom.ppf(0.001, WORLDS, 0.95)


@pytest.mark.parametrize("slope", [0.0, 0.7])
@pytest.mark.parametrize("lost", [0.0, 0.1, 0.2])
def test_refused_evidence_hides_a_loss_and_the_questions_without_refusals_show_it(slope: float, lost: float) -> None:
    world = RefusingWorld(lost=lost, slope=slope)
    # Retrieved text is refused as well, which is a loss of its own.
    truth = float(
        np.mean([(clean - degraded)[~refused].mean() for clean, degraded, refused, _ in map(world.values, range(10_000, 12_000))])
    )
    draws = [world.drawn(seed) for seed in range(WORLDS)]
    means = [np.mean([side.comparison.difference.value for side in sides]) for sides in zip(*draws, strict=True)]
    covered = np.mean([answered.comparison.simultaneous.low <= truth <= answered.comparison.simultaneous.high for _, answered in draws])
    undecided = np.mean([whole.reading is EffectReading.UNDECIDED for whole, _ in draws])
    print(
        f"lost {lost}, slope {slope}: {means[0]:.3f} on all, {means[1]:.3f} on {truth:.3f}, covered {covered:.3f}, undecided {undecided:.3f}"
    )
    assert means[0] < lost < means[1]
    assert covered >= stats.binom.ppf(0.001, WORLDS, 0.95) / WORLDS
