"""The coverage of the 95 % interval of a mean."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from workbench.statistics.intervals import Interval, mean_intervals

SIZES: dict[str, Callable[[int], np.ndarray]] = {
    "documents of 5 questions": lambda documents: np.full(documents, 5),
    "documents of 1 to 9": lambda documents: np.arange(documents) % 9 + 1,
}
KINDS = ("successes", "shares in steps of 1/4")


def mean_interval(values: npt.ArrayLike, clusters: npt.ArrayLike, *, proportion: bool = False) -> Interval:
    """The interval of one row of values."""
    return mean_intervals(np.asarray(values, dtype=np.float64)[None], clusters, proportion=np.array([proportion]))[0]


def coverage(sizes: np.ndarray, kind: str, mean: float, correlation: float, runs: int, seed: int = 1, *, given: bool = False) -> float:
    """The share of `runs` samples whose interval contains the true mean.

    Each document has its own chance of success, drawn from a beta distribution with `mean` and the `correlation` of its questions.
    `given` draws the chances once, so that only the questions vary, as in the claims about few documents.
    """
    random, codes = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    strength, covered = (1 - correlation) / correlation, 0
    for run in range(runs):
        if not given or run % 20 == 0:
            chance = random.beta(mean * strength, (1 - mean) * strength, len(sizes))[codes]
        values = (random.random(len(codes)) < chance).astype(float) if kind == "successes" else random.binomial(4, chance) / 4
        interval = mean_interval(values, codes, proportion=True)
        target = chance.mean() if given else mean
        covered += interval.low - 1e-9 <= target <= interval.high + 1e-9
    return covered / runs


def difference_coverage(sizes: np.ndarray, correlation: float, runs: int, seed: int = 1) -> float:
    """The same for values that are normal and correlate within documents, as differences do: the t interval."""
    random, codes, covered = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes), 0
    for _ in range(runs):
        common, noise = random.standard_normal(len(sizes))[codes], random.standard_normal(len(codes))
        interval = mean_interval(np.sqrt(correlation) * common + np.sqrt(1 - correlation) * noise, codes)
        covered += interval.low <= 0 <= interval.high
    return covered / runs


def cells(runs: int) -> dict[tuple[str, int, str], list[float]]:
    """Coverage by sizes, number of documents and kind; a list over means .6 and .8 and correlations .05, .3, .7."""
    results: dict[tuple[str, int, str], list[float]] = {}
    for name, sizes in SIZES.items():
        for documents in (10, 20, 40):
            for kind in KINDS:
                results[name, documents, kind] = [
                    coverage(sizes(documents), kind, mean, correlation, runs) for mean in (0.6, 0.8) for correlation in (0.05, 0.3, 0.7)
                ]
            results[name, documents, "differences"] = [difference_coverage(sizes(documents), each, runs) for each in (0.05, 0.3, 0.7)]
        for kind in KINDS:
            results[name, 6, f"{kind}, documents given"] = [
                coverage(sizes(6) * 5, kind, mean, correlation, runs, given=True) for mean in (0.6, 0.8) for correlation in (0.05, 0.3, 0.7)
            ]
    return results
