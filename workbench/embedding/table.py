"""The embedders that an experiment can name; a new one is its file and its line here."""

from workbench.embedding.base import Embedder
from workbench.embedding.ollama import OllamaEmbedder
from workbench.embedding.openai import OpenAIEmbedder
from workbench.embedding.sentence_transformers import SentenceTransformersEmbedder
from workbench.embedding.static import StaticEmbedder

EMBEDDERS: dict[str, type[Embedder]] = {
    "sentence-transformers": SentenceTransformersEmbedder,
    "static": StaticEmbedder,
    "openai": OpenAIEmbedder,
    "ollama": OllamaEmbedder,
}
