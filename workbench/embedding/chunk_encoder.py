"""How an embedder makes the vectors of chunks: each from its own text, or from its whole document."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from workbench.embedding.base import Embedder
from workbench.embedding.embed import EmbeddedTexts, VectorBuffer, described, embed, in_memory
from workbench.embedding.openvino_conversion import UnpreparedModelError
from workbench.records import Document
from workbench.storage.vector_cache import VectorCache


@dataclass(frozen=True, eq=False)
class EncoderChunks:
    """The chunks of a corpus as an encoder takes them: the table `chunks` of `documents`, and each chunk's `texts` with its header."""

    documents: Sequence[Document]
    table: pd.DataFrame
    texts: Sequence[str]


Peers = Callable[[], Sequence[EncoderChunks]]


def no_peers() -> Sequence[EncoderChunks]:
    """No other chunks of the same corpus."""
    return ()


@dataclass(frozen=True)
class EncodingPlan:
    """The tokens that the cache lacks, and those beyond the window; `exact` is False where the cache could not be asked."""

    tokens: int
    truncated: int
    exact: bool = True


class ChunkEncoder(ABC):
    """The vectors of chunks by one embedder; `pooling` names the way."""

    pooling: ClassVar[str]

    @abstractmethod
    def embed(
        self, chunks: EncoderChunks, cache: VectorCache, label: str = "", buffer: VectorBuffer = in_memory, peers: Peers = no_peers
    ) -> EmbeddedTexts:
        """The vectors in the buffer's array; what the cache lacks is encoded. `peers` are chunks that the same pass may serve."""

    @abstractmethod
    def plan(self, chunks: EncoderChunks, cache: VectorCache, counted: set[bytes]) -> EncodingPlan:
        """What `embed` would encode that is not among the keys `counted` already, which are added to; loads no model."""

    def texts(self, chunks: EncoderChunks) -> Sequence[str] | None:
        """The texts that are encoded one by one; None where whole documents are."""
        return None

    def refuses_headers(self) -> str:
        """Why chunks with headers cannot be encoded; empty where they can."""
        return ""


@dataclass(frozen=True)
class TextChunkEncoder(ChunkEncoder):
    """Each chunk's own text, through the window."""

    embedder: Embedder
    pooling: ClassVar[str] = "standard"

    def embed(
        self, chunks: EncoderChunks, cache: VectorCache, label: str = "", buffer: VectorBuffer = in_memory, peers: Peers = no_peers
    ) -> EmbeddedTexts:
        """Every distinct text once."""
        return embed(chunks.texts, self.embedder, "document", cache, label, buffer)

    def plan(self, chunks: EncoderChunks, cache: VectorCache, counted: set[bytes]) -> EncodingPlan:
        """The tokens of the distinct texts that the cache lacks; of all of them where the model was never converted on this machine."""
        return plan_texts(chunks.texts, self.embedder, cache, counted)

    def texts(self, chunks: EncoderChunks) -> Sequence[str] | None:
        """All of them."""
        return chunks.texts


def plan_texts(texts: Sequence[str], embedder: Embedder, cache: VectorCache, counted: set[bytes]) -> EncodingPlan:
    """What embedding texts as documents would encode; see `ChunkEncoder.plan`."""
    window, exact = embedder.window(), True
    try:
        hashes, lengths = described(texts, embedder, "document")
    except UnpreparedModelError:
        exact = False
        hashes, lengths = described(texts, embedder, "document", salt=embedder.model_dump_json())
    missing = dict(zip((key.tobytes() for key in hashes), lengths.tolist(), strict=True))
    there = (cache.present(list(missing)) if exact else set()) | counted
    counted |= missing.keys()
    tokens = sum(min(length, window) for key, length in missing.items() if key not in there)
    return EncodingPlan(tokens, int(np.maximum(lengths - window, 0).sum()), exact)
