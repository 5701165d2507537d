"""A configuration of the pipeline: a named choice of one component for each stage."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from workbench.chunking.base import Chunker
from workbench.embedding.base import NO_WINDOW, Embedder
from workbench.retrieval.base import Retriever


@dataclass(frozen=True)
class Configuration:
    """A component for each stage, under a name that is unique in its experiment. Retrieval without vectors has no embedder."""

    name: str
    chunking: Chunker
    embedding: Embedder | None
    retrieval: Retriever

    @property
    def components(self) -> Mapping[str, BaseModel]:
        """Return the configuration's components by stage."""
        stages: dict[str, BaseModel | None] = {"chunking": self.chunking, "embedding": self.embedding, "retrieval": self.retrieval}
        return {stage: component for stage, component in stages.items() if component is not None}

    @property
    def window(self) -> int | None:
        """Return how many tokens of a chunk's input are embedded, or None for all of them or without embeddings."""
        window = self.embedding.chunk_window() if self.embedding else NO_WINDOW
        return window if window < NO_WINDOW else None
