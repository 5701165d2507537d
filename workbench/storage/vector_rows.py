"""Vectors as bytes, and the faults that no vector in the cache has."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

FLOAT = np.dtype("<f4")


def matrix_of(values: Sequence[bytes]) -> NDArray[np.float32]:
    """Return vectors of equal size as float32 (n, dimension), read-only."""
    return np.frombuffer(b"".join(values), dtype=FLOAT).reshape(len(values), -1 if values else 0)


def vector_faults(vectors: NDArray[np.float32]) -> dict[int, str]:
    """Describe the rows of float32 (n, dimension) that have no direction because they are zero, not finite or overflow."""
    with np.errstate(all="ignore"):
        squared = np.einsum("ij,ij->i", vectors, vectors)
        wrong = np.flatnonzero(~((squared > 0) & (squared < np.inf)))
    return {int(place): _described(vectors[place]) for place in wrong}


def value_faults(values: Sequence[bytes]) -> dict[int, str]:
    """Describe the bytes that are no vectors, or vectors that have no direction, by place. Vectors may differ in size."""
    faults = {place: f"its vector has {len(value)} bytes" for place, value in enumerate(values) if not value or len(value) % FLOAT.itemsize}
    places = [place for place in range(len(values)) if place not in faults]
    for _, group in groupby(places, key=lambda place: len(values[place])):
        same = list(group)
        faults |= {same[number]: fault for number, fault in vector_faults(matrix_of([values[place] for place in same])).items()}
    return faults


def _described(vector: NDArray[np.float32]) -> str:
    return (
        "its vector is not finite" if not np.isfinite(vector).all() else "its vector is too long" if vector.any() else "its vector is zero"
    )
