"""Cache vectors in one SQLite file in WAL mode, keyed by the text and everything else that determines a vector."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import StoreError
from workbench.core.storage.sqlite_cache import CacheFormat, SqliteCache, shown_key

FLOAT = np.dtype("<f4")
Vectors = NDArray[np.float32]


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


# The first version had a table `vectors` without digests.
VECTORS = CacheFormat("vector cache", "vector", "vectors", "computed again", "checked_vectors", 2, value_faults, "replies", "vectors")


class VectorCache(SqliteCache):
    """float32 vectors by 16-byte keys, safe for many processes. Each batch is one commit, so a killed run leaves only complete batches.

    Every row has a digest, which each read checks. A damaged row is named on stderr and deleted, so that its vector is computed again.
    """

    format: ClassVar[CacheFormat] = VECTORS

    def put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Commit a batch in one transaction. Raises StoreError for a vector that has no direction, such as one with NaN."""
        for place, fault in vector_faults(vectors).items():
            raise StoreError(f"a vector cannot be cached for key {shown_key(keys[place])}: {fault}", "check the embedder")
        self._insert([(key, vector.astype(FLOAT).tobytes()) for key, vector in zip(keys, vectors, strict=True)])

    present = SqliteCache._present

    def get(self, keys: Sequence[bytes], dimension: int = 0) -> dict[bytes, Vectors]:
        """Return the vectors of those keys that have one, each float32 (dimension), by default the dimension that most of them have.

        Damaged rows, also those of another dimension, are named on stderr and deleted.
        """
        vectors: dict[bytes, Vectors] = {}
        faults: dict[Any, str] = {}
        for rows in self._rows(keys):
            damaged = self.format.faults(rows)
            faults |= {rows[place][0]: fault for place, fault in damaged.items()}
            values = {key: value for place, (key, value, _) in enumerate(rows) if place not in damaged}
            dimension = dimension or _most_common([len(value) // FLOAT.itemsize for value in values.values()])
            for key in [key for key, value in values.items() if len(value) != dimension * FLOAT.itemsize]:
                faults[key] = f"its vector has {len(values.pop(key)) // FLOAT.itemsize} of {dimension} dimensions"
            vectors.update(zip(values, matrix_of(list(values.values())), strict=True))
        if faults:
            self._delete(faults)
        return vectors


def _most_common(sizes: Sequence[int]) -> int:
    return max(counts, key=counts.__getitem__) if (counts := Counter(sizes)) else 0
