from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workbench.components.retrieval.base import Corpus, QueryBatch, Ranking, SearchDepth
from workbench.components.retrieval.chroma_index import build_index, open_collection
from workbench.components.retrieval.dense import DenseRetriever, approximate, exact
from workbench.components.retrieval.rank import tie_breakers
from workbench.core import batching
from workbench.core.errors import RunError
from workbench.core.records import Chunk, Document
from workbench.core.storage.vector_cache import Vectors

WIDE = SearchDepth(slices=10, tokens=0, documents=10)


def world(vectors: Vectors, docs: list[int], group: list[int] | None = None, index: Path | None = None) -> Corpus:
    """Chunks of these documents, ten tokens each."""
    chunks = [Chunk(Document(f"d{doc}", ""), 10 * place, 10 * place + 10) for place, doc in enumerate(docs)]
    ids = [chunk.chunk_id for chunk in chunks]
    if index is not None:
        build_index(index, chunks, vectors)
    n = len(docs)
    return Corpus(
        ids=ids,
        doc=np.array(docs, dtype=np.int64),
        group=np.array(group if group is not None else range(n), dtype=np.int64),
        tokens=np.full(n, 10, dtype=np.int64),
        chunk_breakers=tie_breakers(ids),
        document_breakers=tie_breakers([f"d{doc}" for doc in range(max(docs) + 1)]),
        vectors=vectors,
        index=index,
    )


def some_docs(n: int, mean: int = 4) -> list[int]:
    return np.sort(np.random.default_rng(1).integers(0, max(1, n // mean), n)).tolist()


def hits(ranked: Ranking, query: int, column: str = "chunk") -> list:
    return ranked.hits.loc[ranked.hits["query"] == query, column].tolist()


def documents(ranked: Ranking, query: int) -> list[int]:
    return ranked.ranking.loc[ranked.ranking["query"] == query, "doc"].tolist()


@pytest.mark.parametrize("n", [1, 2, 9, 64, 65, 700])
def test_exact_search_is_a_full_sort_by_cosine_then_breaker(like_embeddings: Callable, n: int) -> None:
    # Every fifth vector repeats the first, so that there are ties.
    vectors = like_embeddings(n)
    vectors[::5] = vectors[0]
    corpus, queries = world(vectors, some_docs(n)), like_embeddings(7, seed=1)
    ranked = exact(queries, corpus, WIDE, 5)
    for query in range(7):
        cosines = np.round(vectors.astype(np.float64) @ queries[query].astype(np.float64), 6)
        order = np.lexsort((corpus.chunk_breakers, -cosines))
        assert hits(ranked, query) == order[:10].tolist()
        assert hits(ranked, query, "score") == cosines[order[:10]].tolist()
        assert hits(ranked, query, "rank") == list(range(1, min(n, 10) + 1))
        best = pd.Series(cosines).groupby(corpus.doc).max()
        by_document = best.index.to_numpy()[np.lexsort((corpus.document_breakers[best.index], -best.to_numpy()))]
        assert documents(ranked, query) == by_document[:10].tolist()
        about = ranked.queries.iloc[query]
        assert about["top"] == cosines.max()
        assert about["spread"] == pytest.approx(cosines.std(), abs=1e-6)
        assert bool(about["tied"]) == (len(set(cosines[order[:5]])) < min(n, 5))


def test_the_order_of_the_chunks_does_not_change_what_is_found(like_embeddings: Callable) -> None:
    vectors, queries = like_embeddings(1_003, 384), like_embeddings(40, 384, seed=1)
    vectors[500:] = vectors[:503]
    docs = list(range(1_003))
    order = np.random.default_rng(3).permutation(1_003)
    corpus = world(vectors, docs)
    shuffled = Corpus(
        [corpus.ids[place] for place in order],
        corpus.doc,
        corpus.group,
        corpus.tokens,
        corpus.chunk_breakers[order],
        corpus.document_breakers[order],
        np.ascontiguousarray(vectors[order]),
    )
    plain, other = exact(queries, corpus, WIDE, 10), exact(queries, shuffled, WIDE, 10)
    assert [corpus.ids[chunk] for chunk in plain.hits["chunk"]] == [shuffled.ids[chunk] for chunk in other.hits["chunk"]]
    assert plain.hits["score"].tolist() == other.hits["score"].tolist()


def test_equal_texts_tie_wherever_they_lie(like_embeddings: Callable) -> None:
    vectors = np.repeat(like_embeddings(100, 384), 11, axis=0)
    vectors = np.ascontiguousarray(vectors[np.random.default_rng(5).permutation(1_100)])
    queries = like_embeddings(60, 384, seed=1)
    ranked = exact(queries, world(vectors, list(range(1_100))), SearchDepth(11, 0, 1), 11)
    assert ranked.hits.groupby("query")["score"].nunique().eq(1).all()
    assert ranked.queries["tied"].all()


def test_blocks_of_queries_give_what_one_block_gives(like_embeddings: Callable) -> None:
    corpus = world(like_embeddings(50), some_docs(50))
    queries = like_embeddings(400, seed=1)
    whole = exact(queries, corpus, WIDE, 10)
    with whole.single() as search:
        assert search(3).chunks.items[0, 0] == whole.hits.query("query == 3 and rank == 1")["chunk"].item()
    # 8,000,000 scores a block: here blocks of 320 and 80 queries.
    wide = world(np.tile(like_embeddings(50), (500, 1)), list(range(25_000)))
    blocked = exact(queries, wide, SearchDepth(1, 0, 1), 1)
    assert blocked.queries["query"].tolist() == blocked.hits["query"].tolist() == list(range(400))
    assert blocked.hits["score"].tolist() == whole.hits.loc[whole.hits["rank"] == 1, "score"].tolist()


def test_a_query_finds_as_many_distinct_parents_as_asked(like_embeddings: Callable) -> None:
    # Ten children a parent; the children of parent 0 are the nearest to the query.
    vectors = np.repeat(like_embeddings(30), 10, axis=0)
    corpus = world(vectors, [0] * 150 + [1] * 150, group=[place // 10 for place in range(300)])
    for slices in (1, 3, 30, 99):
        ranked = exact(vectors[:1], corpus, SearchDepth(slices, 0, 2), 5)
        found = corpus.group[hits(ranked, 0)]
        assert len(set(found)) == min(slices, 30)
        # The last one is the one that was missing.
        assert slices > 30 or (found[:-1] != found[-1]).all()


def test_a_query_finds_as_many_tokens_as_asked(like_embeddings: Callable) -> None:
    corpus = world(like_embeddings(300), some_docs(300))
    for tokens, expected in ((0, 2), (10, 2), (21, 3), (1_500, 150), (99_999, 300)):
        assert len(hits(exact(like_embeddings(1, seed=1), corpus, SearchDepth(2, tokens, 1), 2), 0)) == expected


def test_documents_are_ranked_by_their_best_chunk_each_once(like_embeddings: Callable) -> None:
    vectors = like_embeddings(4)
    # Document 0 holds the second and the best, document 2 the third; document 1 has no chunk.
    corpus = world(vectors, [0, 0, 2, 3])
    query = (vectors[1] + 0.3 * vectors[0] + 0.1 * vectors[2])[None, :]
    ranked = exact(query / np.linalg.norm(query), corpus, WIDE, 4)
    cosines = np.round(vectors.astype(np.float64) @ (query / np.linalg.norm(query))[0].astype(np.float64), 6)
    best = {0: max(cosines[:2]), 2: cosines[2], 3: cosines[3]}
    assert documents(ranked, 0) == sorted(best, key=lambda doc: -best[doc])
    assert ranked.ranking["score"].tolist() == pytest.approx(sorted(best.values(), reverse=True), abs=1e-6)
    assert documents(exact(query, corpus, replace(WIDE, documents=2), 4), 0) == documents(ranked, 0)[:2]


def test_one_document_and_one_query_are_enough(like_embeddings: Callable, tmp_path: Path) -> None:
    corpus = world(like_embeddings(1), [0], index=tmp_path / "index")
    for search in ("exact", "ann"):
        ranked = DenseRetriever(search=search, k=10).retrieve(QueryBatch([], like_embeddings(1, seed=1)), corpus, WIDE)
        assert (hits(ranked, 0), documents(ranked, 0), ranked.queries["tied"].tolist()) == ([0], [0], [False])


@pytest.mark.parametrize("depth", [SearchDepth(1, 0, 1), WIDE, SearchDepth(5, 700, 30), SearchDepth(1_000, 0, 1_000)], ids=str)
def test_the_index_answers_as_the_exact_search_on_few_clustered_vectors(
    like_embeddings: Callable, tmp_path: Path, depth: SearchDepth
) -> None:
    vectors = like_embeddings(400)
    vectors[100:104] = vectors[0]
    corpus = world(vectors, some_docs(400), group=[place // 3 for place in range(400)], index=tmp_path / "index")
    queries = np.concatenate([vectors[:1], like_embeddings(20, seed=2)])
    near, far = approximate(queries, corpus, depth, 5), exact(queries, corpus, depth, 5)
    assert near.hits["query"].tolist() == far.hits["query"].tolist()
    np.testing.assert_allclose(near.hits["score"], far.hits["score"], atol=2e-6)
    assert (near.hits["chunk"] == far.hits["chunk"]).mean() > 0.99
    assert near.hits.drop(columns="score").columns.tolist() == far.hits.drop(columns="score").columns.tolist()
    assert (near.ranking["doc"] == far.ranking["doc"]).mean() > 0.99
    assert near.ranking["rank"].tolist() == far.ranking["rank"].tolist()
    assert near.queries["top"].to_numpy() == pytest.approx(far.queries["top"].to_numpy(), abs=2e-6)
    assert near.queries["tied"].iloc[0]
    assert not near.hits.duplicated(["query", "chunk"]).any()
    assert not near.ranking.duplicated(["query", "doc"]).any()


def test_what_the_index_misses_when_asked_for_k_stays_missed_though_the_metrics_look_deeper(tmp_path: Path) -> None:
    # Directions without clusters are what approximate search is worst at.
    random = np.random.default_rng(4)
    vectors, queries = (random.normal(size=(n, 384)).astype(np.float32) for n in (4_000, 20))
    vectors, queries = (made / np.linalg.norm(made, axis=1, keepdims=True) for made in (vectors, queries))
    corpus = world(vectors, list(range(4_000)), index=tmp_path / "index")
    ranked = approximate(queries, corpus, SearchDepth(slices=10, tokens=5_000, documents=100), 10)
    with open_collection(tmp_path / "index") as collection:
        asked = collection.query(query_embeddings=queries, n_results=10, include=[])["ids"]
    overlaps = []
    for query in range(20):
        found = hits(ranked, query)
        assert {corpus.ids[place] for place in found[:10]} == set(asked[query])
        assert len(found) == len(set(found)) >= 500
        assert np.all(np.diff(hits(ranked, query, "score")) <= 0)
        overlaps.append(len(set(found[:10]) & set(hits(exact(queries, corpus, WIDE, 10), query))) / 10)
    assert np.mean(overlaps) < 0.9


def test_threads_and_blocks_of_questions_change_nothing(like_embeddings: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Chroma writes its graph after every 1,000 vectors, and builds anew what is beyond, at every opening.
    corpus, queries = world(like_embeddings(2_000), some_docs(2_000), index=tmp_path / "index"), like_embeddings(31, seed=1)
    found = []
    for threads, size in (("1", batching.BYTES), ("2", 300_000), ("5", 1)):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        monkeypatch.setattr(batching, "BYTES", size)
        found.append(approximate(queries, corpus, WIDE, 5))
    for other in found[1:]:
        for table in ("hits", "ranking", "queries"):
            pd.testing.assert_frame_equal(getattr(found[0], table), getattr(other, table))


def test_a_corpus_smaller_than_k_is_found_whole(like_embeddings: Callable, tmp_path: Path) -> None:
    corpus = world(like_embeddings(6), [0, 0, 1, 1, 2, 2], index=tmp_path / "index")
    for search in ("exact", "ann"):
        ranked = DenseRetriever(search=search, k=50).retrieve(
            QueryBatch([], like_embeddings(3, seed=1)), corpus, SearchDepth(50, 9_999, 100)
        )
        assert [sorted(hits(ranked, query)) for query in range(3)] == [[0, 1, 2, 3, 4, 5]] * 3
        assert [sorted(documents(ranked, query)) for query in range(3)] == [[0, 1, 2]] * 3


def test_the_index_is_asked_only_where_there_is_one(like_embeddings: Callable) -> None:
    with pytest.raises(RunError, match="search: ann needs an index"):
        DenseRetriever(search="ann").retrieve(QueryBatch([], like_embeddings(1)), world(like_embeddings(3), [0, 1, 2]), WIDE)


def test_the_index_is_asked_again_until_the_documents_are_there(like_embeddings: Callable, tmp_path: Path) -> None:
    # The nearest 300 chunks are of one document, the other nine lie behind them.
    around = like_embeddings(300, seed=7) * 0.1 + like_embeddings(1)
    vectors = np.concatenate([around / np.linalg.norm(around, axis=1, keepdims=True), like_embeddings(10)[1:]]).astype(np.float32)
    corpus = world(vectors, [0] * 300 + list(range(1, 10)), index=tmp_path / "index")
    ranked = approximate(like_embeddings(1), corpus, SearchDepth(1, 0, 10), 1)
    assert documents(ranked, 0) == documents(exact(like_embeddings(1), corpus, SearchDepth(1, 0, 10), 1), 0)
    assert len(documents(ranked, 0)) == 10
