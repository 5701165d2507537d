"""Maximal marginal relevance: prefer chunks that are relevant and unlike those that were chosen before."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from workbench.components.reranking.base import Candidates, Floats, Reranker
from workbench.components.reranking.marginal_relevance import chosen_after
from workbench.core.storage.vector_cache import VectorCache


class MMRReranker(Reranker):
    """Maximal marginal relevance (Carbonell and Goldstein 1998) by the cosines of the embedder's vectors.

    Candidates are chosen one by one, each time the one with the greatest λ cos(query, chunk) - (1 - λ) max cos(chunk, chosen), where λ is
    `relevance`. The value of a choice can exceed that of the one before, so a chunk's score is the number of candidates chosen after it.
    """

    uses_vectors: ClassVar[bool] = True

    kind: Literal["mmr"] = "mmr"
    relevance: float = Field(default=0.5, ge=0, le=1, description="The weight of relevance, λ; the rest is the weight of diversity.")

    def scores(self, pools: Sequence[Candidates], cache: VectorCache) -> list[Floats]:
        return [chosen_after(pool.query_vector, pool.vectors, self.relevance) for pool in pools]
