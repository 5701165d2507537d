"""Check the vectors that an embedder returns, before anything keeps them."""

from collections.abc import Sequence

import numpy as np

from workbench.embedding.base import Embedder, Role, Usage
from workbench.errors import RunError
from workbench.storage.vector_cache import Vectors

# Precisions of 16 bits give lengths that differ from 1 by less.
_TOLERANCE = 0.02
_SHOWN = 60


def encode_checked(texts: Sequence[str], embedder: Embedder, role: Role) -> tuple[Vectors, Usage]:
    """Encode a batch and return unit vectors, float32 (n, dimension). Raises RunError, which names the text, for any other vectors."""
    vectors, usage = embedder.encode_metered(texts, role)
    name = f"embedding {embedder.kind!r}: {embedder.model}"
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise RunError(f"{name} returned an array of shape {vectors.shape} for {len(texts)} texts", "it must return a vector for each text")
    if fault := unit_fault(vectors, texts):
        raise RunError(f"{name} returned {fault}", "check the model: a vector must be finite and have length 1")
    return vectors, usage


def unit_fault(vectors: Vectors, texts: Sequence[str] = ()) -> str:
    """Describe the first row that is no unit vector, with its text if there are texts, or return an empty text."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    wrong = np.flatnonzero(~(np.abs(lengths - 1) <= _TOLERANCE))
    if not len(wrong):
        return ""
    place = int(wrong[0])
    what = f"a vector of length {lengths[place]:.3g}" if np.isfinite(vectors[place]).all() else "a vector that is not finite"
    return what + (f" for {shown_text(texts, place)}" if texts else f" (row {place})")


def check_sealed(vectors: Vectors, name: str) -> None:
    """Check vectors that are about to be stored. Raises RunError for a row that is no unit vector."""
    if fault := unit_fault(vectors):
        raise RunError(f"{name}: the array to store has {fault}", "run again; if it persists, check memory and disk")


def shown_text(texts: Sequence[str], place: int) -> str:
    """Quote the beginning of a text, with its place in the batch."""
    text = texts[place]
    quoted = repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
    return f"the text {quoted} ({place + 1} of a batch of {len(texts)})"
