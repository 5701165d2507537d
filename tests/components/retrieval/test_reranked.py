"""The ranking after reranking: the pool in the order of its scores, then the rest in its old order, in hits and documents alike."""

from typing import Literal

import numpy as np
import pandas as pd
import pytest

from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.reranking.base import Reranker
from workbench.components.reranking.mmr import MMRReranker
from workbench.components.retrieval.base import Corpus, QueryBatch, Ranking
from workbench.components.retrieval.rank import STEP
from workbench.components.retrieval.search import reranked

# Eight chunks of four documents, two each. The tie breakers are the opposite of the order.
CORPUS = Corpus(
    ids=[f"c{chunk}" for chunk in range(8)],
    doc=np.arange(8) // 2,
    group=np.arange(8),
    tokens=np.full(8, 10),
    chunk_breakers=np.arange(8)[::-1].copy(),
    document_breakers=np.arange(4)[::-1].copy(),
    texts=[str(chunk) for chunk in range(8)],
)
QUERIES = QueryBatch(["first", "second"])


class Table(Reranker):
    """Scores by query and text."""

    kind: Literal["table"] = "table"
    table: dict[str, dict[str, float]]

    def scores(self, pools, cache):
        return [np.array([self.table[pool.query][text] for text in pool.texts]) for pool in pools]


def ranking(**chunks: dict[int, float]) -> Ranking:
    """The ranking of each query from its chunks' scores, best first."""
    hits, documents = [], []
    for query, text in enumerate(QUERIES.texts):
        scores = chunks.get(text, {})
        hits += [(query, rank, chunk, score) for rank, (chunk, score) in enumerate(scores.items(), 1)]
        best = {chunk // 2: score for chunk, score in reversed(scores.items())}
        documents += [(query, rank, doc, best[doc]) for rank, doc in enumerate(dict.fromkeys(chunk // 2 for chunk in scores), 1)]
    return Ranking(
        pd.DataFrame(hits, columns=["query", "rank", "chunk", "score"]),
        pd.DataFrame(documents, columns=["query", "rank", "doc", "score"]),
        pd.DataFrame({"query": [0, 1], "spread": 0.0, "top": 0.0, "tied": False}),
    )


def rows(table: pd.DataFrame, item: str, query: int = 0) -> list[tuple[int, float]]:
    mine = table[table["query"] == query]
    assert mine["rank"].tolist() == list(range(1, len(mine) + 1))
    return [(int(place), round(float(score), 6)) for place, score in mine[[item, "score"]].itertuples(index=False)]


def after(before: Ranking, reranker: Reranker, k: int = 2) -> Ranking:
    return reranked(before, QUERIES, CORPUS, reranker, MemoryVectorCache(), k)


BEFORE = {0: 9.0, 2: 8.0, 3: 7.0, 4: 6.0, 1: 5.0, 6: 4.0}


def test_the_pool_is_ordered_by_its_scores_and_what_follows_keeps_its_order():
    found = after(ranking(first=BEFORE), Table(pool=3, table={"first": {"0": 0.1, "2": 0.3, "3": 0.2}}))
    # The best of the tail is a step below the pool's lowest, and differences in the tail stay.
    tail = [(4, 0.1 - STEP), (1, 0.1 - STEP - 1), (6, 0.1 - STEP - 2)]
    assert rows(found.hits, "chunk") == [(2, 0.3), (3, 0.2), (0, 0.1), *((chunk, round(score, 6)) for chunk, score in tail)]


def test_a_document_is_ranked_by_its_best_chunk_in_the_pool_then_as_before():
    found = after(ranking(first=BEFORE), Table(pool=3, table={"first": {"0": 0.1, "2": 0.05, "3": 0.2}}))
    # Document 1 has the chunks 2 and 3, and document 0 the chunk 0 in the pool and 1 after it.
    assert [doc for doc, _ in rows(found.ranking, "doc")] == [1, 0, 2, 3]
    assert [score for _, score in rows(found.ranking, "doc")][:2] == [0.2, 0.1]
    best = found.hits.assign(doc=CORPUS.doc[found.hits["chunk"]]).groupby("doc")["score"].max()
    assert {doc: pytest.approx(score) for doc, score in rows(found.ranking, "doc")} == best.to_dict()


def test_equal_scores_are_ordered_by_the_tie_breakers_and_marked():
    found = after(ranking(first=BEFORE), Table(pool=3, table={"first": {"0": 0.5, "2": 0.5, "3": 0.1}}))
    assert [chunk for chunk, _ in rows(found.hits, "chunk")][:3] == [2, 0, 3]
    assert found.queries["tied"].tolist() == [True, False]
    (one,) = [row for row in found.queries.itertuples() if row.query == 0]
    assert (one.top, one.spread) == (0.5, pytest.approx(np.std([0.5, 0.5, 0.1])))
    assert not after(ranking(first=BEFORE), Table(pool=3, table={"first": {"0": 0.9, "2": 0.1, "3": 0.1}}), k=1).queries["tied"].any()


def test_queries_have_their_own_pools_and_one_without_hits_stays_empty():
    scores = {"first": {"0": 1.0, "2": 2.0}, "second": {"6": 5.0, "1": 7.0}}
    found = after(ranking(first={0: 3.0, 2: 2.0}, second={6: 9.0, 1: 8.0}), Table(pool=2, table=scores))
    assert (rows(found.hits, "chunk", 0), rows(found.hits, "chunk", 1)) == ([(2, 2.0), (0, 1.0)], [(1, 7.0), (6, 5.0)])
    empty = after(ranking(second={6: 9.0, 1: 8.0}), Table(pool=2, table=scores))
    assert (rows(empty.hits, "chunk", 0), rows(empty.hits, "chunk", 1)) == ([], [(1, 7.0), (6, 5.0)])
    assert empty.queries["query"].tolist() == [0, 1]


def test_a_ranking_without_any_hit_stays_empty():
    found = after(ranking(), Table(pool=2, table={}))
    assert (len(found.hits), len(found.ranking), found.queries["query"].tolist()) == (0, 0, [0, 1])


def test_a_pool_larger_than_the_ranking_has_all_of_it():
    found = after(ranking(first={0: 3.0, 2: 2.0}), Table(pool=100, table={"first": {"0": 1.0, "2": 2.0}}))
    assert rows(found.hits, "chunk") == [(2, 2.0), (0, 1.0)]


def test_a_reranker_that_uses_vectors_gets_those_of_the_query_and_its_pool():
    vectors = np.eye(8, dtype=np.float32)
    vectors[2] = vectors[0]
    corpus = Corpus(
        CORPUS.ids, CORPUS.doc, CORPUS.group, CORPUS.tokens, CORPUS.chunk_breakers, CORPUS.document_breakers, vectors, None, CORPUS.texts
    )
    queries = QueryBatch(QUERIES.texts, np.array([vectors[0] * 0.8 + vectors[3] * 0.6, vectors[6]], dtype=np.float32))
    found = reranked(ranking(first=BEFORE, second={6: 1.0}), queries, corpus, MMRReranker(pool=3), MemoryVectorCache(), 2)
    # 0 and 2 are equal, so 3 comes between them.
    assert [chunk for chunk, _ in rows(found.hits, "chunk")][:3] == [0, 3, 2]
