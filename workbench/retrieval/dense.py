"""Rank chunks by the cosine of vectors, exactly or with Chroma's approximate index."""

from typing import ClassVar, Literal

from pydantic import Field

from workbench.retrieval.approximate import approximate
from workbench.retrieval.base import Corpus, QueryBatch, Ranking, Retriever, SearchDepth
from workbench.retrieval.exact import exact


class DenseRetriever(Retriever):
    """Cosine between query and chunk vectors: `exact` compares with every vector, `ann` searches the Chroma collection."""

    uses_vectors: ClassVar[bool] = True

    kind: Literal["dense"] = "dense"
    search: Literal["exact", "ann"] = Field(
        default="exact", description="The search to evaluate: all vectors, or Chroma's approximate index."
    )

    @property
    def evaluated(self) -> str:
        return self.search

    def retrieve(self, queries: QueryBatch, corpus: Corpus, depth: SearchDepth) -> Ranking:
        return (approximate if self.search == "ann" else exact)(queries.vectors, corpus, depth, self.k)

    def searches(self, queries: QueryBatch, corpus: Corpus, depth: SearchDepth) -> dict[str, Ranking]:
        """Return the exact ranking and, with an index, Chroma's, so that the gap between them is always known."""
        vectors = queries.vectors
        nearly = {"ann": approximate(vectors, corpus, depth, self.k)} if corpus.index or self.search == "ann" else {}
        return {"exact": exact(vectors, corpus, depth, self.k)} | nearly
