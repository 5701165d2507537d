"""Rank chunks by BM25 over their texts: the baseline without a model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from pydantic import Field

from workbench.components.retrieval.base import Corpus, LexicalRetriever, QueryBatch, Ranking, ScoreBlock, SearchDepth, rank_all, singly
from workbench.components.retrieval.rank import Floats
from workbench.core.environment import require_installed
from workbench.core.text.words import VERSION, search_terms

_INDEXES: WeakKeyDictionary[Sequence[str], dict["BM25Retriever", Any]] = WeakKeyDictionary()


class BM25Retriever(LexicalRetriever):
    """BM25 by Lucene's formula (Robertson and Zaragoza 2009; Kamphuis et al. 2020), by bm25s with stemmed words.

    A query finds only chunks that share a word with it. Any language is split as by Lucene's StandardTokenizer, except that letters of scripts
    without blanks are compared one by one and in pairs, and that apostrophes join only endings of English (`workbench.core.text.words`). The defaults
    give NFCorpus nDCG@10 = .3256, Anserini's flat index .3218.
    """

    kind: Literal["bm25"] = "bm25"
    k1: float = Field(default=1.5, gt=0, description="How slowly repetitions of a word lose weight.")
    b: float = Field(default=0.75, ge=0, le=1, description="How much long chunks are penalised.")
    stopwords: Literal["english", "none"] = Field(default="english", description="The words that are ignored.")
    stemmer: Literal["english", "none"] = Field(default="english", description="The language whose endings are removed from words.")

    def identity(self) -> dict[str, Any]:
        return super().identity() | {"words": VERSION}

    def retrieve(self, queries: QueryBatch, corpus: Corpus, depth: SearchDepth) -> Ranking:
        # A filter changes no statistics of words, as in Lucene.
        texts = corpus.texts if corpus.rows is None else corpus.all_texts
        index, rows = self._indexed(texts), slice(None) if corpus.rows is None else corpus.rows
        k, ranked = min(max(self.k, depth.slices), len(texts)), queries.texts[: depth.queries]
        if queries.words is not None:
            weighted = queries.words
            score: ScoreBlock = lambda first, last: _weighted(index, weighted[first:last], len(texts))[:, rows]  # noqa: E731
            single = singly(lambda one: np.argpartition(-_weighted(index, [one], len(texts))[0], k - 1)[:k], weighted)
        else:
            words = self.words(ranked)
            score = lambda first, last: _scores(index, words[first:last], len(texts))[:, rows]  # noqa: E731
            single = singly(lambda text: index.retrieve(self.words([text]), k=k, show_progress=False), queries.texts)
        return replace(rank_all(score, len(ranked), corpus, depth, self.k), single=single)

    def _indexed(self, texts: Sequence[str]) -> Any:
        """Return the index of texts, kept as long as the texts, since a notebook searches one corpus again and again."""
        if isinstance(texts, list | tuple):
            return self.index(texts)
        built = _INDEXES.setdefault(texts, {})
        if self not in built:
            built[self] = self.index(texts)
        return built[self]

    def index(self, texts: Sequence[str]) -> Any:
        """Build the bm25s index of the chunks' texts."""
        require_installed("BM25", "bm25s", "Stemmer")
        import bm25s

        index = bm25s.BM25(method="lucene", k1=self.k1, b=self.b)
        # Add an empty word, so that the vocabulary of a corpus of stop words is not empty.
        index.index([words or [""] for words in self.words(texts)], show_progress=False)
        return index

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        return search_terms(texts, self.stopwords, self.stemmer)


def _scores(index: Any, queries: list[list[str]], chunks: int) -> Floats:
    """Return BM25 of every chunk for each query, float64 (queries, chunks), or -inf if they share no word."""
    rows = [index.get_scores(words) if words else np.zeros(chunks) for words in queries]
    scores: Floats = np.array(rows, dtype=np.float64).reshape(len(queries), chunks)
    return np.where(scores > 0, scores, -np.inf)


def _weighted(index: Any, queries: Sequence[Mapping[str, float]], chunks: int) -> Floats:
    """Return the sum of weight times BM25 over each query's words for every chunk, float64 (queries, chunks), or -inf as `_scores` does."""
    scores = np.zeros((len(queries), chunks))
    for row, words in zip(scores, queries, strict=True):
        for word, weight in words.items():
            row += weight * index.get_scores([word])
    return np.where(scores > 0, scores, -np.inf)
