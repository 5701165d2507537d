"""The base of rerankers: they score the best chunks of a retriever again, with a slower and better model."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from workbench.components.embedding.base import Embedder
from workbench.core.storage.vector_cache import VectorCache, Vectors
from workbench.llm.models.component import ModelComponent

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Candidates:
    """The n candidates of one query, best first: their texts and the retriever's scores, float64 (n).

    A reranker with `uses_vectors` gets the vector of the query, float32 (dimension), and those of the chunks, float32 (n, dimension).
    """

    query: str
    texts: Sequence[str]
    scores: Floats
    query_vector: Vectors = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    vectors: Vectors = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))


class Reranker(ModelComponent, ABC):
    """A way to order the `pool` best chunks of a retriever again. Chunks after the pool keep their order."""

    # Whether the reranker needs the vectors of queries and chunks.
    uses_vectors: ClassVar[bool] = False
    # The fewest and the most candidates scored per second on a small machine, assumed by plans. None: too fast to count.
    assumed_speed: ClassVar[tuple[float, float] | None] = None

    pool: int = Field(default=50, ge=1, le=1000, description="The number of the retriever's best chunks to order again.")

    def beside(self, embedder: Embedder) -> Self:
        """Return the reranker for a configuration with this embedder: itself, unless it uses the embedder's model."""
        return self

    @property
    def fault(self) -> str:
        """Return why the reranker does not fit its configuration, or an empty text."""
        return ""

    def check(self) -> None:
        """Raise ModelError if a model that the settings name is missing or does not fit them, without loading it."""

    @abstractmethod
    def scores(self, pools: Sequence[Candidates], cache: VectorCache) -> list[Floats]:
        """Return the scores of each pool's candidates, float64 (n), higher is better."""
