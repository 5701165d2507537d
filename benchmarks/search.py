"""Chroma's index against exact search: what building costs, what 300 queries take, and how many queries pay for the building.

Vectors lie in clusters, as texts' vectors do. Both sides answer the ten nearest chunks; exact search ranks 100 documents besides, as in a
sweep. The two take turns, and the faster of three rounds counts.
"""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from workbench.embedding.cache import Vectors
from workbench.index import build_index, open_collection
from workbench.records import Chunk
from workbench.retrieval.base import Depth, Searchable
from workbench.retrieval.exact import exact
from workbench.retrieval.rank import tie_breakers

SIZES = (1_000, 10_000, 50_000, 200_000)
# Beyond this Chroma's build takes many minutes.
INDEXED = 50_000
DIMENSION = 384
QUERIES = 300
K = 10
# Chunks of a document, and vectors of a cluster.
_A_DOCUMENT, _A_CLUSTER = 5, 50
_ROUNDS = 3


def run() -> dict[str, Any]:
    """Seconds by the number of vectors; `paid_after` queries an index has paid for its building, None if it never does."""
    return {"dimension": DIMENSION, "queries": QUERIES, "sizes": [compared(n) for n in SIZES]}


def compared(n: int) -> dict[str, Any]:
    """One size; without Chroma where it would take too long to build."""
    vectors, queries = clustered(n, seed=0), clustered(QUERIES, seed=1)
    chunks = [Chunk(f"d{place // _A_DOCUMENT}", 10 * place, 10 * place + 10) for place in range(n)]
    exactly = partial(exact, queries, searchable(chunks, vectors), Depth(K, 0, K, listed=100), K)
    if n > INDEXED:
        return {"vectors": n, "exact_seconds": min(_seconds(exactly) for _ in range(_ROUNDS))}
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        building = _seconds(lambda: build_index(index, chunks, vectors))
        with open_collection(index) as collection:
            nearly = partial(collection.query, query_embeddings=queries, n_results=K, include=["distances"])
            nearly()  # the first query reads the index
            rounds = [(_seconds(exactly), _seconds(nearly)) for _ in range(_ROUNDS)]
    by_exact, by_chroma = (min(times) for times in zip(*rounds, strict=True))
    saved = (by_exact - by_chroma) / QUERIES
    paid = int(np.ceil(building / saved)) if saved > 0 else None
    return {"vectors": n, "build_seconds": building, "chroma_seconds": by_chroma, "exact_seconds": by_exact, "paid_after": paid}


def clustered(n: int, seed: int) -> Vectors:
    """Unit vectors around centres that all seeds share: float32 (n, dimension)."""
    centres = np.random.default_rng(7).normal(size=(max(SIZES) // _A_CLUSTER, DIMENSION)).astype(np.float32)
    random = np.random.default_rng(seed)
    vectors = (
        random.normal(size=(n, DIMENSION)).astype(np.float32) * np.float32(0.7) + centres[random.integers(0, max(2, n // _A_CLUSTER), n)]
    )
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def searchable(chunks: list[Chunk], vectors: Vectors) -> Searchable:
    n, ids = len(chunks), [chunk.chunk_id for chunk in chunks]
    documents = tie_breakers([f"d{number}" for number in range(n // _A_DOCUMENT + 1)])
    return Searchable(ids, np.arange(n) // _A_DOCUMENT, np.arange(n), np.full(n, 100), tie_breakers(ids), documents, vectors)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return round(time.perf_counter() - started, 4)
