"""Measure whether screening increases the verdict's false claims: python -m benchmarks.verdict.screened [runs].

The worst case: the configurations are screened by their own values on 200 of the questions that decide, so that the choice of the
family depends on the same noise as the tests. `a proxy` averages that with an independent draw of the same world.
"""

import sys

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.verdict.claims import FLIPS
from benchmarks.verdict.worlds import PROFILES, World
from workbench.statistics.clusters import units
from workbench.statistics.comparison import p_values
from workbench.statistics.pairs import all_pairs
from workbench.statistics.randomisation import randomise, unrejected
from workbench.statistics.screening import MARGIN, screened
from workbench.statistics.selection import corrected_first

Floats = NDArray[np.float64]
SAMPLE = 200
WORLDS = ("24 equal", "two best, 22 worse by .10", "one better by .02, half worse by .10")
SCREENS = ("none", "a proxy", "its own values", "its own values, no margin")
HEADINGS = ("world", "screened by", "dropped", "false winner", "false pair", "a best held", "a best kept", "bias of corrected first")


def table(runs: int) -> str:
    """A Markdown row for each world and kind of screening."""
    lines = [" | ".join(HEADINGS), " | ".join("---" for _ in HEADINGS)]
    with threadpool_limits(1):
        for name in WORLDS:
            world = World(PROFILES[name])
            for screen in SCREENS:
                random = np.random.default_rng(1)
                rows = np.array([_run(world, screen, random, seed) for seed in range(runs)])
                lines.append(" | ".join([name, screen, *(f"{value:.3f}" for value in rows.mean(axis=0))]))
    return "\n".join(f"| {line} |" for line in lines)


def _run(world: World, screen: str, random: np.random.Generator, seed: int) -> list[float]:
    truth, values, other = np.array(world.means), world.draw(random), world.draw(random)
    sample = random.permutation(values.shape[1])[:SAMPLE]
    kept = _remaining((values + other) / 2 if screen == "a proxy" else values, sample, world, screen)
    left, codes = values[kept], units(world.codes).codes
    pairs = all_pairs(left, codes, world.codes)
    tests = randomise(pairs, np.ones(len(pairs.a), dtype=bool), seed, FLIPS)
    plain, adjusted = p_values(pairs, tests)
    chosen = kept[unrejected(tests.unbeaten, pairs, plain)]
    bests = np.flatnonzero(truth == truth.max())
    better = truth[chosen[0]] > np.delete(truth[kept], np.flatnonzero(kept == chosen[0])).max(initial=-np.inf)
    equal = truth[kept][pairs.a] == truth[kept][pairs.b]
    selected = corrected_first(left, codes, list(map(str, kept)), seed)
    assert selected is not None
    # Check the first true best only, since all are exchangeable.
    held, there = bests[0] in chosen, bests[0] in kept
    false = [len(chosen) == 1 and not better, bool((adjusted[equal] <= 0.05).any())]
    return [
        1 - len(kept) / len(truth),
        *map(float, false),
        float(held),
        float(there),
        selected.value - truth[kept][left.mean(axis=1).argmax()],
    ]


def _remaining(values: Floats, sample: NDArray[np.int64], world: World, screen: str) -> NDArray[np.int64]:
    if screen == "none":
        return np.arange(len(values))
    named = {str(place): row for place, row in enumerate(values[:, sample])}
    rows = screened(named, world.codes[sample], proxies={}, margin=0.0 if screen.endswith("no margin") else MARGIN)
    return np.array([int(row.configuration) for row in rows if row.kept])


if __name__ == "__main__":
    print(table(int(sys.argv[1]) if len(sys.argv) > 1 else 400))
