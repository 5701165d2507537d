"""Vectors of short texts, such as sentences, for stages other than the embedding itself."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from workbench.embedding.base import Embedder, Role
from workbench.embedding.embed import embed
from workbench.storage.vector_cache import VectorCache, Vectors

# 80 MB of all-MiniLM-L6-v2's.
_MOST = 50_000


class MemoryVectorCache(VectorCache):
    """The item cache in this process's memory, for a notebook without a store; when it is full it is emptied."""

    def __init__(self) -> None:
        self._held: dict[bytes, Vectors] = {}

    @contextmanager
    def held_open(self) -> Iterator[None]:
        """There is no file."""
        yield

    def put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Keep a batch."""
        self._held.update(zip(keys, vectors, strict=True))

    def present(self, keys: Sequence[bytes]) -> set[bytes]:
        """Which of the keys are there."""
        # Here, not in `put`: what `embed` has found present must stay until it asks for the vectors.
        if len(self._held) > _MOST:
            self._held.clear()
        return self._held.keys() & keys

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        """The vectors of the keys that are there."""
        return {key: self._held[key] for key in keys if key in self._held}


_cache: ContextVar[VectorCache] = ContextVar("vectors", default=MemoryVectorCache())  # noqa: B039  # one memory for the process is what is meant


@contextmanager
def vectors_kept_in(cache: VectorCache) -> Iterator[None]:
    """While it is open, `text_vectors` reads and fills this cache instead of the process's memory."""
    token = _cache.set(cache)
    try:
        yield
    finally:
        _cache.reset(token)


def text_vectors(texts: Sequence[str], embedder: Embedder, role: Role = "document") -> Vectors:
    """Unit vectors, float32 (n, dimension), in the order of the texts; only what the cache lacks is computed."""
    return embed(texts, embedder, role, _cache.get(), "sentences").vectors
