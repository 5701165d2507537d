"""The rates of false claims of the verdict, and its power compared with an oracle."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.verdict.oracle import Oracle
from benchmarks.verdict.worlds import Floats, World
from workbench.measures.metrics.coverage import Bools
from workbench.measures.statistics.clusters import FEWEST_FOR_WINNER, Clusters
from workbench.measures.statistics.comparison import adjusted_bounds, p_values
from workbench.measures.statistics.intervals import ALPHA
from workbench.measures.statistics.pairs import Pairs, all_pairs
from workbench.measures.statistics.randomisation import Randomised, randomise, unrejected
from workbench.measures.statistics.verdict import FEWEST_QUERIES, CorrectedLeader, corrected_first

FLIPS = 999
# Bounds and truths that differ by less are equal.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Claims:
    """Shares and means over `runs` of one world: `rates` of the errors in `targets.TARGETS`, and `powers`.

    The powers are the mean `size` of the tie set, the share `won` in which the only true best is the winner, and the share `found` in
    which the first configuration unlike configuration 0 differs from it, corrected for all comparisons with 0; the same of the oracle;
    and the bias of the leader's value: `naive` and `corrected`. They are NaN where they cannot occur.
    """

    runs: int
    arms: int
    questions: int
    documents: int
    rates: Mapping[str, float]
    powers: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Experiment:
    """One simulated experiment with its tests: the verdict's parts with fewer flips."""

    truth: Floats
    values: Floats
    clusters: Clusters
    seed: int

    @cached_property
    def means(self) -> Floats:
        return np.asarray(self.values.mean(axis=1))

    @property
    def leader(self) -> int:
        return int(self.means.argmax())

    @property
    def bests(self) -> Bools:
        return np.asarray(self.truth == self.truth.max())

    @cached_property
    def pairs(self) -> Pairs:
        return all_pairs(self.values, self.clusters)

    @cached_property
    def tests(self) -> Randomised:
        return randomise(self.pairs, np.ones(len(self.pairs.a), dtype=np.bool_), self.seed, FLIPS)

    @cached_property
    def corrected(self) -> Floats:
        """The p of all pairs, corrected for all."""
        return p_values(self.pairs, self.tests)[1]

    @cached_property
    def tied(self) -> Bools:
        """The members (c) of the tie set."""
        return np.isin(np.arange(len(self.truth)), unrejected(self.tests, self.pairs))

    @cached_property
    def selected(self) -> CorrectedLeader:
        selected = corrected_first(self.values, self.clusters, [str(place) for place in range(len(self.values))], self.seed)
        assert selected is not None
        return selected

    @property
    def winner(self) -> int | None:
        enough = self.values.shape[1] >= FEWEST_QUERIES and self.clusters.count >= FEWEST_FOR_WINNER
        return int(self.tied.argmax()) if enough and self.tied.sum() == 1 else None


def simulate(world: World, runs: int, seed: int = 1) -> Claims:
    """Judge `runs` experiments, with 999 flips each."""
    random, truth = np.random.default_rng(seed), np.array(world.means)
    rows = []
    # Matrices this small are slower on several threads.
    with threadpool_limits(1):
        oracle = Oracle.of(world, random)
        for run in range(runs):
            judged = Experiment(truth, world.draw(random), world.clusters, run)
            rows.append((_errors(judged) | _coverage(judged), _powers(judged, oracle)))
    rates, powers = ({name: float(np.mean([row[name] for row in part])) for name in part[0]} for part in zip(*rows, strict=True))
    return Claims(runs, len(truth), len(world.clusters), world.clusters.count, rates, powers)


def _errors(judged: Experiment) -> dict[str, float]:
    pairs, bests = judged.pairs, judged.bests
    significant = judged.corrected <= ALPHA
    worse = np.isin(np.arange(len(bests)), np.where(pairs.mean < 0, pairs.a, pairs.b)[significant]) & ~judged.tied
    equal = judged.truth[pairs.a] == judged.truth[pairs.b]
    return {
        "false_winner": judged.winner is not None and not _right(judged.winner, bests),
        "excluded": bool((bests & ~judged.tied).any()),
        "behind": bool((bests & worse).any()),
        "false_pair": bool((equal & significant).any()),
    }


def _right(winner: int, bests: Bools) -> bool:
    return bool(bests[winner] and bests.sum() == 1)


def _coverage(judged: Experiment) -> dict[str, float]:
    """The shares of intervals that contain the truth: the leader's own, its differences at once and each, and all plain differences."""
    pairs, leader = judged.pairs, judged.leader
    selected, gaps = judged.selected, judged.truth[pairs.a] - judged.truth[pairs.b]
    low, high = adjusted_bounds(pairs, judged.tests.level, judged.corrected)
    beside = ((low - _ROUNDING <= gaps) & (gaps <= high + _ROUNDING))[(pairs.a == leader) | (pairs.b == leader)]
    low, high = pairs.bounds(ALPHA)
    return {
        "leader": selected.low - _ROUNDING <= judged.truth[leader] <= selected.high + _ROUNDING,
        "beside": bool(beside.all()),
        "each": float(beside.mean()),
        "plain": float(((low - _ROUNDING <= gaps) & (gaps <= high + _ROUNDING)).mean()),
    }


def _powers(judged: Experiment, oracle: Oracle) -> dict[str, float]:
    truth, bests, pairs = judged.truth, judged.bests, judged.pairs
    known, single = oracle.best(judged.means), bests.sum() == 1
    powers = {
        "size": float(judged.tied.sum()),
        "oracle_size": float(known.sum()),
        "won": float(judged.winner is not None and _right(judged.winner, bests)) if single else math.nan,
        "oracle_won": float(known.sum() == 1 and bool(known[bests].all())) if single else math.nan,
        "found": math.nan,
        "oracle_found": math.nan,
        "naive": judged.means[judged.leader] - truth[judged.leader],
        "corrected": judged.selected.value - truth[judged.leader],
    }
    other = int(np.argmax(truth != truth[0]))
    if other > 0:
        against = pairs.a == 0
        family = p_values(pairs, randomise(pairs, against, judged.seed, FLIPS))[1]
        powers |= {
            "found": float(family[against & (pairs.b == other)][0] <= ALPHA),
            "oracle_found": float(oracle.differs(judged.means, other)),
        }
    return powers
