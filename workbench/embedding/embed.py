"""Texts to vectors through the item cache: what any configuration has embedded is never embedded again."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from workbench.core import batching
from workbench.core.fingerprint import fingerprint
from workbench.embedding.base import Embedder, Role, Usage
from workbench.errors import RunError
from workbench.models.tokenizers import Ints
from workbench.storage.vector_cache import VectorCache, Vectors

_BATCH_TOKENS = 8_192
_BATCH_TEXTS = 128
# Texts that are made, hashed and counted at once.
_TEXTS = 4_096

# 16 bytes each.
_KEY = np.dtype("V16")
Keys = NDArray[np.void]
Bools = NDArray[np.bool_]
# Gives the array that vectors are written to, float32 of this shape.
VectorBuffer = Callable[[tuple[int, int]], Vectors]


def in_memory(shape: tuple[int, int]) -> Vectors:
    """VectorBuffer for vectors where nobody wants them elsewhere."""
    return np.empty(shape, dtype=np.float32)


@dataclass(frozen=True)
class EmbeddedTexts:
    """Vectors float32 (n, dimension) in the order of the texts, and each input's tokens (int64, n) before the window cut them.

    `usage` is what a provider counted for the texts that the cache lacked.
    """

    vectors: Vectors
    lengths: Ints
    tokens_encoded: int
    usage: Usage = field(default_factory=Usage)


def text_keys(texts: Sequence[str], embedder: Embedder, role: Role, salt: str = "") -> list[bytes]:
    """The item cache's key of each text: 16 bytes of BLAKE2b keyed by the embedder's identity, or by the salt given in its place."""
    key = bytes.fromhex(fingerprint(salt or embedder.identity(role)))
    return [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=key).digest() for text in texts]


def described(texts: Sequence[str], embedder: Embedder, role: Role, salt: str = "") -> tuple[Keys, Ints]:
    """The item cache's key of each text, an array of 16 bytes (n), and its tokens before the window cuts it: int64 (n)."""
    keys, lengths = np.empty(len(texts), dtype=_KEY), np.empty(len(texts), dtype=np.int64)
    for part in batching.blocks(len(texts), _TEXTS):
        some = texts[part]
        keys[part] = np.frombuffer(b"".join(text_keys(some, embedder, role, salt)), dtype=_KEY)
        lengths[part] = embedder.lengths(some, role)
    return keys, lengths


def embed(
    texts: Sequence[str], embedder: Embedder, role: Role, cache: VectorCache, label: str = "", room: VectorBuffer = in_memory
) -> EmbeddedTexts:
    """Embed texts, computing only what the cache lacks.

    Batches are planned from the full sorted list of distinct texts and committed whole, so a resumed run encodes the same
    batches as an undisturbed one. `room` gives the array that the vectors are written to, by its shape.
    """
    keys, lengths = described(texts, embedder, role)
    # Equal texts have one key. The first of them stands for all.
    distinct, places, of_text = np.unique(keys, return_index=True, return_inverse=True)
    cut = np.minimum(lengths[places], embedder.window())
    missing = _missing(distinct, cache)
    dimension = _dimension(cache, distinct[~missing])
    usage = Usage()
    tokens = int(cut[missing].sum())
    bar = tqdm(total=tokens, unit="tok", unit_scale=True, desc=f"embed {label}".strip(), disable=not tokens, leave=False)
    with cache.held_open(), bar:
        for batch in _batches(cut):
            todo = batch[missing[batch]]
            if len(todo):
                vectors, used = embedder.encode_metered([texts[place] for place in places[todo].tolist()], role)
                dimension = dimension or vectors.shape[1]
                if vectors.shape[1] != dimension:
                    raise _changed(embedder, dimension, vectors.shape[1], cache)
                cache.put(_as_bytes(distinct[todo]), vectors)
                usage += used
                bar.update(int(cut[todo].sum()))
    found = room((len(texts), dimension or 0))
    _read(cache, distinct, of_text, found)
    return EmbeddedTexts(found, lengths, tokens, usage)


def _missing(keys: Keys, cache: VectorCache) -> Bools:
    """Which keys the cache lacks: bool (n)."""
    missing = np.ones(len(keys), dtype=np.bool_)
    for part in batching.blocks(len(keys), _TEXTS):
        some = _as_bytes(keys[part])
        there = cache.present(some)
        missing[part] = [key not in there for key in some]
    return missing


def _read(cache: VectorCache, distinct: Keys, of_text: Ints, vectors: Vectors) -> None:
    """Write the vector of each text's key, a block at a time."""
    for part in batching.blocks(len(of_text), batching.rows(16 * vectors.shape[1])):
        wanted, places = np.unique(of_text[part], return_inverse=True)
        keys = _as_bytes(distinct[wanted])
        found = cache.get(keys)
        vectors[part] = np.stack([found[key] for key in keys])[places]


def _dimension(cache: VectorCache, present: Keys) -> int | None:
    """The dimension of the vectors that are there; None where there are none."""
    return next((len(vector) for vector in cache.get(_as_bytes(present[:1])).values()), None)


def _as_bytes(keys: Keys) -> list[bytes]:
    return [key.tobytes() for key in keys]


def _changed(embedder: Embedder, before: int, now: int, cache: VectorCache) -> RunError:
    what = f"embedding {embedder.kind!r}: {embedder.model} gave vectors of {before} dimensions before and of {now} now: it is another model"
    return RunError(what, f"serve the former model, or delete {cache.path} and run again")


def _batches(lengths: Ints) -> Iterator[Ints]:
    """Texts in runs, longest first and equally long ones by key, of at most _BATCH_TOKENS tokens with their padding."""
    order = np.argsort(-lengths, kind="stable")
    first = 0
    while first < len(order):
        longest = max(1, int(lengths[order[first]]))
        last = first + max(1, min(_BATCH_TEXTS, _BATCH_TOKENS // longest))
        yield order[first:last]
        first = last


class Batch(NamedTuple):
    """Texts that are encoded together, longest first, as arrays (n): their keys, which of several sequences has each first and where in it.

    `tokens` (int64) are those within the window. The texts themselves are not held.
    """

    keys: Keys
    sequences: Ints
    places: Ints
    tokens: Ints

    @property
    def cache_keys(self) -> list[bytes]:
        """The keys as the cache takes them."""
        return _as_bytes(self.keys)

    def texts(self, sequences: Sequence[Sequence[str]]) -> list[str]:
        """The texts, made now, from the sequences that were asked about."""
        return [sequences[sequence][place] for sequence, place in zip(self.sequences.tolist(), self.places.tolist(), strict=True)]


def missing_batches(texts: Sequence[Sequence[str]], embedder: Embedder, role: Role, cache: VectorCache) -> list[Batch]:
    """What the cache lacks of these sequences of texts, each text once, in batches as `embed` plans them; for those who encode elsewhere."""
    keys, lengths = (np.concatenate(parts) for parts in zip(*(described(some, embedder, role) for some in texts), strict=True))
    many = [len(some) for some in texts]
    sequences, places = np.repeat(np.arange(len(many)), many), np.concatenate([np.arange(n) for n in many])
    distinct, first = np.unique(keys, return_index=True)
    first, cut = first[_missing(distinct, cache)], np.minimum(lengths, embedder.window())
    return [Batch(keys[some], sequences[some], places[some], cut[some]) for some in (first[batch] for batch in _batches(cut[first]))]
