"""The embedders that an experiment can name; a new one is its file and its line here, or an entry point of another package."""

from collections.abc import Mapping

from workbench.core.registry import with_plugins
from workbench.embedding.base import Embedder
from workbench.embedding.chunk_encoder import ChunkEncoder
from workbench.embedding.late.pooling import LateChunkEncoder
from workbench.embedding.ollama import OllamaEmbedder
from workbench.embedding.openai import OpenAIEmbedder
from workbench.embedding.sentence_transformers import SentenceTransformersEmbedder
from workbench.embedding.static import StaticEmbedder

_BUILTIN: dict[str, type[Embedder]] = {
    "sentence-transformers": SentenceTransformersEmbedder,
    "static": StaticEmbedder,
    "openai": OpenAIEmbedder,
    "ollama": OllamaEmbedder,
}
EMBEDDERS: Mapping[str, type[Embedder]] = with_plugins(_BUILTIN, "workbench.embedders", Embedder)


def chunk_encoder(embedder: Embedder) -> ChunkEncoder:
    """The encoder of chunks for an embedder."""
    if isinstance(embedder, SentenceTransformersEmbedder) and embedder.pooling == "late":
        return LateChunkEncoder(embedder)
    return ChunkEncoder(embedder)
