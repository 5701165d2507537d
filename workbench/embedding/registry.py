"""The embedders that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from workbench.core.registry import Registry, components
from workbench.embedding.base import Embedder
from workbench.embedding.embed import ChunkEncoder
from workbench.embedding.late.pooling import LateChunkEncoder
from workbench.embedding.ollama import OllamaEmbedder
from workbench.embedding.openai import OpenAIEmbedder
from workbench.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.embedding.static import StaticEmbedder

EMBEDDERS: Registry[type[Embedder]] = components(
    Embedder, "workbench.embedders", SentenceTransformerEmbedder, StaticEmbedder, OpenAIEmbedder, OllamaEmbedder
)


def chunk_encoder(embedder: Embedder) -> ChunkEncoder:
    """Return the encoder of chunks for an embedder."""
    if isinstance(embedder, SentenceTransformerEmbedder) and embedder.pooling == "late":
        return LateChunkEncoder(embedder)
    return ChunkEncoder(embedder)
