"""Compare Chroma's index with exact search: the cost of building it, of 300 queries, and the number of queries that repays the building.

Vectors are clustered, like those of texts. Both sides find the ten nearest chunks of all queries at once. They take turns, and
the fastest of three rounds counts; then 50 queries are timed one by one, and the median counts.
"""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from workbench.components.retrieval.base import Corpus
from workbench.components.retrieval.chroma_index import build_index, open_collection
from workbench.components.retrieval.dense import longest, nearest
from workbench.components.retrieval.rank import tie_breakers
from workbench.core.records import Chunk, Document
from workbench.core.storage.vector_cache import Vectors

SIZES = (1_000, 10_000, 50_000, 200_000)
# Beyond this Chroma's build takes many minutes.
INDEXED = 50_000
DIMENSION = 384
QUERIES = 300
K = 10
# Chunks of a document, and vectors of a cluster.
_A_DOCUMENT, _A_CLUSTER = 5, 50
_ROUNDS = 3
_ALONE = 50


def run() -> dict[str, Any]:
    """Seconds by the number of vectors, and the number of queries after which an index has repaid its building; None if it never does."""
    return {"dimension": DIMENSION, "queries": QUERIES, "sizes": [compared(n) for n in SIZES]}


def compared(n: int) -> dict[str, Any]:
    """One size: all queries together, and a query alone; without Chroma where it would take too long to build."""
    vectors, queries = clustered(n, seed=0), clustered(QUERIES, seed=1)
    chunks = [Chunk(Document(f"d{place // _A_DOCUMENT}", ""), 10 * place, 10 * place + 10) for place in range(n)]
    corpus, length = searchable(chunks, vectors), longest(vectors)

    def exactly(queries: Vectors) -> None:
        nearest(queries, corpus, (K, 0), length)

    if n > INDEXED:
        together, alone = _fastest([exactly], queries)
        return {"vectors": n, "together": {"exact": together[0]}, "alone": {"exact": alone[0]}}
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        building = _seconds(lambda: build_index(index, chunks, vectors))
        with open_collection(index) as collection:

            def nearly(queries: Vectors) -> None:
                collection.query(query_embeddings=queries, n_results=K, include=["distances"])

            nearly(queries)  # the first query reads the index
            together, alone = _fastest([exactly, nearly], queries)
    return {
        "vectors": n,
        "build_seconds": building,
        "together": _compared(together, QUERIES, building),
        "alone": _compared(alone, 1, building),
    }


def _fastest(methods: list[Callable[[Vectors], None]], queries: Vectors) -> tuple[list[float], list[float]]:
    """Seconds of each way for all queries together, and for one alone: the fastest of the rounds, the median of the queries."""
    rounds = [[_seconds(partial(method, queries)) for method in methods] for _ in range(_ROUNDS)]
    alone = [[_seconds(partial(method, query[None, :])) for method in methods] for query in queries[:_ALONE]]
    return np.min(rounds, axis=0).tolist(), np.median(alone, axis=0).tolist()


def _compared(seconds: list[float], queries: int, building: float) -> dict[str, float | int | None]:
    by_exact, by_chroma = seconds
    saved = (by_exact - by_chroma) / queries
    return {"exact": by_exact, "chroma": by_chroma, "paid_after": int(np.ceil(building / saved)) if saved > 0 else None}


def clustered(n: int, seed: int) -> Vectors:
    """Unit vectors around centres that all seeds share: float32 (n, dimension)."""
    centres = np.random.default_rng(7).normal(size=(max(SIZES) // _A_CLUSTER, DIMENSION)).astype(np.float32)
    random = np.random.default_rng(seed)
    vectors = (
        random.normal(size=(n, DIMENSION)).astype(np.float32) * np.float32(0.7) + centres[random.integers(0, max(2, n // _A_CLUSTER), n)]
    )
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def searchable(chunks: list[Chunk], vectors: Vectors) -> Corpus:
    n, ids = len(chunks), [chunk.chunk_id for chunk in chunks]
    documents = tie_breakers([f"d{number}" for number in range(n // _A_DOCUMENT + 1)])
    return Corpus(ids, np.arange(n) // _A_DOCUMENT, np.arange(n), np.full(n, 100), tie_breakers(ids), documents, vectors)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return round(time.perf_counter() - started, 5)
