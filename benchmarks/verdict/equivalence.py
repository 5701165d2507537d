"""The rates of false claims of equivalence, and its power: python -m benchmarks.verdict.equivalence [runs]."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.verdict.catalogue import QUIET, SHIFTED, even, zipf
from benchmarks.verdict.claims import FLIPS
from benchmarks.verdict.structures import drawn, handbook
from benchmarks.verdict.tables import in_processes, markdown
from benchmarks.verdict.worlds import Floats, Recalls, World, documents, varied
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.comparison import Comparison, comparisons
from workbench.measures.statistics.pairs import all_pairs
from workbench.measures.statistics.randomisation import randomise
from workbench.measures.statistics.verdict import enough

HEADINGS = ("by the interval alone", "false claim", "equal pairs found")
_ROUNDING = 1e-9
# 100 documents of 2 questions, and one of 200.
ONE_LARGE = documents([200, *[2] * 100])


@dataclass(frozen=True)
class RareLoss:
    """Each of the `losing` configurations loses everything on its own `share` of the documents, and gains `gain` on the others, beside a little noise.

    The last configuration does not. It has `loss` where another loses, and between `least` and 1 elsewhere.
    """

    clusters: Clusters
    share: float
    gain: float = 0.0
    loss: float = 1.0
    least: float = 0.0
    losing: int = 1
    noise: float = 0.01

    @property
    def means(self) -> tuple[float, ...]:
        return *((1 - self.share) * self.gain - self.share * self.loss,) * self.losing, 0.0

    def draw(self, random: np.random.Generator) -> Floats:
        """Draw the scores (c, q) of one experiment."""
        codes, queries = self.clusters.codes, len(self.clusters)
        lost = (random.random((self.losing, int(codes.max()) + 1)) < self.share)[:, codes]
        last = np.where(lost.any(axis=0), self.loss, random.uniform(self.least, 1 - self.gain, queries))
        others = np.where(lost, 0.0, last + self.gain + random.normal(0, self.noise, (self.losing, queries)))
        return np.asarray(np.clip([*others, last], 0, 1))


@dataclass(frozen=True)
class Case:
    """A world with the smallest difference that matters in it. With `based` the first configuration is the baseline."""

    world: World
    smallest: float
    based: bool = False


def losing(clusters: Clusters, smallest: float, gain: float = 0.0, loss: float = 1.0, least: float = 0.0, number: int = 1) -> Case:
    """A world of rare losses whose true difference from the last configuration is -smallest."""
    return Case(RareLoss(clusters, (smallest + gain) / (loss + gain), gain, loss, least, number), smallest)


def cases() -> dict[str, Case]:
    """Worlds in which some true differences are as large as the smallest that matters, and others 0."""
    whole = partial(losing, loss=0.7, least=0.4)
    return {
        **_of_recalls(),
        **{
            f"losses on {smallest:.0%} of {count} questions": losing(even(count, count), smallest)
            for count, smallest in ((30, 0.1), (50, 0.1), (100, 0.05), (200, 0.02), (200, 0.05), (300, 0.02))
        },
        "losses on 4% of 300 questions, gains elsewhere": losing(even(300, 300), 0.02, gain=0.02),
        **{
            f"losses on {smallest:.0%} of {count} questions, in 4 of 5 configurations": losing(even(count, count), smallest, number=4)
            for count, smallest in ((50, 0.1), (100, 0.05), (200, 0.05), (300, 0.02))
        },
        "losses on 5% of 200 questions, in 11 of 12 configurations": losing(even(200, 200), 0.05, number=11),
        **{
            f"losses on whole documents, {count} documents": whole(even(count, 300), smallest)
            for count, smallest in ((12, 0.2), (20, 0.1), (30, 0.1), (60, 0.05), (100, 0.05))
        },
        "losses on whole documents, 60 documents, in 4 of 5 configurations": whole(even(60, 300), 0.05, number=4),
        "losses of .45 on whole documents, 30 documents": losing(even(30, 300), 0.1, loss=0.45, least=0.4),
        "losses of 1 on whole documents, 30 documents": losing(even(30, 300), 0.1, loss=1.0, least=0.4),
        "losses on whole documents, one large": whole(ONE_LARGE, 0.05),
    }


def _of_recalls() -> dict[str, Case]:
    """Scores like span recalls: half of the configurations are worse by exactly the smallest difference that matters."""

    def halves(count: int, smallest: float) -> tuple[float, ...]:
        return tuple(0.6 - smallest * (place % 2) for place in range(count))

    return {
        **{f"{count} configurations": Case(Recalls(halves(count, 0.1)), 0.1) for count in (2, 5, 12)},
        **{f"{count} configurations, quiet": Case(QUIET(halves(count, 0.05)), 0.05) for count in (2, 5, 12)},
        **{f"{count} configurations, a baseline": Case(QUIET(halves(count, 0.05)), 0.05, based=True) for count in (5, 12)},
        "12 configurations, 300 documents": Case(Recalls(halves(12, 0.1), varied(300, most=1)), 0.1),
        "2 of 6 near-duplicates worse": Case(Recalls((0.6, 0.6, 0.6, 0.55, 0.6, 0.55), copies=6), 0.05),
        "5 configurations, means near 1": Case(QUIET(tuple(0.95 - 0.05 * (place % 2) for place in range(5))), 0.05),
        "2 configurations, 10 documents": Case(QUIET(halves(2, 0.1), even(10, 100)), 0.1),
        "5 configurations, 12 documents": Case(QUIET(halves(5, 0.1), even(12, 300)), 0.1),
        "5 configurations, Zipf sizes": Case(QUIET(halves(5, 0.1), zipf(40, 300)), 0.1),
        "5 configurations, one large document": Case(QUIET(halves(5, 0.1), ONE_LARGE), 0.1),
        "5 configurations, 2 of 50 documents each": Case(SHIFTED(halves(5, 0.1), drawn(100, 50, 2)), 0.1),
        "5 configurations, the handbook": Case(QUIET(halves(5, 0.1), handbook()), 0.1),
    }


def rates(case: Case, runs: int, seed: int = 1) -> list[float]:
    """The rates under HEADINGS, NaN where they cannot occur.

    A false claim is of any pair whose true difference is as large as the smallest that matters.
    """
    random, truth = np.random.default_rng(seed), np.array(case.world.means)
    with threadpool_limits(1):
        rows = [_rates(_compared(case, case.world.draw(random), run), case, truth) for run in range(runs)]
    return [float(np.mean(column)) for column in zip(*rows, strict=True)]


def _compared(case: Case, values: Floats, seed: int) -> list[Comparison]:
    """Every pair in its family, as the verdict compares them."""
    pairs, names = all_pairs(values, case.world.clusters), [str(place) for place in range(len(values))]
    every = np.ones(len(pairs.a), dtype=np.bool_)
    rows = comparisons(pairs, randomise(pairs, every, seed, FLIPS), every, names)
    if case.based:
        based = pairs.a == 0
        rows = [*comparisons(pairs, randomise(pairs, based, seed, FLIPS), based, names), *(row for row in rows if row.a != "0")]
    return rows


def _rates(rows: Sequence[Comparison], case: Case, truth: Floats) -> list[float]:
    gaps = [abs(truth[int(row.a)] - truth[int(row.b)]) for row in rows]
    wide = [row.difference.n and enough(row.difference.n, row.difference.clusters) for row in rows]
    plain = [each and max(abs(row.low_adjusted), abs(row.high_adjusted)) < case.smallest for row, each in zip(rows, wide, strict=True)]
    claimed = [each and row.equivalence_margin < case.smallest for row, each in zip(rows, wide, strict=True)]
    differ = [gap >= case.smallest - _ROUNDING for gap in gaps]
    equal = [claim for claim, gap in zip(claimed, gaps, strict=True) if gap < _ROUNDING]
    return [
        float(any(claim and other for claim, other in zip(plain, differ, strict=True))),
        float(any(claim and other for claim, other in zip(claimed, differ, strict=True))),
        float(np.mean(equal)) if equal else np.nan,
    ]


def table(runs: int) -> str:
    """The rates of all worlds as Markdown."""
    chosen = cases()
    found: Mapping[str, list[float]] = in_processes(partial(rates, runs=runs), chosen)
    rows = [
        [
            name,
            str(len(chosen[name].world.clusters)),
            str(chosen[name].world.clusters.count),
            f"{chosen[name].smallest:.2f}",
            *("-" if np.isnan(rate) else f"{rate:.3f}" for rate in row),
        ]
        for name, row in found.items()
    ]
    return markdown(("world", "questions", "clusters", "matters", *HEADINGS), [["target", "", "", "", "", "≤ 0.05", ""], *rows])


if __name__ == "__main__":
    print(table(int(sys.argv[1]) if len(sys.argv) > 1 else 600))
