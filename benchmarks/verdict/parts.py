"""The rates of false claims about what parts add, and their power: python -m benchmarks.verdict.parts [runs]."""

import itertools
import sys
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.verdict.catalogue import SHIFTED, even, zipf
from benchmarks.verdict.claims import FLIPS
from benchmarks.verdict.structures import drawn, handbook
from benchmarks.verdict.tables import in_processes, markdown
from benchmarks.verdict.worlds import Floats, RareDocuments, RareLosses, Recalls, World
from workbench.measures.statistics.effects import Change, Effect, EffectReading, SideLevels, effects
from workbench.measures.statistics.intervals import ALPHA
from workbench.measures.statistics.pairs import total_loss

# Chunkings, retrievers and rerankers, in this order: configurations that differ only in the reranker are neighbours.
GRID = (2, 3, 2)
# Numbers of documents, and the share of them on which a part loses.
RARE_DOCUMENTS = ((12, 0.1), (20, 0.1), (20, 0.05), (40, 0.05), (60, 0.05), (60, 0.02), (100, 0.05), (100, 0.02), (150, 0.02))
HEADINGS = ("world", "questions", "clusters", "false claim", "simultaneous intervals", "falsely differs", "effect found", "differs found")
_CLAIMS = (EffectReading.GAIN, EffectReading.LOSS)
_ROUNDING = 1e-9
Positions = list[tuple[int, int]]


def matched(grid: Sequence[int] = GRID) -> list[Positions]:
    """The pairs of positions of each effect, the alternative first: every alternative of an axis against its first."""
    cells = list(itertools.product(*map(range, grid)))
    found = []
    for axis, count in enumerate(grid):
        for other in range(1, count):
            chosen = [cell for cell in cells if cell[axis] == other]
            found.append([(cells.index(cell), cells.index((*cell[:axis], 0, *cell[axis + 1 :]))) for cell in chosen])
    return found


def grid_means(chunking: float = 0, reranker: float = 0, crossed: float = 0) -> tuple[float, ...]:
    """The true means: gains of the second chunking and of the reranker, of which `crossed` is added on the first chunking and lost on the second."""
    return tuple(
        0.6 + chunking * place[0] + place[2] * (reranker + crossed * (1 - 2 * place[0])) for place in itertools.product(*map(range, GRID))
    )


def parts_worlds() -> dict[str, World]:
    """Worlds without an effect, with some, and with one whose sign depends on the chunking."""
    equal = grid_means()
    return {
        "no effect": Recalls(equal),
        "no effect, the reranker changes little": Recalls(equal, copies=2),
        "no effect, 99 questions": Recalls(equal, even(33, 99)),
        "no effect, Zipf sizes": Recalls(equal, zipf(40, 300)),
        "no effect, 10 documents": Recalls(equal, even(10, 100)),
        "no effect, 12 documents": Recalls(equal, even(12, 300)),
        "no effect, 2 of 50 documents each": SHIFTED(equal, drawn(100, 50, 2)),
        "no effect, the handbook": SHIFTED(equal, handbook()),
        "reranker better by .05": Recalls(grid_means(reranker=0.05)),
        "chunking better by .10, reranker worse by .03": Recalls(grid_means(chunking=0.10, reranker=-0.03)),
        "reranker ± .05 by chunking": Recalls(grid_means(crossed=0.05)),
        **{f"rare losses ({1 - often:.0%}), {count} questions": RareLosses(count, often) for often in (0.95, 0.98) for count in (50, 300)},
        **{f"rare documents ({share:.0%} of {count})": RareDocuments(count, share) for count, share in RARE_DOCUMENTS},
        **{f"reranker better by .10 on each of {count} documents": Recalls((0.6, 0.7), even(count, 300), shift=0.05) for count in (20, 40)},
    }


def rates(world: World, runs: int, seed: int = 1) -> list[float]:
    """The rates under HEADINGS, NaN where they cannot occur."""
    grid = (2,) if len(world.means) == 2 else GRID
    random, pairs, truth = np.random.default_rng(seed), matched(grid), np.array(world.means)
    gaps = [np.array([truth[a] - truth[b] for a, b in each]) for each in pairs]
    with threadpool_limits(1):
        rows = [_rates(world.draw(random), world, pairs, gaps) for _ in range(runs)]
    return [float(np.mean(column)) for column in zip(*rows, strict=True)]


def _rates(values: Floats, world: World, pairs: Sequence[Positions], gaps: Sequence[Floats]) -> list[float]:
    sides = [np.array([[values[a], values[b]] for a, b in each]) for each in pairs]
    changes = [Change(each[:, 0] - each[:, 1], ("", ""), SideLevels(*each.mean(axis=(0, 2)))) for each in sides]
    found = effects(changes, world.clusters, total_loss(values), flips=FLIPS)
    null = [abs(gap.mean()) < _ROUNDING for gap in gaps]
    same = [float(np.ptp(gap)) < _ROUNDING for gap in gaps]
    claimed = [_right(each, gap.mean()) for each, gap in zip(found, gaps, strict=True)]
    false = [each.reading in _CLAIMS and not right for each, right in zip(found, claimed, strict=True)]
    differ = [bool(each.p_differs <= ALPHA) for each in found]
    held = [
        each.comparison.low_adjusted - _ROUNDING <= gap.mean() <= each.comparison.high_adjusted + _ROUNDING
        for each, gap in zip(found, gaps, strict=True)
    ]
    return [
        float(any(false)),
        float(all(held)),
        float(any(each and alike for each, alike in zip(differ, same, strict=True))),
        _share(claimed, [not each for each in null]),
        _share(differ, [not each for each in same]),
    ]


def _right(effect: Effect, gap: float) -> bool:
    return effect.reading is (EffectReading.GAIN if gap > 0 else EffectReading.LOSS) and abs(gap) > _ROUNDING


def _share(found: Sequence[bool], real: Sequence[bool]) -> float:
    chosen = [each for each, counts in zip(found, real, strict=True) if counts]
    return float(np.mean(chosen)) if chosen else np.nan


def table(runs: int) -> str:
    """The rates of all worlds as Markdown."""
    worlds = parts_worlds()
    found: Mapping[str, list[float]] = in_processes(partial(rates, runs=runs), worlds)
    rows = [
        [
            name,
            str(len(worlds[name].clusters)),
            str(worlds[name].clusters.count),
            *("-" if np.isnan(rate) else f"{rate:.3f}" for rate in row),
        ]
        for name, row in found.items()
    ]
    return markdown(HEADINGS, [["target", "", "", "≤ 0.05", "≥ 0.94", "≤ 0.05", "", ""], *rows])


if __name__ == "__main__":
    print(table(int(sys.argv[1]) if len(sys.argv) > 1 else 400))
