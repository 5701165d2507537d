"""How often the corrected means and differences of judges contain the truth, and how wide they are beside labels alone.

`python -m benchmarks.judge_correction 2000` prints the tables of docs/statistics.md.
"""

import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from workbench.measures.metrics.coverage import Floats, Ints
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.judge_corrections import (
    LABELS_ALONE,
    TARGETS,
    CorrectedValue,
    LabelledItems,
    Target,
    corrected_difference,
    corrected_mean,
)

QUESTIONS = 300
# The sensitivity and the share of false alarms of the judge on each of two configurations.
JUDGES = {"good and weak": ((0.95, 0.10), (0.75, 0.45)), "excellent": ((0.99, 0.05), (0.97, 0.05))}
RATES = ((0.8, 0.95), (0.9, 0.98))


@dataclass(frozen=True)
class JudgedWorld:
    """Two configurations with true `rates`, judged on questions of `documents`, and `labels` labelled questions.

    `correlation` is that of the latent quality of items of a document, and `judged_together` that of the judge's errors. `unequal`: Zipf sizes of
    documents. `difficulty` correlates errors with how close an item is to failing. `claims`: questions have up to 5 items. `unparsed` is the
    share of items without a verdict.
    """

    rates: tuple[float, float]
    judges: tuple[tuple[float, float], tuple[float, float]]
    documents: int
    labels: int
    correlation: float = 0.0
    judged_together: float = 0.0
    unequal: bool = False
    difficulty: float = 0.0
    claims: bool = False
    unparsed: float = 0.0

    def drawn(self, random: np.random.Generator) -> tuple[list[LabelledItems], list[float]]:
        """Draw the items of both configurations, with the share of successes among the items of each."""
        documents = self._documents(random)
        clusters = Clusters.of(documents)
        count = int(documents.max()) + 1
        shared = random.normal(size=count)[documents] * self.correlation**0.5
        question = random.normal(size=QUESTIONS) * ((1 - self.correlation) / 2) ** 0.5
        order = random.permutation(QUESTIONS)[: self.labels]
        both = [self._items(place, shared + question, documents, order, clusters, random) for place in range(2)]
        return [items for items, _ in both], [share for _, share in both]

    def _documents(self, random: np.random.Generator) -> Ints:
        if not self.unequal:
            return np.arange(QUESTIONS) % self.documents
        chances = 1 / np.arange(1, self.documents + 1)
        rest = random.choice(self.documents, QUESTIONS - self.documents, p=chances / chances.sum())
        return np.concatenate([np.arange(self.documents), rest])

    def _items(
        self, place: int, quality: Floats, documents: Ints, order: Ints, clusters: Clusters, random: np.random.Generator
    ) -> tuple[LabelledItems, float]:
        sizes = random.integers(1, 6, QUESTIONS) if self.claims else np.ones(QUESTIONS, dtype=np.int64)
        query = np.repeat(np.arange(QUESTIONS), sizes)
        noise = random.normal(size=len(query)) * ((1 - self.correlation) / 2) ** 0.5
        level = special.ndtr(quality[query] + noise)
        truth = (level < self.rates[place]).astype(np.float64)
        judged = self._judged(place, truth, level, documents[query], random)
        firsts = np.cumsum(sizes) - sizes
        chosen = firsts[order] + (random.random(len(order)) * sizes[order]).astype(np.int64)
        label, is_drawn = np.full(len(query), np.nan), np.zeros(len(query), dtype=np.bool_)
        label[chosen], is_drawn[chosen] = truth[chosen], True
        weight = 1 / sizes[query]
        return LabelledItems(query, weight, judged, label, is_drawn, clusters), float((weight * truth).sum() / QUESTIONS)

    def _judged(self, place: int, truth: Floats, level: Floats, documents: Ints, random: np.random.Generator) -> Floats:
        rate, (sensitivity, alarms) = self.rates[place], self.judges[place]
        together = random.normal(size=int(documents.max()) + 1)[documents] * self.judged_together**0.5
        error = together + random.normal(size=len(truth)) * (1 - self.judged_together) ** 0.5
        # The distance from failing, or from passing, as a uniform value within the class.
        distance = np.where(truth == 1, 1 - level / rate, (level - rate) / (1 - rate))
        close = special.ndtri(np.clip(distance, 1e-6, 1 - 1e-6))
        mixed = self.difficulty * close + (1 - self.difficulty**2) ** 0.5 * error
        wrong = special.ndtr(mixed) < np.where(truth == 1, 1 - sensitivity, alarms)
        verdict = np.where(wrong, 1 - truth, truth)
        return np.where(random.random(len(truth)) < self.unparsed, np.nan, verdict)


WORLDS: Mapping[str, Mapping[str, Any]] = {
    "independent": {},
    "unequal documents, difficulty": {"correlation": 0.2, "judged_together": 0.1, "unequal": True, "difficulty": 0.7},
    "several claims, unparsed": {"correlation": 0.2, "judged_together": 0.1, "claims": True, "unparsed": 0.05},
}


@dataclass(frozen=True)
class Cell:
    """The share of intervals with the truth and the mean width, by estimate (`a`, `b` or `a - b`), target, and kind of interval."""

    world: str
    judge: str
    documents: int
    labels: int
    rates: tuple[float, float]
    coverage: dict[tuple[str, Target], float]
    width: dict[tuple[str, Target], float]
    alone: dict[tuple[str, Target], float]


def simulated(name: str, judge: str, documents: int, labels: int, rates: tuple[float, float], repetitions: int) -> Cell:
    """Simulate one cell."""
    world = replace(JudgedWorld(rates, JUDGES[judge], documents, labels), **WORLDS[name])
    seed = [list(WORLDS).index(name), list(JUDGES).index(judge), documents, labels, RATES.index(rates)]
    rows: dict[tuple[str, Target], list[tuple[bool, float, bool]]] = {}
    for random in np.random.default_rng(seed).spawn(repetitions):
        for key, row in _measured(world, random):
            rows.setdefault(key, []).append(row)
    means = {key: np.mean(np.array(values, dtype=np.float64), axis=0).tolist() for key, values in rows.items()}
    parts = ({key: mean[part] for key, mean in means.items()} for part in range(3))
    return Cell(name, judge, documents, labels, rates, *parts)


def _measured(world: JudgedWorld, random: np.random.Generator) -> Iterator[tuple[tuple[str, Target], tuple[bool, float, bool]]]:
    (a, b), shares = world.drawn(random)
    for target in TARGETS:
        truths = shares if target == "items" else list(world.rates)
        for name, items, truth in zip("ab", (a, b), truths, strict=True):
            yield (name, target), _row(corrected_mean(items, target), truth)
        yield ("a - b", target), _row(corrected_difference(a, b, target), truths[0] - truths[1])


def _row(found: CorrectedValue, truth: float) -> tuple[bool, float, bool]:
    return found.low - 1e-9 <= truth <= found.high + 1e-9, found.width, found.method == LABELS_ALONE


def cells(repetitions: int, documents: Sequence[int] = (10, 50), labels: Sequence[int] = (50, 100)) -> Iterator[Cell]:
    """Simulate all cells in two processes."""
    grid = [
        (world, judge, count, number, rates)
        for number, count, rates, judge, world in itertools.product(labels, documents, RATES, JUDGES, WORLDS)
    ]
    with ProcessPoolExecutor(2) as pool:
        yield from pool.map(simulated, *zip(*grid, strict=True), [repetitions] * len(grid))


def table(found: Sequence[Cell]) -> str:
    """The least and the mean coverage over rates and judges, and mean widths, as Markdown."""
    columns = ["world", "documents", "labels", "target", "means: least", "mean", "width", "differences: least", "mean", "width"]
    lines = [columns, ["---"] * len(columns)]
    keys = list(dict.fromkeys((cell.world, cell.documents, cell.labels) for cell in found))
    for world, documents, labels in keys:
        chosen = [cell for cell in found if (cell.world, cell.documents, cell.labels) == (world, documents, labels)]
        for target in TARGETS:
            line = [world, str(documents), str(labels), target]
            for names in (("a", "b"), ("a - b",)):
                coverage = [cell.coverage[name, target] for cell in chosen for name in names]
                width = [cell.width[name, target] for cell in chosen for name in names]
                line += [f"{min(coverage):.3f}", f"{np.mean(coverage):.3f}", f"{np.mean(width):.3f}"]
            lines.append(line)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    results = []
    for cell in cells(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000):
        results.append(cell)
        print(cell, file=sys.stderr, flush=True)
    print(table(results))
