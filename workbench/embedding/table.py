"""The embedders that an experiment can name; a new one is its file and its line here."""

from workbench.embedding.base import Embedder
from workbench.embedding.sentence_transformers import SentenceTransformersEmbedder

EMBEDDERS: dict[str, type[Embedder]] = {"sentence-transformers": SentenceTransformersEmbedder}
