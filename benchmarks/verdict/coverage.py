"""The coverage of the 95 % intervals of means and differences, by the number of documents and where questions share documents."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.verdict.structures import drawn, real
from benchmarks.verdict.worlds import Floats, documents, weights
from workbench.measures.metrics.coverage import Ints
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.intervals import Interval, mean_intervals

SIZES: dict[str, Callable[[int], Ints]] = {
    "documents of 5 questions": lambda count: np.full(count, 5, dtype=np.int64),
    "documents of 1 to 9": lambda count: np.arange(count, dtype=np.int64) % 9 + 1,
}
KINDS = ("successes", "shares in steps of 1/4")
DOCUMENTS = (5, 6, 8, 10, 20, 40)
MEANS, CORRELATIONS = (0.6, 0.8), (0.05, 0.3, 0.7)
# Of differences of two questions about the same documents.
SHARED_CORRELATIONS = (0.3, 0.9)
# Questions, documents and documents of each question: of the second, too much is shared.
SPARSE = ((100, 20, 1), (100, 50, 2), (300, 100, 2), (100, 50, 3), (300, 100, 3), (300, 200, 5))
DENSE = ((100, 10, 2), (100, 50, 5), (100, 100, 5))
# Bounds and truths that differ by less are equal.
_ROUNDING = 1e-9


def mean_interval(values: npt.ArrayLike, clusters: npt.ArrayLike, *, proportion: bool = False) -> Interval:
    """The interval of one row of values."""
    return mean_intervals(np.asarray(values, dtype=np.float64)[None], clusters, proportion=np.array([proportion]))[0]


def coverage(sizes: Ints, kind: str, mean: float, correlation: float, runs: int, seed: int = 1) -> float:
    """The share of `runs` samples whose interval contains the true mean.

    Each document has its own chance of success, drawn from a beta distribution with `mean` and the `correlation` of its questions.
    """
    random, clusters = np.random.default_rng(seed), documents(sizes.tolist())
    strength = (1 - correlation) / correlation
    chance = random.beta(mean * strength, (1 - mean) * strength, (runs, len(sizes)))[:, clusters.codes]
    values = random.binomial(1, chance) if kind == "successes" else random.binomial(4, chance) / 4
    return _share(mean_intervals(values.astype(np.float64), clusters, proportion=np.ones(runs, dtype=np.bool_)), mean)


def difference_coverage(clusters: Clusters, correlation: float, runs: int, seed: int = 1) -> float:
    """The same for values that are normal and correlate within documents, as differences do: the t interval."""
    random, shares = np.random.default_rng(seed), weights(clusters)
    effects = random.standard_normal((runs, shares.shape[0]))
    return _share(_intervals(effects, clusters, shares, correlation, random), 0.0)


def corpus_coverage(questions: int, docs: int, each: int, correlation: float, runs: int, seed: int = 1) -> float:
    """The share of `runs` corpora for which the interval contains the mean of all possible questions with `each` of the corpus's documents."""
    random, covered = np.random.default_rng(seed), []
    for run in range(runs):
        clusters = drawn(questions, docs, each, run)
        shares = weights(clusters)
        effects = random.standard_normal((1, shares.shape[0]))
        # A question is the sum of `each` effects / √each.
        target = np.sqrt(correlation * each) * float(effects.mean())
        covered.append(_share(_intervals(effects, clusters, shares, correlation, random), target))
    return float(np.mean(covered))


def _intervals(effects: Floats, clusters: Clusters, shares: Any, correlation: float, random: np.random.Generator) -> Iterable[Interval]:
    noise = random.standard_normal((len(effects), len(clusters)))
    values = np.sqrt(correlation) * (effects @ shares) + np.sqrt(1 - correlation) * noise
    return mean_intervals(np.asarray(values), clusters, proportion=np.zeros(len(values), dtype=np.bool_))


def _share(intervals: Iterable[Interval], target: float) -> float:
    return float(np.mean([each.low - _ROUNDING <= target <= each.high + _ROUNDING for each in intervals]))


def by_documents(runs: int) -> dict[tuple[str, int, str], list[float]]:
    """Coverage by sizes, number of documents and kind; a list over means and correlations, or correlations for differences."""
    results: dict[tuple[str, int, str], list[float]] = {}
    for name, sizes in SIZES.items():
        for count in DOCUMENTS:
            for kind in KINDS:
                cells = [(mean, each) for mean in MEANS for each in CORRELATIONS]
                results[name, count, kind] = [coverage(sizes(count), kind, mean, each, runs) for mean, each in cells]
            alone = documents(sizes(count).tolist())
            results[name, count, "differences"] = [difference_coverage(alone, each, runs) for each in CORRELATIONS]
    return results


def by_sharing(runs: int) -> dict[str, list[float]]:
    """Coverage of differences by structure; a list over correlations. Where too much is shared, of the mean on this corpus."""
    random = {f"{n} questions with {each} of {docs} documents": drawn(n, docs, each) for n, docs, each in SPARSE}
    results = {
        name: [difference_coverage(clusters, each, runs) for each in SHARED_CORRELATIONS] for name, clusters in (random | real()).items()
    }
    for n, docs, each in DENSE:
        name = f"{n} questions with {each} of {docs} documents, this corpus"
        results[name] = [corpus_coverage(n, docs, each, correlation, runs) for correlation in SHARED_CORRELATIONS]
    return results
