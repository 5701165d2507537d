"""Vectors of sentences for chunkers, through the current cache: the run's or, without one, the process's memory."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from workbench.embedding.base import Embedder
from workbench.embedding.embed import embed
from workbench.storage.vector_cache import VectorCache, Vectors

# 80 MB of all-MiniLM-L6-v2's.
_MOST = 50_000


class MemoryVectorCache(VectorCache):
    """The item cache in this process's memory, for a notebook without a store; emptied when it is full."""

    def __init__(self) -> None:
        self._held: dict[bytes, Vectors] = {}

    @contextmanager
    def held_open(self) -> Iterator[None]:
        """Nothing to open: this cache has no file."""
        yield

    def put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Keep a batch."""
        self._held.update(zip(keys, vectors, strict=True))

    def present(self, keys: Sequence[bytes]) -> set[bytes]:
        """The keys that the cache contains."""
        # Here, not in `put`: keys that `embed` has found present must stay until it reads their vectors.
        if len(self._held) > _MOST:
            self._held.clear()
        return self._held.keys() & keys

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        """The vectors of the keys that the cache contains."""
        return {key: self._held[key] for key in keys if key in self._held}


_cache: ContextVar[VectorCache] = ContextVar("vectors", default=MemoryVectorCache())  # noqa: B039  # one memory for the whole process, on purpose


@contextmanager
def vectors_kept_in(cache: VectorCache) -> Iterator[None]:
    """Let `text_vectors` use this cache instead of the process's memory."""
    token = _cache.set(cache)
    try:
        yield
    finally:
        _cache.reset(token)


def text_vectors(texts: Sequence[str], embedder: Embedder) -> Vectors:
    """Unit vectors, float32 (n, dimension), in the order of the texts, embedded as documents through the current cache."""
    return embed(texts, embedder, "document", _cache.get(), "sentences").vectors
