"""The rows of the vector cache: a key, a vector and the digest of both, so that altered rows are detected."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A row as SQLite returns it: key, vector, digest. A damaged one can have values of any type.
Row = tuple[Any, Any, Any]

FLOAT = np.dtype("<f4")
_DIGEST_BYTES = 16


def digest_of(key: bytes, value: bytes) -> bytes:
    """Return 16 bytes of BLAKE2b of a key and the bytes of its vector."""
    return hashlib.blake2b(key + value, digest_size=_DIGEST_BYTES).digest()


def row_fault(row: Row) -> str:
    """Return how a row differs from a row that was written, or an empty text: types, digest, size. See `vector_faults` for the rest."""
    key, value, digest = row
    for name, part in (("key", key), ("vector", value), ("digest", digest)):
        if type(part) is not bytes:
            return f"its {name} is {type(part).__name__}, not bytes"
    if digest != digest_of(key, value):
        return "its digest does not match"
    return f"its vector has {len(value)} bytes" if not value or len(value) % FLOAT.itemsize else ""


def matrix_of(values: Sequence[bytes]) -> NDArray[np.float32]:
    """Return vectors of equal size as float32 (n, dimension), read-only."""
    return np.frombuffer(b"".join(values), dtype=FLOAT).reshape(len(values), -1 if values else 0)


def vector_faults(vectors: NDArray[np.float32]) -> dict[int, str]:
    """Describe the rows of float32 (n, dimension) that have no direction because they are zero, not finite or overflow."""
    with np.errstate(all="ignore"):
        squared = np.einsum("ij,ij->i", vectors, vectors)
        wrong = np.flatnonzero(~((squared > 0) & (squared < np.inf)))
    return {int(place): _described(vectors[place]) for place in wrong}


def _described(vector: NDArray[np.float32]) -> str:
    return (
        "its vector is not finite" if not np.isfinite(vector).all() else "its vector is too long" if vector.any() else "its vector is zero"
    )


def shown_key(key: object) -> str:
    """Return a key for people: hexadecimal, or another value's representation in short."""
    return key.hex() if isinstance(key, bytes) else repr(key)[:40]
