"""Compare the vectors of two samples of questions by permutations."""

from math import ceil
from typing import NamedTuple

import numpy as np

from workbench.metrics.coverage import Floats
from workbench.storage.vector_cache import Vectors

# Permutations in memory at once.
_BLOCK = 64
# Squared distances of equal vectors, and differences of equal samples, are at most this by rounding errors.
_EQUAL = 1e-6


class DriftTest(NamedTuple):
    """The energy distance of two samples and the fall of the mean cosine to a direction, each with p."""

    energy: float
    energy_p: float
    fall: float
    fall_p: float


def drift_test(reference: Vectors, sample: Vectors, direction: Vectors, level: float, seed: int) -> DriftTest:
    """Test whether unit vectors (n0, d) and (n, d) have one distribution, each test at `level`. Both share the permutations.

    The energy distance 2 E|x - y| - E|x - x'| - E|y - y'| (Székely and Rizzo 2013) finds new subjects within the corpus. The fall of the mean
    cosine to `direction` (d) finds off-topic questions earlier. Take the direction from other questions than the reference.
    2 / level permutations are drawn, and none after neither test can reach the level any more, which changes no decision.
    """
    vectors, counts = np.concatenate([reference, sample]).astype(np.float32), (len(reference), len(sample))
    labels = np.repeat(np.array([1 / counts[0], -1 / counts[1]], dtype=np.float32), counts)
    squared = (vectors**2).sum(axis=1)[:, None] + (vectors**2).sum(axis=1) - 2 * vectors @ vectors.T
    distances = np.sqrt(np.where(squared < _EQUAL, 0, squared), dtype=np.float32)
    cosines = vectors @ direction.astype(np.float32)
    observed = _statistics(labels[None], distances, cosines)
    wanted, drawn, reached = ceil(2 / level) - 1, 0, np.zeros((2, 1), dtype=np.int64)
    random = np.random.default_rng(seed)
    while drawn < wanted and 1 + reached.min() <= level * (wanted + 1):
        size = min(_BLOCK, wanted - drawn)
        permuted = _statistics(random.permuted(np.tile(labels, (size, 1)), axis=1), distances, cosines)
        reached += (permuted >= observed - _EQUAL).sum(axis=1, keepdims=True)
        drawn += size
    p = (1 + reached[:, 0]) / (1 + drawn)
    return DriftTest(float(observed[0, 0]), float(p[0]), float(observed[1, 0]), float(p[1]))


def _statistics(labels: Vectors, distances: Vectors, cosines: Vectors) -> Floats:
    """Return the energy distance and the fall of the cosine for each row of labels (b, n). Shape (2, b)."""
    return np.array([-np.einsum("bn,bn->b", labels, labels @ distances), labels @ cosines], dtype=np.float64)
