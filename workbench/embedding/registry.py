"""The embedders that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from collections.abc import Mapping

from workbench.core.registry import Registry
from workbench.embedding.base import Embedder
from workbench.embedding.chunk_encoder import ChunkEncoder
from workbench.embedding.late.pooling import LateChunkEncoder
from workbench.embedding.ollama import OllamaEmbedder
from workbench.embedding.openai import OpenAIEmbedder
from workbench.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.embedding.static import StaticEmbedder

_BUILTIN: dict[str, type[Embedder]] = {
    "sentence-transformers": SentenceTransformerEmbedder,
    "static": StaticEmbedder,
    "openai": OpenAIEmbedder,
    "ollama": OllamaEmbedder,
}
EMBEDDERS: Mapping[str, type[Embedder]] = Registry(_BUILTIN, "workbench.embedders", Embedder)


def chunk_encoder(embedder: Embedder) -> ChunkEncoder:
    """Return the encoder of chunks for an embedder."""
    if isinstance(embedder, SentenceTransformerEmbedder) and embedder.pooling == "late":
        return LateChunkEncoder(embedder)
    return ChunkEncoder(embedder)
