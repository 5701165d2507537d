"""Measure whether screening increases the verdict's false claims: python -m benchmarks.verdict.screened [runs].

The worst case: the configurations are screened by their own values on 200 of the questions that decide, so that the choice of the
family depends on the same noise as the tests. `a proxy` averages that with an independent draw of the same world.
"""

import sys

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.verdict.catalogue import PROFILES
from benchmarks.verdict.claims import Experiment
from benchmarks.verdict.worlds import Floats, Recalls, World
from workbench.measures.metrics.coverage import Ints
from workbench.measures.statistics.intervals import ALPHA
from workbench.measures.statistics.screening import MARGIN, screened

SAMPLE = 200
WORLDS = ("24 equal", "two best, 22 worse by .10", "one better by .02, half worse by .10")
SCREENS = ("none", "a proxy", "its own values", "its own values, no margin")
HEADINGS = (
    "world",
    "screened by",
    "dropped",
    "false winner",
    "false pair",
    "a best excluded",
    "bests screened out",
    "bias of corrected first",
)


def table(runs: int) -> str:
    """A Markdown row for each world and kind of screening."""
    lines = [" | ".join(HEADINGS), " | ".join("---" for _ in HEADINGS)]
    with threadpool_limits(1):
        for name in WORLDS:
            world = Recalls(PROFILES[name])
            for screen in SCREENS:
                random = np.random.default_rng(1)
                rows = np.array([_run(world, screen, random, seed) for seed in range(runs)])
                lines.append(" | ".join([name, screen, *(f"{value:.3f}" for value in rows.mean(axis=0))]))
    return "\n".join(f"| {line} |" for line in lines)


def _run(world: World, screen: str, random: np.random.Generator, seed: int) -> list[float]:
    truth, values, other = np.array(world.means), world.draw(random), world.draw(random)
    sample = random.permutation(values.shape[1])[:SAMPLE]
    kept = _remaining((values + other) / 2 if screen == "a proxy" else values, sample, world, screen)
    judged = Experiment(truth[kept], values[kept], world.clusters, seed)
    pairs, winner = judged.pairs, judged.winner
    equal = judged.truth[pairs.a] == judged.truth[pairs.b]
    better = winner is not None and judged.truth[winner] > np.delete(judged.truth, winner).max(initial=-np.inf)
    return [
        1 - len(kept) / len(truth),
        float(winner is not None and not better),
        float((judged.corrected[equal] <= ALPHA).any()),
        float((judged.bests & ~judged.tied).any()),
        1 - float(np.isin(np.flatnonzero(truth == truth.max()), kept).mean()),
        judged.selected.value - judged.truth[judged.leader],
    ]


def _remaining(values: Floats, sample: Ints, world: World, screen: str) -> Ints:
    if screen == "none":
        return np.arange(len(values))
    named = {str(place): row for place, row in enumerate(values[:, sample])}
    rows = screened(named, world.clusters.codes[sample], proxies={}, margin=0.0 if screen.endswith("no margin") else MARGIN)
    return np.array([int(row.configuration) for row in rows if row.kept])


if __name__ == "__main__":
    print(table(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
