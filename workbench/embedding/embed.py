"""Texts to vectors through the item cache: what any configuration has embedded is never embedded again."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from workbench.embedding.base import Embedder, Role, Usage
from workbench.embedding.cache import VectorCache, Vectors
from workbench.errors import RunError
from workbench.fingerprint import fingerprint
from workbench.tokens import Ints

_BATCH_TOKENS = 8_192
_BATCH_TEXTS = 128


@dataclass(frozen=True)
class Embedded:
    """Vectors float32 (n, dimension) in the order of the texts, and each input's tokens (int64, n) before the window cut them.

    `usage` is what a provider counted for the texts that the cache lacked.
    """

    vectors: Vectors
    lengths: Ints
    tokens_encoded: int
    usage: Usage = field(default_factory=Usage)


def text_keys(texts: Sequence[str], embedder: Embedder, role: Role) -> list[bytes]:
    """The item cache's key of each text: 16 bytes of BLAKE2b keyed by the embedder's identity."""
    salt = bytes.fromhex(fingerprint(embedder.identity(role)))
    return [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=salt).digest() for text in texts]


def embed(texts: Sequence[str], embedder: Embedder, role: Role, cache: VectorCache, label: str = "") -> Embedded:
    """Embed texts, computing only what the cache lacks.

    Batches are planned from the full sorted list of distinct texts and committed whole, so a resumed run encodes the same
    batches as an undisturbed one.
    """
    keys = text_keys(texts, embedder, role)
    lengths = embedder.lengths(texts, role)
    distinct = dict(zip(keys, range(len(texts)), strict=True))
    present = cache.present(list(distinct))
    encoded, usage = 0, Usage()
    dimension = _dimension(cache, present)
    order = sorted(distinct.values(), key=lambda place: (-int(lengths[place]), texts[place]))
    missing = sum(min(int(lengths[place]), embedder.window()) for place in order if keys[place] not in present)
    with tqdm(total=missing, unit="tok", unit_scale=True, desc=f"embed {label}".strip(), disable=not missing, leave=False) as bar:
        for batch in _batches(order, lengths, embedder.window()):
            todo = [place for place in batch if keys[place] not in present]
            if todo:
                vectors, used = embedder.encode_metered([texts[place] for place in todo], role)
                dimension = dimension or vectors.shape[1]
                if vectors.shape[1] != dimension:
                    raise _changed(embedder, dimension, vectors.shape[1], cache)
                cache.put([keys[place] for place in todo], vectors)
                usage += used
                tokens = sum(min(int(lengths[place]), embedder.window()) for place in todo)
                encoded += tokens
                bar.update(tokens)
    found = cache.get(list(distinct))
    return Embedded(np.stack([found[key] for key in keys]) if keys else np.zeros((0, 0), np.float32), lengths, encoded, usage)


def _dimension(cache: VectorCache, present: set[bytes]) -> int | None:
    """The dimension of the vectors that are there; None where there are none."""
    return next((len(vector) for vector in cache.get(sorted(present)[:1]).values()), None)


def _changed(embedder: Embedder, before: int, now: int, cache: VectorCache) -> RunError:
    what = f"embedding {embedder.kind!r}: {embedder.model} gave vectors of {before} dimensions before and of {now} now: it is another model"
    return RunError(what, f"serve the former model, or delete {cache.path} and run again")


def _batches(order: list[int], lengths: Ints, window: int) -> Iterator[list[int]]:
    """Runs of texts, longest first, of at most _BATCH_TOKENS tokens with their padding."""
    batch: list[int] = []
    for place in order:
        longest = min(int(lengths[batch[0] if batch else place]), window)
        if batch and (longest * (len(batch) + 1) > _BATCH_TOKENS or len(batch) == _BATCH_TEXTS):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


class Batch(NamedTuple):
    """Texts that are encoded together, longest first, by their keys, and each one's tokens within the window (int64, n)."""

    keys: list[bytes]
    texts: list[str]
    tokens: Ints


def missing_batches(texts: Sequence[str], embedder: Embedder, role: Role, cache: VectorCache) -> list[Batch]:
    """What the cache lacks of these texts, each once, in batches as `embed` plans them; for those who encode elsewhere."""
    distinct = dict(zip(text_keys(texts, embedder, role), texts, strict=True))
    present = cache.present(list(distinct))
    keys, missing = [key for key in distinct if key not in present], [text for key, text in distinct.items() if key not in present]
    window = embedder.window()
    lengths = embedder.lengths(missing, role)
    order = sorted(range(len(missing)), key=lambda place: (-int(lengths[place]), missing[place]))
    planned = _batches(order, lengths, window)
    return [Batch([keys[i] for i in places], [missing[i] for i in places], np.minimum(lengths[places], window)) for places in planned]
