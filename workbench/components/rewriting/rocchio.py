"""Rocchio's method: move the vector of a query towards those of the best chunks."""

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from workbench.components.retrieval.base import Corpus, QueryBatch, Retriever
from workbench.components.rewriting.base import FeedbackRewriter


class RocchioRewriter(FeedbackRewriter):
    """The query's vector moved towards the best chunks (Rocchio 1971), for retrieval by vectors.

    The new vector is alpha times the query's plus beta times the mean of the chunks', scaled to unit length. No chunk counts as irrelevant.
    """

    role: ClassVar[Literal["words", "vector"]] = "vector"

    kind: Literal["rocchio"] = "rocchio"
    alpha: float = Field(default=1.0, gt=0, le=1000, description="The weight of the question's vector.")
    beta: float = Field(default=0.75, ge=0, le=1000, description="The weight of the mean vector of the best chunks.")

    def fits(self, retriever: Retriever) -> bool:
        return retriever.uses_vectors

    def expand(self, queries: QueryBatch, hits: pd.DataFrame, retriever: Retriever, corpus: Corpus) -> QueryBatch:
        moved = self.alpha * queries.vectors.astype(np.float64)
        for query, rows in hits.groupby("query")["chunk"]:
            moved[int(str(query))] += self.beta * np.asarray(corpus.vectors[rows.to_numpy(np.int64)], dtype=np.float64).mean(axis=0)
        lengths = np.linalg.norm(moved, axis=1, keepdims=True)
        # A query and chunks in opposite directions have no direction in common.
        vectors = np.where(lengths > 0, moved / np.where(lengths > 0, lengths, 1.0), queries.vectors)
        return replace(queries, vectors=vectors.astype(np.float32))

    def describe(self, expanded: QueryBatch, hits: pd.DataFrame, corpus: Corpus) -> list[str]:
        chunks = hits.sort_values("rank").groupby("query")["chunk"].agg(list).to_dict()
        return [self._description([corpus.ids[chunk] for chunk in chunks.get(query, [])]) for query in range(len(expanded.texts))]

    def _description(self, ids: list[str]) -> str:
        return f"{self.alpha:g} × question + {self.beta:g} × mean of {', '.join(ids)}" if ids else "the question, which found nothing"
