"""Embed chunks, each from its own text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from workbench.embedding.base import Embedder
from workbench.embedding.embed import EmbeddedTexts, VectorBuffer, embed, keys_and_lengths
from workbench.embedding.openvino_conversion import UnpreparedModelError
from workbench.records import Document
from workbench.storage.vector_cache import VectorCache

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
