"""Experiments with known true means, whose scores are distributed like span recalls or differ by rare losses."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, stats

from workbench.measures.statistics.clusters import Clusters

Floats = NDArray[np.float64]
# The correlation of the errors of nearly equal configurations.
_NEAR = 0.98


class World(Protocol):
    """Configurations with true `means`, measured on questions in `clusters`."""

    @property
    def means(self) -> tuple[float, ...]: ...
    @property
    def clusters(self) -> Clusters: ...
    def draw(self, random: np.random.Generator) -> Floats:
        """Draw the scores (c, q) of one experiment."""


def documents(sizes: Sequence[int]) -> Clusters:
    """The clusters of questions about documents with these numbers of questions."""
    return Clusters.of(np.repeat(np.arange(len(sizes)), sizes))


def varied(count: int, most: int = 9) -> Clusters:
    """The clusters of `count` documents of 1 to `most` questions each."""
    return documents([place % most + 1 for place in range(count)])


def covariance(world: World, random: np.random.Generator, draws: int = 4_000) -> Floats:
    """The covariance (c, c) of the configurations' means over the questions, by simulation."""
    off = np.array([world.draw(random).mean(axis=1) for _ in range(draws)]) - world.means
    return np.asarray(off.T @ off / draws)


USUAL = varied(61)


@dataclass(frozen=True)
class Recalls:
    """Scores like span recalls, many of them 0 or 1, of questions that may have several documents.

    A score is a normal variable cut off at 0 and 1. It is the sum of the contributions of its documents, the question, the configuration on
    these documents and the configuration on the question (standard deviations). The errors of neighbouring configurations are correlated,
    those of the `copies` in a group are nearly equal.
    """

    means: tuple[float, ...]
    clusters: Clusters = USUAL
    document: float = 0.25
    question: float = 0.35
    shift: float = 0.12
    noise: float = 0.30
    alike: float = 0.5
    copies: int = 1

    @cached_property
    def weights(self) -> Any:
        """The share of each document in each question (d, q), of equal variance for questions with one and with several documents."""
        return weights(self.clusters)

    @cached_property
    def centres(self) -> Floats:
        """The centres (c) of the normal variables that have the true means once they are cut off."""
        spread = float(np.sqrt(self.document**2 + self.question**2 + self.shift**2 + self.noise**2))
        return np.array([optimize.brentq(_clipped_gap, -3, 4, args=(spread, mean)) for mean in self.means])

    @cached_property
    def mixing(self) -> Floats:
        """The matrix (c, c) that turns independent errors into correlated ones."""
        places = np.arange(len(self.means) // self.copies)
        between = self.alike ** np.abs(np.subtract.outer(places, places))
        within = np.full((self.copies, self.copies), _NEAR) + (1 - _NEAR) * np.eye(self.copies)
        mixing: Floats = np.linalg.cholesky(np.kron(between, within)).astype(np.float64)
        return mixing

    def draw(self, random: np.random.Generator) -> Floats:
        """Draw the scores (c, q) of one experiment."""
        count, queries, docs = len(self.means), len(self.clusters), self.weights.shape[0]
        common = self.document * random.standard_normal(docs) @ self.weights + self.question * random.standard_normal(queries)
        own = self.shift * random.standard_normal((count, docs)) @ self.weights + self.noise * random.standard_normal((count, queries))
        return np.asarray(np.clip(self.centres[:, None] + common + self.mixing @ own, 0, 1))


def weights(clusters: Clusters) -> Any:
    """The documents of each question as a sparse matrix (d, q), with 1 / √m for each of its m documents."""
    several = clusters.documents if len(clusters.query) else [[code] for code in clusters.codes.tolist()]
    # A question without documents has one to itself.
    held = [each or [-1 - query] for query, each in enumerate(several)]
    document = np.unique([doc for each in held for doc in each], return_inverse=True)[1]
    counts = np.array([len(each) for each in held])
    return sparse.csr_array((np.repeat(counts**-0.5, counts), (document, np.repeat(np.arange(len(held)), counts))))


def _clipped_gap(place: float, spread: float, mean: float) -> float:
    """The mean of a normal variable cut off at 0 and 1, minus `mean`."""
    low, high = -place / spread, (1 - place) / spread
    inside = stats.norm.cdf(high) - stats.norm.cdf(low)
    return float(place * inside + spread * (stats.norm.pdf(low) - stats.norm.pdf(high)) + stats.norm.sf(high)) - mean


@dataclass(frozen=True)
class RareLosses:
    """Two configurations with equal means: the first is slightly better on a share `often` of the `questions`, and loses all on the rest."""

    questions: int
    often: float

    @property
    def means(self) -> tuple[float, ...]:
        return self.often / 2, self.often / 2

    @cached_property
    def clusters(self) -> Clusters:
        return Clusters.of(np.arange(self.questions))

    def draw(self, random: np.random.Generator) -> Floats:
        """Draw the scores (2, q) of one experiment."""
        gain = (1 - self.often) / self.often
        lost = random.random(self.questions) > self.often
        second = random.uniform(0, 1 - 2 * gain, self.questions)
        first = second + gain * random.uniform(0, 2, self.questions)
        return np.where(lost, [[0.0], [1.0]], [first, second])


@dataclass(frozen=True)
class RareDocuments:
    """Two configurations with equal means: the first loses `loss` on all questions about a `share` of the documents, and gains a little on the rest.

    Documents have about equally many of the `questions`.
    """

    count: int
    share: float
    questions: int = 300
    loss: float = 0.45
    noise: float = 0.05

    @property
    def means(self) -> tuple[float, ...]:
        return 0.7, 0.7

    @cached_property
    def clusters(self) -> Clusters:
        return documents([self.questions // self.count + (place < self.questions % self.count) for place in range(self.count)])

    def draw(self, random: np.random.Generator) -> Floats:
        """Draw the scores (2, q) of one experiment."""
        lost, level = random.random(self.count) < self.share, random.uniform(0.55, 0.85, self.count)
        change = np.where(lost, -self.loss, self.loss * self.share / (1 - self.share))
        second = level[self.clusters.codes] + random.normal(0, self.noise, self.questions)
        return np.array([second + change[self.clusters.codes] + random.normal(0, self.noise, self.questions), second])
