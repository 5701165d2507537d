"""How often a history of runs is said to have changed its level: python -m benchmarks.verdict.histories [histories]."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.measures.statistics.change_points import Levels, change_points

Ints = NDArray[np.int64]
Repeats = Callable[[np.random.Generator], Ints]
NOISE = 0.01
LEVEL = 0.05


@dataclass(frozen=True)
class HistoryWorld:
    """Runs of commits, each with one value that all its runs repeat: `repeats` draws the commit of each run.

    From the commit `step` on, values are higher by `size` standard deviations. The noise of a commit has the correlation `dependence` with that of
    the one before, and in the second half of the commits `spread` times the standard deviation. The `target` is the highest share with a change if
    there is no step, else the lowest share that finds it within one observation.
    """

    repeats: Repeats
    step: int | None = None
    size: float = 3.0
    target: float = LEVEL
    dependence: float = 0.0
    spread: float = 1.0

    def draw(self, random: np.random.Generator) -> tuple[Ints, "pd.Series[float]"]:
        """The commit and the value of each run."""
        commits = self.repeats(random)
        count = commits.max() + 1
        noise = random.normal(0, NOISE, count)
        for commit in range(1, count):
            noise[commit] = self.dependence * noise[commit - 1] + (1 - self.dependence**2) ** 0.5 * noise[commit]
        noise[count // 2 :] *= self.spread
        values = 0.7 + noise
        if self.step is not None:
            values[self.step :] += self.size * NOISE
        return commits, pd.Series(values[commits])


@dataclass(frozen=True)
class HistoryRates:
    """Shares of histories in which a change was found, with three definitions of an observation.

    `every`: each run; `collapsed`: consecutive repeats are one, but a commit that returns is a new one; `found`: as Workbench tests.
    `hit`: Workbench found the step within one observation (NaN without a step). `observations`: their mean number.
    """

    observations: float
    every: float
    collapsed: float
    found: float
    hit: float


def distinct(runs: int) -> Repeats:
    """Every run of another commit."""
    return lambda _: np.arange(runs)


def repeated(runs: int, commits: int) -> Repeats:
    """Consecutive runs of each commit, of random numbers."""
    return lambda random: np.repeat(
        np.arange(commits), np.diff([0, *np.sort(random.choice(np.arange(1, runs), commits - 1, replace=False)), runs])
    )


def alternating(runs: int, branches: int, length: int) -> Repeats:
    """Runs that alternate between branches, whose commits all change after `length` runs."""
    return lambda _: np.arange(runs) // length * branches + np.arange(runs) % branches


def reverted(runs: int) -> Repeats:
    """Each run is of the same commit as the one before (1/2), of a new one (3/10), or of any earlier one (1/5)."""

    def draw(random: np.random.Generator) -> Ints:
        commits = [0]
        for chance in random.random(runs - 1):
            newest = max(commits)
            commits.append(commits[-1] if chance < 0.5 else newest + 1 if chance < 0.8 else int(random.integers(newest + 1)))
        return np.array(commits)

    return draw


WORLDS: Mapping[str, HistoryWorld] = {
    "30 runs of 8 commits": HistoryWorld(repeated(30, 8)),
    "30 runs of 15 commits": HistoryWorld(repeated(30, 15)),
    "60 runs of 20 commits": HistoryWorld(repeated(60, 20)),
    "60 runs, some commits return": HistoryWorld(reverted(60)),
    "60 runs, 3 alternating branches, 5 versions": HistoryWorld(alternating(60, 3, 12)),
    "30 different runs": HistoryWorld(distinct(30)),
    "30 different runs, correlated by .3 with the run before": HistoryWorld(distinct(30), dependence=0.3, target=0.15),
    "60 different runs, correlated by .3 with the run before": HistoryWorld(distinct(60), dependence=0.3, target=0.15),
    "30 different runs, correlated by .6 with the run before": HistoryWorld(distinct(30), dependence=0.6, target=0.35),
    "60 different runs, correlated by .6 with the run before": HistoryWorld(distinct(60), dependence=0.6, target=0.35),
    "30 different runs, spread × 3 in the second half": HistoryWorld(distinct(30), spread=3),
    "30 different runs, step of 3 sd after 15": HistoryWorld(distinct(30), step=15, target=0.9),
    "60 runs of 20 commits, step of 3 sd after 10 commits": HistoryWorld(repeated(60, 20), step=10, target=0.9),
    "30 runs of 12 commits, step of 3 sd after 6 commits": HistoryWorld(repeated(30, 12), step=6, target=0.8),
}


def simulate(world: HistoryWorld, histories: int, seed: int = 1) -> HistoryRates:
    """The shares over `histories`."""
    rows = [_judged(world, *world.draw(random)) for random in np.random.default_rng(seed).spawn(histories)]
    return HistoryRates(*np.mean(rows, axis=0).tolist())


def _judged(world: HistoryWorld, commits: Ints, series: "pd.Series[float]") -> tuple[float, ...]:
    starts = np.flatnonzero(np.diff(commits, prepend=-1))
    found = change_points(series, pd.Series(commits))
    others = (change_points(series), change_points(series.iloc[starts]))
    hit = np.nan if world.step is None else float(_finds(found, starts, int(np.argmax(commits[starts] >= world.step))))
    return (found.observations, *(float(bool(levels.points)) for levels in (*others, found)), hit)


def _finds(levels: Levels, starts: Ints, step: int) -> bool:
    runs = {str(run) for run in starts[max(0, step - 1) : step + 2]}
    return any(point.run in runs for point in levels.points)


def histories_table(histories: int) -> tuple[dict[str, HistoryRates], str]:
    """The rates by world, and their table."""
    rates = {name: simulate(world, histories) for name, world in WORLDS.items()}
    columns = ["world", "observations", "target", "Workbench", "every run an observation", "consecutive repeats collapsed"]
    lines = [columns, ["---"] * len(columns)]
    for name, rate in rates.items():
        world = WORLDS[name]
        target, figure = (f"≤ {world.target:.2f}", rate.found) if world.step is None else (f"≥ {world.target:.2f}", rate.hit)
        lines.append([name, f"{rate.observations:.1f}", target, f"{figure:.3f}", f"{rate.every:.3f}", f"{rate.collapsed:.3f}"])
    return rates, "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(histories_table(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)[1])
