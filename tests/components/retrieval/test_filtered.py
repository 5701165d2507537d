"""Filters give each query the ranking of the chunks that it may find, in every retriever alike."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from workbench.components.retrieval.base import Corpus, DocumentFilters, QueryBatch, Ranking, Retriever, SearchDepth
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.dense import DenseRetriever
from workbench.components.retrieval.hybrid import HybridRetriever
from workbench.components.retrieval.search import search, searches
from workbench.testing.small_corpus import QUERIES, TEXTS, small_corpus, small_queries

CORPUS = small_corpus(tuple(range(len(TEXTS))), vectors=True)
EVERYTHING = SearchDepth(1_000, 1_000_000, 1_000, 1_000)
ODD, THIRD = (np.arange(len(TEXTS)) % step == remainder for step, remainder in ((2, 1), (3, 0)))
# Without a filter, with the first and with the second, in an order that no grouping keeps.
NUMBERS = np.array([-1, 0, 1, 0, -1, 1, 0])
RETRIEVERS = [DenseRetriever(k=5), DenseRetriever(k=5, search="ann"), BM25Retriever(k=5), HybridRetriever(k=5, pool=1_000)]


def filtered() -> QueryBatch:
    batch = small_queries(QUERIES, vectors=True)
    return QueryBatch(batch.texts, batch.vectors, DocumentFilters(NUMBERS, np.array([ODD, THIRD])))


def allowed(query: int) -> np.ndarray:
    masks = [ODD, THIRD, np.ones(len(TEXTS), dtype=bool)]
    return masks[NUMBERS[query]]


def rows(ranking: Ranking, table: str, query: int) -> list[tuple[int, int, int, float]]:
    found = getattr(ranking, table)
    return list(found[found["query"] == query].itertuples(index=False, name=None))


@pytest.mark.parametrize("retriever", RETRIEVERS, ids=lambda retriever: f"{retriever.kind}-{retriever.evaluated}")
def test_only_allowed_documents_are_ranked_and_all_of_them(retriever: Retriever) -> None:
    ranking, whole = (
        search(retriever, filtered(), CORPUS, EVERYTHING),
        retriever.retrieve(small_queries(QUERIES, vectors=True), CORPUS, EVERYTHING),
    )
    assert ranking.queries["query"].tolist() == list(range(len(QUERIES)))
    for query in range(len(QUERIES)):
        docs = {doc for _, _, doc, _ in rows(ranking, "ranking", query)}
        assert docs == {doc for _, _, doc, _ in rows(whole, "ranking", query) if allowed(query)[doc]}
        assert [rank for _, rank, _, _ in rows(ranking, "hits", query)] == list(range(1, len(rows(ranking, "hits", query)) + 1))


@pytest.mark.parametrize("retriever", [DenseRetriever(k=5), BM25Retriever(k=5)], ids=["dense", "bm25"])
def test_scores_and_order_are_those_of_the_whole_corpus(retriever: Retriever) -> None:
    ranking, whole = (
        search(retriever, filtered(), CORPUS, EVERYTHING),
        retriever.retrieve(small_queries(QUERIES, vectors=True), CORPUS, EVERYTHING),
    )
    for query in range(len(QUERIES)):
        kept = [(chunk, score) for _, _, chunk, score in rows(whole, "hits", query) if allowed(query)[CORPUS.doc[chunk]]]
        assert [(chunk, score) for _, _, chunk, score in rows(ranking, "hits", query)] == kept


def test_chroma_finds_as_many_allowed_chunks_as_asked_for() -> None:
    both = searches(DenseRetriever(k=5), filtered(), CORPUS, SearchDepth(5, 0, 1))
    assert both.keys() == {"exact", "ann"}
    for query in range(len(QUERIES)):
        # Of chunks with equal texts Chroma finds any.
        exact, near = ([score for _, rank, _, score in rows(both[name], "hits", query) if rank <= 5] for name in ("exact", "ann"))
        assert near == pytest.approx(exact, abs=2e-6)


@pytest.mark.parametrize("retriever", RETRIEVERS, ids=lambda retriever: f"{retriever.kind}-{retriever.evaluated}")
@pytest.mark.parametrize("batch", [filtered(), small_queries(QUERIES, vectors=True)], ids=["filtered", "whole"])
def test_of_a_batch_the_first_queries_can_be_ranked_alone_and_every_one_be_searched(retriever: Retriever, batch: QueryBatch) -> None:
    depth = SearchDepth(5, 0, 1)
    first, whole = (search(retriever, batch, CORPUS, replace(depth, queries=count)) for count in (1, None))
    assert set(first.hits["query"]) == ({0} if batch.filters is None else {0, 1, 2})
    assert len(set(whole.hits["query"])) > 3
    # Of chunks with equal texts Chroma finds any.
    assert [row[3] for row in rows(first, "hits", 0)] == [row[3] for row in rows(whole, "hits", 0)]
    assert first.single is not None
    assert whole.single is not None
    with first.single() as one, whole.single() as other:
        for place in range(len(QUERIES)):
            assert content(one(place)) == content(other(place))


def content(found: object) -> object:
    """What a search found, to compare: of Chroma's search the distances."""
    return found["distances"] if isinstance(found, dict) else pickle.dumps(found)


def test_sources_of_a_fused_ranking_keep_their_places_in_the_corpus() -> None:
    ranking = search(HybridRetriever(k=5), filtered(), CORPUS, EVERYTHING)
    dense = search(DenseRetriever(k=5), filtered(), CORPUS, EVERYTHING)
    kept = ranking.sources[ranking.sources["retriever"] == "dense"].set_index(["query", "chunk"])["score"]
    assert kept.to_dict() == dense.hits.set_index(["query", "chunk"])["score"].to_dict()


def test_a_part_of_a_corpus_has_its_own_ids_texts_and_vectors() -> None:
    part = CORPUS.part(np.array([3, 8]))
    assert isinstance(part, Corpus)
    assert list(part.ids) == [CORPUS.ids[3], CORPUS.ids[8]]
    assert list(part.texts) == [CORPUS.texts[3], CORPUS.texts[8]]
    assert (part.vectors == CORPUS.vectors[[3, 8]]).all()
    assert part.places([CORPUS.ids[8]]).tolist() == [1]
