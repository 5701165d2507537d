"""The embedders that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from workbench.components.embedding.base import Embedder
from workbench.components.embedding.embed import ChunkEncoder
from workbench.components.embedding.late_pooling import LateChunkEncoder
from workbench.components.embedding.remote import OllamaEmbedder, OpenAIEmbedder
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.embedding.static import StaticEmbedder
from workbench.core.registry import Registry, components

EMBEDDERS: Registry[type[Embedder]] = components(
    Embedder, "workbench.embedders", SentenceTransformerEmbedder, StaticEmbedder, OpenAIEmbedder, OllamaEmbedder
)


def chunk_encoder(embedder: Embedder) -> ChunkEncoder:
    """Return the encoder of chunks for an embedder."""
    if isinstance(embedder, SentenceTransformerEmbedder) and embedder.pooling == "late":
        return LateChunkEncoder(embedder)
    return ChunkEncoder(embedder)
