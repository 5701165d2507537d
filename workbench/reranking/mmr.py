"""Maximal marginal relevance: prefer chunks that are relevant and unlike those that were chosen before."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from workbench.reranking.base import Candidates, Floats, Reranker
from workbench.storage.vector_cache import VectorCache


class MMRReranker(Reranker):
    """Maximal marginal relevance (Carbonell and Goldstein 1998) by the cosines of the embedder's vectors.

    Candidates are chosen one by one, each time the one with the greatest λ cos(query, chunk) - (1 - λ) max cos(chunk, chosen), where λ is
    `relevance`. The value of a choice can exceed that of the one before, so a chunk's score is the number of candidates chosen after it.
    """

    uses_vectors: ClassVar[bool] = True

    kind: Literal["mmr"] = "mmr"
    relevance: float = Field(default=0.5, ge=0, le=1, description="The weight of relevance, λ; the rest is the weight of diversity.")

    def scores(self, pools: Sequence[Candidates], cache: VectorCache) -> list[Floats]:
        """Return how many candidates were chosen after each candidate."""
        return [self._chosen_after(pool) for pool in pools]

    def _chosen_after(self, pool: Candidates) -> Floats:
        vectors = pool.vectors.astype(np.float64)
        relevance = vectors @ pool.query_vector.astype(np.float64)
        after, nearest = np.full(len(relevance), -1.0), np.full(len(relevance), -np.inf)
        for number in range(len(relevance)):
            similarity = nearest if number else 0.0
            value = self.relevance * relevance - (1 - self.relevance) * similarity
            # Of equal candidates the first is chosen, which the retriever ranked higher.
            chosen = int(np.argmax(np.where(after < 0, value, -np.inf)))
            after[chosen] = len(relevance) - 1 - number
            nearest = np.maximum(nearest, vectors @ vectors[chosen])
        return after
