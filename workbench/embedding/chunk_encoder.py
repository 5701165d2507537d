"""The vectors of chunks by an embedder, each chunk from its own text."""

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

# The tables of the other chunkings that the same pass over the documents may serve.
PeerTables = Callable[[], Sequence[pd.DataFrame]]


@dataclass(frozen=True, eq=False)
class EncoderChunks:
    """The chunks of a corpus as an encoder takes them: the table `chunks` of `documents`, and each chunk's `texts` with its header."""

    documents: Sequence[Document]
    table: pd.DataFrame
    texts: Sequence[str]


@dataclass(frozen=True)
class EncodingPlan:
    """The tokens that the cache lacks, and those beyond the window; `exact` is False where the cache could not be asked."""

    tokens: int
    truncated: int
    exact: bool = True


@dataclass(frozen=True)
class ChunkEncoder:
    """The vectors of chunks by one embedder, each from the chunk's own text; `pooling` names the way."""

    embedder: Embedder
    pooling: ClassVar[str] = "standard"

    def embed(self, chunks: EncoderChunks, cache: VectorCache, label: str, buffer: VectorBuffer, peers: PeerTables) -> EmbeddedTexts:
        """Write the vectors to the buffer's array, computing only what the cache lacks."""
        return embed(chunks.texts, self.embedder, "document", cache, label, buffer)

    def plan(self, chunks: EncoderChunks, cache: VectorCache, counted: set[bytes]) -> EncodingPlan:
        """Count what `embed` would encode besides the keys in `counted`, and add its keys to them; loads no model."""
        return plan_texts(chunks.texts, self.embedder, cache, counted)

    def texts(self, chunks: EncoderChunks) -> Sequence[str] | None:
        """The texts that are encoded one by one; None where whole documents are."""
        return chunks.texts

    def refuses_headers(self) -> str:
        """Why chunks with headers cannot be encoded; empty where they can."""
        return ""


def plan_texts(texts: Sequence[str], embedder: Embedder, cache: VectorCache, counted: set[bytes]) -> EncodingPlan:
    """Plan the embedding of texts as documents: the tokens that the cache lacks, or all where the model is not converted yet."""
    window, exact = embedder.window(), True
    try:
        hashes, lengths = keys_and_lengths(texts, embedder, "document")
    except UnpreparedModelError:
        exact = False
        hashes, lengths = keys_and_lengths(texts, embedder, "document", salt=embedder.model_dump_json())
    missing = dict(zip(hashes.tolist(), lengths.tolist(), strict=True))
    there = (cache.present(list(missing)) if exact else set()) | counted
    counted |= missing.keys()
    tokens = sum(min(length, window) for key, length in missing.items() if key not in there)
    return EncodingPlan(tokens, int(np.maximum(lengths - window, 0).sum()), exact)
