"""Power of the verdict: a difference that it calls detectable must be detected in 80 % of experiments, and with the questions called needed."""

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.verdict.claims import Experiment
from benchmarks.verdict.worlds import Recalls, varied
from workbench.measures.statistics.intervals import ALPHA
from workbench.measures.statistics.pairs import Detectable, detectable

MEAN, SMALLEST = 0.6, 0.05
# Experiments whose detectable differences are averaged.
_PILOTS = 100


@dataclass(frozen=True)
class Setting:
    """Equal configurations on `documents` of 1 to `most` questions."""

    configurations: int
    documents: int
    most: int

    def world(self, better: float = 0.0, times: float = 1.0) -> Recalls:
        """The world with the first configuration `better`, and `times` as many documents."""
        means = (MEAN + better, *(MEAN,) * (self.configurations - 1))
        return Recalls(means, varied(round(self.documents * times), self.most))


@dataclass(frozen=True)
class Detected:
    """The `difference` called detectable on `questions`, the number `needed` for .05, and the shares of experiments that show these."""

    questions: int
    difference: float
    detected: float
    needed: int
    detected_with_needed: float


SETTINGS = {"5 configurations, 61 documents": Setting(5, 61, 9), "12 configurations, 100 documents": Setting(12, 100, 3)}


def check(setting: Setting, runs: int, seed: int = 1) -> Detected:
    """Average what pilot experiments of equal configurations call detectable, and count how often that is detected."""
    random, world = np.random.default_rng(seed), setting.world()
    with threadpool_limits(1):
        pilots = [_detectable(_experiment(world, random, run)) for run in range(_PILOTS)]
        difference = float(np.mean([pilot.difference for pilot in pilots]))
        needed = round(float(np.mean([pilot.needed for pilot in pilots])))
        larger = setting.world(SMALLEST, needed / len(world.clusters))
        rates = [_detected(each, runs, random) for each in (setting.world(difference), larger)]
    return Detected(len(world.clusters), difference, rates[0], needed, rates[1])


def _experiment(world: Recalls, random: np.random.Generator, seed: int) -> Experiment:
    return Experiment(np.array(world.means), world.draw(random), world.clusters, seed)


def _detectable(judged: Experiment) -> Detectable:
    names = [str(place) for place in range(len(judged.truth))]
    found = detectable(judged.pairs, 0, names, judged.tests.level, SMALLEST)
    assert found is not None
    return found


def _detected(world: Recalls, runs: int, random: np.random.Generator) -> float:
    """The share of experiments that find the first configuration better than the second, corrected for all pairs."""
    judged = [_experiment(world, random, run) for run in range(runs)]
    return float(np.mean([each.corrected[0] <= ALPHA and each.pairs.mean[0] > 0 for each in judged]))
