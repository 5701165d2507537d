"""The simulated worlds are as described, and figures are compared with their targets."""

import numpy as np
import pytest

from benchmarks.verdict.catalogue import EQUAL, worlds
from benchmarks.verdict.claims import simulate
from benchmarks.verdict.structures import drawn
from benchmarks.verdict.tables import claims_table, misses, power_table
from benchmarks.verdict.targets import TARGETS
from benchmarks.verdict.worlds import RareLosses, Recalls, documents, weights
from workbench.measures.statistics.clusters import Clusters

WORLDS = worlds()
DRAWS = 300


@pytest.mark.parametrize("name", WORLDS)
def test_scores_have_the_true_means(name: str) -> None:
    world, random = WORLDS[name], np.random.default_rng(2)
    means = np.array([world.draw(random).mean(axis=1) for _ in range(DRAWS)])
    assert means.shape[1] == len(world.means)
    assert np.abs(means.mean(axis=0) - world.means).max() <= 4.5 * means.std(axis=0).max() / DRAWS**0.5


def test_a_question_has_the_same_variance_with_one_and_with_several_documents() -> None:
    for clusters in (documents([3, 1, 2]), drawn(20, 8, 3), Clusters.linked([0, 1, 2], [[4, 7], [7], []])):
        assert (weights(clusters) ** 2).sum(axis=0) == pytest.approx(np.ones(len(clusters)))


def test_near_duplicates_have_nearly_equal_scores() -> None:
    values = Recalls(EQUAL, copies=4).draw(np.random.default_rng(1))
    assert np.abs(values[0] - values[3]).mean() < 0.3 * np.abs(values[0] - values[4]).mean()


def test_rare_losses_are_total() -> None:
    first, second = RareLosses(1_000, 0.95).draw(np.random.default_rng(1))
    lost = second - first == 1
    assert lost.mean() == pytest.approx(0.05, abs=0.02)
    assert (first[~lost] >= second[~lost]).all()


def test_a_simulation_is_shown_beside_the_targets() -> None:
    found = {"5 equal": simulate(Recalls(EQUAL[:5], documents([2] * 20)), 3)}
    assert set(found["5 equal"].rates) == set(TARGETS)
    assert claims_table(found).splitlines()[2].startswith("| target |  |  |  | ≤ 0.05 |")
    assert power_table(found).splitlines()[2].split(" | ")[3:7] == ["-"] * 4
    assert misses(found) == []


@pytest.mark.parametrize(("name", "met", "missed"), [("false_winner", 0.08, 0.09), ("leader", 0.91, 0.90)])
def test_a_target_is_missed_by_more_than_three_standard_errors(name: str, met: float, missed: float) -> None:
    assert not TARGETS[name].missed(met, 400)
    assert TARGETS[name].missed(missed, 400)
