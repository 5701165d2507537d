"""The rates of false claims of the verdict, and its power compared with an oracle."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.verdict.oracle import Oracle
from benchmarks.verdict.worlds import World
from workbench.statistics.clusters import units
from workbench.statistics.comparison import p_values
from workbench.statistics.pairs import all_pairs
from workbench.statistics.randomisation import randomise, unrejected
from workbench.statistics.selection import corrected_first

FLIPS = 999
LEVEL = 0.025


@dataclass(frozen=True)
class Claims:
    """Shares and means over `runs` of one world.

    `held`: the share in which a true best is in the set (of the least frequent one); `false_winner`: a winner although it is not better than all others;
    `false_pair`: any pair of equal configurations with p_adjusted <= .05; `size`, `oracle_95`, `oracle`, `knowing`: mean sizes of the set
    and of those of oracles at 5 %, at 2.5 %, and at 2.5 % knowing who is far behind. `won`, `oracle_won`: the true best is the winner.
    `found`, `oracle_found`: the first pair of unequal ones, in the family against configuration 0. `naive`, `corrected`: bias of the
    first's value.
    """

    runs: int
    queries: int
    held: float
    false_winner: float
    false_pair: float
    size: float
    oracle_95: float
    oracle: float
    knowing: float
    won: float
    oracle_won: float
    found: float
    oracle_found: float
    naive: float
    corrected: float


def simulate(world: World, runs: int, seed: int = 1) -> Claims:
    """The verdict's decisions on `runs` experiments, with 999 flips each."""
    random = np.random.default_rng(seed)
    covariance, truth = world.covariance(random), np.array(world.means)
    lenient = Oracle.of(world, covariance, 0.05, random)
    oracles = lenient, Oracle.of(world, covariance, LEVEL, random), Oracle.of(world, covariance, LEVEL, random, knowing=True)
    bests = truth == truth.max()
    # Matrices this small are slower on several threads.
    with threadpool_limits(1):
        rows = [_run(world, oracles, truth, bests, random, run) for run in range(runs)]
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0] if name != "held"}
    held = float(np.mean([row["held"] for row in rows], axis=0).min())
    return Claims(runs=runs, queries=len(world.codes), held=held, **means)


def _run(
    world: World, oracles: tuple[Oracle, Oracle, Oracle], truth: np.ndarray, bests: np.ndarray, random: np.random.Generator, seed: int
) -> dict[str, Any]:
    values = world.draw(random)
    means, codes = values.mean(axis=1), units(world.codes).codes
    pairs = all_pairs(values, codes, world.codes)
    tests = randomise(pairs, np.ones(len(pairs.a), dtype=bool), seed, FLIPS)
    plain, adjusted = p_values(pairs, tests)
    chosen = np.isin(np.arange(len(truth)), unrejected(tests.unbeaten, pairs, plain))
    winner = int(np.flatnonzero(chosen)[0]) if chosen.sum() == 1 else None
    sets = [oracle.best(means) for oracle in oracles]
    against = pairs.a == 0
    other = int(np.argmax(truth != truth[0]))
    family = p_values(pairs, randomise(pairs, against, seed, FLIPS))[1]
    selected, first = corrected_first(values, codes, [str(place) for place in range(len(values))], seed), int(means.argmax())
    assert selected is not None
    return {
        "held": chosen[bests],
        "false_winner": winner is not None and not (bests[winner] and bests.sum() == 1),
        "false_pair": bool((adjusted[truth[pairs.a] == truth[pairs.b]] <= 0.05).any()),
        "size": chosen.sum(),
        "oracle_95": sets[0].sum(),
        "oracle": sets[1].sum(),
        "knowing": sets[2].sum(),
        "won": winner is not None and bool(bests[winner]) and bests.sum() == 1,
        "oracle_won": sets[1].sum() == 1 and bool(sets[1][bests].all()) and bests.sum() == 1,
        "found": other > 0 and bool(family[against & (pairs.b == other)][0] <= 0.05),
        "oracle_found": other > 0 and oracles[1].differs(means, other),
        "naive": means[first] - truth[first],
        "corrected": selected.value - truth[first],
    }
