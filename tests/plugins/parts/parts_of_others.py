"""Components as another package brings them: every law of a registry holds for them too."""

from typing import ClassVar, Literal

import numpy as np

from workbench.components.chunking.base import CuttingChunker
from workbench.components.reranking.base import PairReranker
from workbench.components.retrieval.base import Retriever, rank_all
from workbench.measures.metrics.case import MetricValues
from workbench.measures.metrics.definition import ANSWERABLE, RELEVANT, MetricDefinition


class HalvesChunker(CuttingChunker):
    """Two halves of a document."""

    covers: ClassVar[bool] = True
    examples: ClassVar = ({},)
    kind: Literal["halves"] = "halves"

    def cuts(self, document, headers):
        middle = len(document.text) // 2
        return [(0, middle, None), (middle, len(document.text), None)]


class PlainVectorRetriever(Retriever):
    """Dot products of vectors, by `retrieve` alone: no index, no second way to search."""

    uses_vectors: ClassVar[bool] = True
    kind: Literal["plain_vectors"] = "plain_vectors"

    def retrieve(self, queries, corpus, depth):
        return rank_all(lambda first, last: scores(queries, corpus, first, last), len(queries.texts), corpus, depth, self.k)


class MixedRetriever(Retriever):
    """Vectors and shared words: it needs the texts as well as the vectors."""

    uses_vectors: ClassVar[bool] = True
    kind: Literal["mixed"] = "mixed"
    weight: float = 0.5

    def retrieve(self, queries, corpus, depth):
        words = [set(text.lower().split()) for text in corpus.texts]

        def score(first, last):
            shared = [[len(words_of(query) & chunk) / (1 + len(chunk)) for chunk in words] for query in queries.texts[first:last]]
            return self.weight * scores(queries, corpus, first, last) + (1 - self.weight) * np.array(shared, dtype=np.float64)

        return rank_all(score, len(queries.texts), corpus, depth, self.k)


def scores(queries, corpus, first, last):
    return np.asarray(queries.vectors[first:last], dtype=np.float64) @ np.asarray(corpus.vectors, dtype=np.float64).T


def words_of(query):
    return set(query.lower().split())


class SharedWordsReranker(PairReranker):
    """The number of words that query and text share, and a little for short texts."""

    kind: Literal["shared_words"] = "shared_words"

    def score_pairs(self, pairs):
        return np.array([len(words_of(query) & words_of(text)) + 1 / (1 + len(text)) for query, text in pairs])


def first_hit(case, _):
    """1 where the first document is relevant."""
    ranking, labels = case.retrieved.ranking, case.labels
    first = ranking[ranking["rank"] == 1]
    value = np.zeros(labels.queries)
    value[first["query"].to_numpy()] = np.isin(first["query"] * labels.documents + first["doc"], labels.relevant_pairs)
    return MetricValues(value, np.ones(labels.queries))


FIRST_HIT = MetricDefinition("first_hit", first_hit, "documents", "none", (ANSWERABLE, RELEVANT), version=7)
