"""Embed texts and chunks through the item cache, so that the same embedder never embeds a text twice."""

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.components.embedding.base import Embedder, Role, Usage
from workbench.components.embedding.openvino import UnpreparedModelError
from workbench.core import batching
from workbench.core.errors import RunError, StoreError
from workbench.core.fingerprint import fingerprint
from workbench.core.records import Document
from workbench.core.storage.vector_cache import VectorCache, Vectors
from workbench.core.text.progress import ProgressBar
from workbench.core.text.words import search_terms
from workbench.llm.models.tokenizers import Ints

# Precisions of 16 bits give lengths that differ from 1 by less.
_TOLERANCE = 0.02
_SHOWN = 60

_batches = functools.partial(batching.padded_batches, tokens=8_192, most=128)
# Texts to create, hash and count at once.
_TEXTS = 4_096
# A key of the item cache as an array's type.
KEY = np.dtype("V16")
Keys = NDArray[np.void]
Bools = NDArray[np.bool_]
# Creates the array for vectors: float32 of this shape.
VectorBuffer = Callable[[tuple[int, int]], Vectors]
# 80 MB of vectors from all-MiniLM-L6-v2.
_MOST = 50_000
# Cached vectors whose most common dimension is that of all.
_SAMPLED = 500
# How often vectors are computed that turn out to be damaged when they are read.
_ATTEMPTS = 3
_TOKENS: dict[str, Any] = {"unit": "tok", "unit_scale": True}


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
    index = int(wrong[0])
    what = f"a vector of length {lengths[index]:.3g}" if np.isfinite(vectors[index]).all() else "a vector that is not finite"
    return what + (f" for {shown_text(texts, index)}" if texts else f" (row {index})")


def check_sealed(vectors: Vectors, name: str) -> None:
    """Check vectors that are about to be stored. Raises RunError for a row that is no unit vector."""
    if fault := unit_fault(vectors):
        raise RunError(f"{name}: the array to store has {fault}", "run again; if it persists, check memory and disk")


def shown_text(texts: Sequence[str], place: int) -> str:
    """Quote the beginning of a text, with its place in the batch."""
    text = texts[place]
    quoted = repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
    return f"the text {quoted} ({place + 1} of a batch of {len(texts)})"


def in_memory(shape: tuple[int, int]) -> Vectors:
    """Create a VectorBuffer in memory."""
    return np.empty(shape, dtype=np.float32)


@dataclass(frozen=True)
class EmbeddedTexts:
    """Vectors float32 (n, dimension), each input's tokens (int64, n) before truncation, and the `usage` for newly encoded texts."""

    vectors: Vectors
    lengths: Ints
    tokens_encoded: int
    usage: Usage = field(default_factory=Usage)


def text_keys(texts: Sequence[str], embedder: Embedder, role: Role, salt: str = "") -> list[bytes]:
    """Return the item cache's key of each text: 16 bytes of BLAKE2b keyed by the embedder's identity, or by `salt` if it is given."""
    key = bytes.fromhex(fingerprint(salt or embedder.identity(role)))
    return [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=key).digest() for text in texts]


def keys_and_lengths(texts: Sequence[str], embedder: Embedder, role: Role, salt: str = "") -> tuple[Keys, Ints]:
    """Return the item cache's key of each text, an array of 16 bytes (n), and its tokens before truncation: int64 (n)."""
    keys, lengths = np.empty(len(texts), dtype=KEY), np.empty(len(texts), dtype=np.int64)
    for part in batching.blocks(len(texts), _TEXTS):
        block = texts[part]
        keys[part] = np.frombuffer(b"".join(text_keys(block, embedder, role, salt)), dtype=KEY)
        lengths[part] = embedder.lengths(block, role)
    return keys, lengths


def embed(
    texts: Sequence[str], embedder: Embedder, role: Role, cache: VectorCache, label: str = "", buffer: VectorBuffer = in_memory
) -> EmbeddedTexts:
    """Embed texts, computing only vectors missing from the cache. A resumed run encodes the same batches as an uninterrupted one."""
    keys, lengths = keys_and_lengths(texts, embedder, role)
    # Equal texts share a key, and the first is encoded. Batches are planned from all distinct texts and committed as one.
    distinct, indices = np.unique(keys, return_index=True)
    cut = np.minimum(lengths[indices], embedder.window())
    tokens, usage = 0, Usage()

    def encode() -> None:
        nonlocal tokens, usage
        missing = _missing(distinct, cache)
        dimension = _dimension(cache, distinct[~missing])
        total = int(cut[missing].sum())
        with cache.open_connection(), ProgressBar(total=total, **_TOKENS, desc=f"embed {label}".strip(), disable=not total) as bar:
            for batch in _batches(cut):
                todo = batch[missing[batch]]
                if len(todo):
                    vectors, used = encode_checked([texts[index] for index in indices[todo].tolist()], embedder, role)
                    dimension = dimension or vectors.shape[1]
                    if vectors.shape[1] != dimension:
                        gave = f"returned vectors of {dimension} dimensions before and {vectors.shape[1]} now: the model has changed"
                        fix = f"serve the previous model, or {cache.way_to_empty} and run again"
                        raise RunError(f"embedding {embedder.kind!r}: {embedder.model} {gave}", fix)
                    cache.put(distinct[todo].tolist(), vectors)
                    tokens, usage = tokens + int(cut[todo].sum()), usage + used
                    bar.update(int(cut[todo].sum()))

    return EmbeddedTexts(read(keys, cache, encode, buffer), lengths, tokens, usage)


def _missing(keys: Keys, cache: VectorCache) -> Bools:
    missing = np.ones(len(keys), dtype=np.bool_)
    for part in batching.blocks(len(keys), _TEXTS):
        block = keys[part].tolist()
        present = cache.present(block)
        missing[part] = [key not in present for key in block]
    return missing


def read(keys: Keys, cache: VectorCache, compute: Callable[[], None], buffer: VectorBuffer) -> Vectors:
    """Compute the vectors that the cache lacks and write those of all keys to the buffer's array, a block at a time.

    Vectors that the cache finds damaged are computed again. Raises StoreError if new ones are damaged too.
    """
    for _ in range(_ATTEMPTS):
        compute()
        vectors = buffer((len(keys), _dimension(cache, keys)))
        # Read all blocks, so that all damaged vectors are found before any is computed again.
        blocks = [*batching.blocks(len(keys), batching.rows(16 * vectors.shape[1]))]
        if sum(_read_block(keys[part], cache, vectors[part]) for part in blocks) == len(blocks):
            return vectors
    raise StoreError("vectors are damaged soon after they were written to the vector cache", "check the disk, then run workbench doctor")


def _read_block(keys: Keys, cache: VectorCache, room: Vectors) -> bool:
    """Write the vectors of keys to the array, and return False if the cache lacks one."""
    block = keys.tolist()
    cached = cache.get(block, room.shape[1])
    if complete := cached.keys() >= set(block):
        room[:] = np.stack([cached[key] for key in block])
    return complete


def _dimension(cache: VectorCache, present: Keys) -> int:
    """Return the dimension of the cached vectors of keys, or 0 without any."""
    blocks = (present[part].tolist() for part in batching.blocks(len(present), _SAMPLED))
    return next((len(vector) for block in blocks for vector in cache.get(block).values()), 0)


class Batch(NamedTuple):
    """Texts to encode together, longest first, as arrays (n): keys, the sequence and place of each, and `tokens` within the window."""

    keys: Keys
    sequences: Ints
    places: Ints
    tokens: Ints

    @property
    def cache_keys(self) -> list[bytes]:
        """Return the keys as bytes, as the cache expects them."""
        return list(self.keys.tolist())

    def texts(self, sequences: Sequence[Sequence[str]]) -> list[str]:
        """Return the batch's texts, read from the sequences that `missing_batches` was called with."""
        return [sequences[sequence][index] for sequence, index in zip(self.sequences.tolist(), self.places.tolist(), strict=True)]


def missing_batches(texts: Sequence[Sequence[str]], embedder: Embedder, role: Role, cache: VectorCache) -> list[Batch]:
    """Plan the texts missing from the cache, each once, in batches as `embed` plans them, for encoding in other processes."""
    keys, lengths = (np.concatenate(parts) for parts in zip(*(keys_and_lengths(group, embedder, role) for group in texts), strict=True))
    many = [len(group) for group in texts]
    sequences, places = np.repeat(np.arange(len(many)), many), np.concatenate([np.arange(n) for n in many])
    distinct, first = np.unique(keys, return_index=True)
    first, cut = first[_missing(distinct, cache)], np.minimum(lengths, embedder.window())
    return [Batch(keys[rows], sequences[rows], places[rows], cut[rows]) for rows in (first[batch] for batch in _batches(cut[first]))]


class MemoryVectorCache(VectorCache):
    """The item cache in this process's memory, for a notebook without a store. It is emptied when it is full."""

    def __init__(self) -> None:
        self._held: dict[bytes, Vectors] = {}

    @contextmanager
    def open_connection(self) -> Iterator[None]:
        yield

    @property
    def way_to_empty(self) -> str:
        return "start Python anew"

    @contextmanager
    def lock(self, *names: str) -> Iterator[None]:
        yield

    def put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        self._held.update(zip(keys, vectors, strict=True))

    def present(self, keys: Sequence[bytes]) -> set[bytes]:
        # Empty the cache here, not in `put`: keys that `embed` has found present must stay until it reads their vectors.
        if len(self._held) > _MOST:
            self._held.clear()
        return self._held.keys() & keys

    def get(self, keys: Sequence[bytes], dimension: int = 0) -> dict[bytes, Vectors]:
        return {key: self._held[key] for key in keys if key in self._held}


_cache: ContextVar[VectorCache] = ContextVar("vectors", default=MemoryVectorCache())  # noqa: B039  # deliberately one for the whole process


@contextmanager
def using_vector_cache(cache: VectorCache) -> Iterator[None]:
    """Make `text_vectors` use this cache instead of the process's memory."""
    token = _cache.set(cache)
    try:
        yield
    finally:
        _cache.reset(token)


def text_vectors(texts: Sequence[str], embedder: Embedder) -> Vectors:
    """Return unit vectors, float32 (n, dimension), in the order of the texts, embedded as documents through the current cache."""
    return embed(texts, embedder, "document", _cache.get(), "sentences").vectors


# The tables of other chunkings that the same pass over the documents can serve.
PeerTables = Callable[[], Sequence[pd.DataFrame]]


@dataclass(frozen=True, eq=False)
class EncoderChunks:
    """The chunks of a corpus for an encoder: the table `chunks` of `documents`, and each chunk's `texts` with its header."""

    documents: Sequence[Document]
    table: pd.DataFrame
    texts: Sequence[str]


@dataclass(frozen=True)
class EncodingPlan:
    """The tokens missing from the cache and those beyond the window. `exact` is False if the cache could not be read."""

    tokens: int
    truncated: int
    exact: bool = True


@dataclass(frozen=True)
class ChunkEncoder:
    """An encoder of chunks with one embedder, each from its own text. `pooling` names the method."""

    embedder: Embedder
    pooling: ClassVar[str] = "standard"

    def embed(self, chunks: EncoderChunks, cache: VectorCache, label: str, buffer: VectorBuffer, peers: PeerTables) -> EmbeddedTexts:
        """Write the vectors to the buffer's array, computing only those missing from the cache."""
        return embed(chunks.texts, self.embedder, "document", cache, label, buffer)

    def plan(self, chunks: EncoderChunks, cache: VectorCache, counted: set[bytes]) -> EncodingPlan:
        """Count what `embed` would encode besides the keys in `counted`, and add its keys to them. Loads no model."""
        return plan_texts(chunks.texts, self.embedder, cache, counted)

    def texts(self, chunks: EncoderChunks) -> Sequence[str] | None:
        """Return the texts that are encoded one by one, or None if whole documents are encoded."""
        return chunks.texts

    def refuses_headers(self) -> str:
        """Return why chunks with headers cannot be encoded, or an empty text if they can."""
        return ""


def plan_texts(texts: Sequence[str], embedder: Embedder, cache: VectorCache, counted: set[bytes]) -> EncodingPlan:
    """Plan the embedding of texts as documents: the tokens missing from the cache, or all tokens of a model not yet converted."""
    window, exact = embedder.window(), True
    try:
        hashes, lengths = keys_and_lengths(texts, embedder, "document")
    except UnpreparedModelError:
        exact = False
        hashes, lengths = keys_and_lengths(texts, embedder, "document", salt=embedder.model_dump_json())
    missing = dict(zip(hashes.tolist(), lengths.tolist(), strict=True))
    present = (cache.present(list(missing)) if exact else set()) | counted
    counted.update(missing)
    tokens = sum(min(length, window) for key, length in missing.items() if key not in present)
    return EncodingPlan(tokens, int(np.maximum(lengths - window, 0).sum()), exact)


Words = frozenset[str]

# Contexts of all configurations and conditions share most sentences. 90 MB of vectors from all-MiniLM-L6-v2.
_MOST_READ = 60_000


@dataclass(frozen=True, slots=True, eq=False)
class ReadText:
    """The unit `vector` of a text, float32 (dimension), and its `words`, stemmed and without stop words."""

    vector: Vectors
    words: Words


_MEMORY: dict[str, dict[str, ReadText]] = {}


def read_texts(texts: Iterable[str], embedder: Embedder, role: Role, cache: VectorCache) -> dict[str, ReadText]:
    """Return the distinct texts in their order, embedding only those that neither this process nor the cache has read."""
    known = _MEMORY.setdefault(fingerprint(embedder.identity(role)), {})
    wanted = list(dict.fromkeys(texts))
    # Another thread may clear what is known.
    found = {text: read for text in wanted if (read := known.get(text)) is not None}
    if missing := [text for text in wanted if text not in found]:
        vectors = embed(missing, embedder, role, cache, "answers").vectors
        words = map(frozenset, search_terms(missing, "english", "english"))
        found |= dict(zip(missing, map(ReadText, vectors, words), strict=True))
    if len(known) + len(missing) > _MOST_READ:
        known.clear()
    known.update((text, found[text]) for text in missing)
    return {text: found[text] for text in wanted}
