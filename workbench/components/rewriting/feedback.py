"""Rewriters that expand a query by the best chunks of a first search: words by RM3, vectors by Rocchio."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from workbench.components.retrieval.base import Corpus, LexicalRetriever, QueryBatch, Retriever
from workbench.components.rewriting.base import FeedbackRewriter
from workbench.core.errors import RunError

Weights = Mapping[str, float]


class RM3Rewriter(FeedbackRewriter):
    """A relevance model of the best chunks, mixed with the query (Lavrenko and Croft 2001; Abdul-Jaleel et al. 2004), for BM25.

    A chunk weighs its share of the best chunks' scores, and a word the mean share of the chunks' words, weighted by chunk. The `terms` heaviest
    words are scaled to the sum 1. The new query is `original` times the shares of the question's own words plus the rest times these.
    """

    role: ClassVar[Literal["words", "vector"]] = "words"

    kind: Literal["rm3"] = "rm3"
    terms: int = Field(default=10, ge=1, le=1000, description="The number of words to take from the chunks.")
    original: float = Field(default=0.5, ge=0, le=1, description="The weight of the question's own words; the rest is that of the chunks'.")

    def fits(self, retriever: Retriever) -> bool:
        return isinstance(retriever, LexicalRetriever)

    def expand(self, queries: QueryBatch, hits: pd.DataFrame, retriever: Retriever, corpus: Corpus) -> QueryBatch:
        if not isinstance(retriever, LexicalRetriever):
            raise RunError(f"rewrite 'rm3' cannot expand queries of retrieval {retriever.kind!r}", "use bm25")
        chunks = np.unique(hits["chunk"].to_numpy(np.int64)).tolist()
        words = dict(zip(chunks, map(_shares, retriever.words([corpus.texts[chunk] for chunk in chunks])), strict=True))
        best: list[list[tuple[float, Weights]]] = [[] for _ in queries.texts]
        for query, chunk, score in hits[["query", "chunk", "score"]].itertuples(index=False):
            best[query].append((score, words[chunk]))
        originals = map(_shares, retriever.words(queries.texts))
        return replace(queries, words=[self._mixed(*pair) for pair in zip(originals, map(self._model, best), strict=True)])

    def describe(self, expanded: QueryBatch, hits: pd.DataFrame, corpus: Corpus) -> list[str]:
        """Return `word^weight …` for each query, the greatest weight first."""
        return [" ".join(f"{word}^{weight:.3g}" for word, weight in _greatest(words)) for words in expanded.words or ()]

    def _model(self, chunks: Sequence[tuple[float, Weights]]) -> Weights:
        """Return the weights of the best words, of the sum 1."""
        total, model = sum(score for score, _ in chunks), defaultdict[str, float](float)
        for score, shares in chunks:
            for word, share in shares.items():
                model[word] += score / total * share
        best = _greatest(model)[: self.terms]
        mass = sum(weight for _, weight in best)
        return {word: weight / mass for word, weight in best}

    def _mixed(self, original: Weights, model: Weights) -> Weights:
        """Return the words of both with a positive weight. Without a model the question's own words keep their shares."""
        own = self.original if model else 1.0
        mixed = {word: own * original.get(word, 0.0) + (1 - own) * model.get(word, 0.0) for word in [*original, *model]}
        return {word: weight for word, weight in mixed.items() if weight > 0}


def _shares(words: Sequence[str]) -> Weights:
    return {word: count / len(words) for word, count in Counter(words).items()}


def _greatest(weights: Weights) -> list[tuple[str, float]]:
    """Return words with their weights, the greatest first, equal ones by the word."""
    return sorted(weights.items(), key=lambda item: (-item[1], item[0]))


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
