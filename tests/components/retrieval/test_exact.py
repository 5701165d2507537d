"""Exact search in blocks against the whole matrix of products in float64, sorted."""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.components.retrieval.base import Corpus, Ranking, SearchDepth, rank_all
from workbench.components.retrieval.dense import exact, longest, nearest
from workbench.components.retrieval.rank import tie_breakers
from workbench.core import batching
from workbench.core.storage.vector_cache import Vectors


def unit(vectors: np.ndarray) -> Vectors:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def world(vectors: Vectors, docs: np.ndarray, group: np.ndarray, tokens: np.ndarray) -> Corpus:
    """Chunks in order of their documents; some documents have none."""
    ids = [f"d{doc}:{place}" for place, doc in enumerate(docs)]
    breakers = tie_breakers(ids), tie_breakers([f"d{doc}" for doc in range(int(docs.max()) + 2)])
    return Corpus(ids, docs, group, tokens, *breakers, vectors)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Vectors, Corpus, SearchDepth, int]:
    """Clustered, repeated and nearly repeated vectors; children of parents; queries of which some are chunks."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, queries, dimension = draw(st.integers(1, 300)), draw(st.integers(1, 9)), draw(st.sampled_from([2, 16, 100]))
    distinct = draw(st.integers(1, n))
    centres = random.normal(size=(distinct, dimension))
    vectors = centres[random.integers(0, distinct, n)] + random.normal(size=(n, dimension)) * draw(st.sampled_from([0.0, 3e-7, 1e-5, 0.5]))
    docs = np.sort(random.integers(0, draw(st.integers(1, n)), n))
    group = np.cumsum(random.random(n) < draw(st.sampled_from([0.1, 0.5, 1.0])))
    tokens = random.integers(1, 40, group[-1] + 1)[group]
    asked = np.concatenate([vectors[: queries // 2], random.normal(size=(queries, dimension))])
    depth = SearchDepth(
        draw(st.integers(1, 80)), draw(st.sampled_from([0, 100, 3_000])), draw(st.integers(1, 30)), draw(st.sampled_from([0, 100]))
    )
    return unit(asked), world(unit(vectors), docs, group, tokens), depth, draw(st.integers(1, depth.slices))


def in_full(queries: Vectors, corpus: Corpus, depth: SearchDepth, k: int) -> Ranking:
    wide, vectors = queries.astype(np.float64), corpus.vectors.astype(np.float64)
    return rank_all(lambda first, last: wide[first:last] @ vectors.T, len(wide), corpus, depth, k)


def assert_equal(found: Ranking, expected: Ranking) -> None:
    pd.testing.assert_frame_equal(found.hits, expected.hits, check_exact=True)
    pd.testing.assert_frame_equal(found.ranking, expected.ranking, check_exact=True)
    pd.testing.assert_frame_equal(found.queries.drop(columns="spread"), expected.queries.drop(columns="spread"), check_exact=True)
    np.testing.assert_allclose(found.queries["spread"], expected.queries["spread"], atol=1e-6)


@given(asked=worlds(), size=st.sampled_from([2_000, 10_000, 50_000, 32_000_000]))
@settings(max_examples=60)
def test_it_finds_what_the_whole_matrix_in_float64_finds(asked: tuple, size: int) -> None:
    queries, corpus, depth, k = asked
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "BYTES", size)
        found = exact(queries, corpus, depth, k)
    assert_equal(found, in_full(queries, corpus, depth, k))


@pytest.fixture(scope="module")
def large(like_embeddings: Callable) -> tuple[Vectors, Corpus]:
    """6,000 chunks of 800 documents, of which one has a fifth; a tenth of all are one text, and a tenth differ by single bits."""
    vectors = like_embeddings(6_000, 384)
    vectors[::10] = vectors[3]
    vectors[1::10] = np.nextafter(vectors[5], np.float32(2)) * np.random.default_rng(2).choice([1, 1 + 2**-23], (600, 1)).astype(np.float32)
    random = np.random.default_rng(1)
    docs = np.sort(np.concatenate([np.full(1_200, 300), random.integers(0, 800, 4_800)]))
    queries = np.concatenate([vectors[[3, 5, 40]], like_embeddings(30, 384, seed=1)])
    return queries, world(vectors, docs, np.arange(6_000) // 3, np.full(6_000, 12))


def test_many_ties_and_near_ties_and_a_document_of_many_blocks_are_ranked_as_in_full(large: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    queries, corpus = large
    depth = SearchDepth(10, 900, 10, listed=100)
    expected = in_full(queries, corpus, depth, 10)
    assert expected.queries["tied"].iloc[0]
    for size in (60_000, 500_000, 32_000_000):
        monkeypatch.setattr(batching, "BYTES", size)
        assert_equal(exact(queries, corpus, depth, 10), expected)


def test_the_best_of_nearly_equal_chunks_is_a_documents_score(like_embeddings: Callable) -> None:
    # Their float32 products are in no order; one that is higher by 1e-7 may be rounded to the next step.
    scale = 1 + 2.0**-23 * np.random.default_rng(3).integers(-3, 4, (200, 20, 1))
    vectors = (like_embeddings(200, 384)[:, None, :] * scale).reshape(4_000, 384).astype(np.float32)
    corpus = world(vectors, np.arange(4_000) // 20, np.arange(4_000), np.full(4_000, 12))
    queries, depth = like_embeddings(30, 384, seed=1), SearchDepth(1, 0, 1, listed=100)
    assert_equal(exact(queries, corpus, depth, 1), in_full(queries, corpus, depth, 1))


def test_blocks_of_any_size_give_identical_scores(large: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    queries, corpus = large
    tables = []
    for size in (50_000, 300_000, 7_000_000):
        monkeypatch.setattr(batching, "BYTES", size)
        tables.append(nearest(queries, corpus, (70, 50), longest(corpus.vectors)))
    for other in tables[1:]:
        np.testing.assert_array_equal(other.chunks.keys, tables[0].chunks.keys)
        np.testing.assert_array_equal(other.chunks.items, tables[0].chunks.items)
        np.testing.assert_array_equal(other.documents.keys, tables[0].documents.keys)
        np.testing.assert_array_equal(other.documents.items, tables[0].documents.items)
        np.testing.assert_allclose(other.spread, tables[0].spread, atol=1e-8)


def test_scores_that_do_not_vary_have_no_spread(like_embeddings: Callable) -> None:
    vectors = np.repeat(like_embeddings(1, 384), 900, axis=0)
    corpus = world(vectors, np.arange(900), np.arange(900), np.full(900, 5))
    assert (exact(like_embeddings(5, 384, seed=1), corpus, SearchDepth(10, 0, 10), 10).queries["spread"] == 0).all()


def test_vectors_need_not_be_of_unit_length(large: tuple) -> None:
    queries, corpus = large
    longer = replace(corpus, vectors=corpus.vectors[:3_000] * np.linspace(0.1, 9, 3_000, dtype=np.float32)[:, None])
    part = replace(
        longer,
        doc=corpus.doc[:3_000],
        group=corpus.group[:3_000],
        tokens=corpus.tokens[:3_000],
        chunk_breakers=corpus.chunk_breakers[:3_000],
    )
    depth = SearchDepth(10, 0, 10, listed=100)
    assert_equal(exact(3 * queries, part, depth, 10), in_full(3 * queries, part, depth, 10))


def test_a_float32_product_errs_less_than_what_is_allowed_for(large: tuple) -> None:
    # Were the margin too narrow, a chunk whose product is low by chance would be lost.
    queries, corpus = large
    products = queries @ corpus.vectors.T
    err = np.abs(products - queries.astype(np.float64) @ corpus.vectors.astype(np.float64).T).max()
    assert 0 < err < 384 * 2.0**-24


def test_what_is_held_does_not_grow_with_the_corpus(large: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    queries, corpus = large
    monkeypatch.setattr(batching, "BYTES", 100_000)
    peaks = []
    for n in (1_000, 6_000):
        part = replace(corpus, vectors=corpus.vectors[:n], doc=corpus.doc[:n])
        tracemalloc.start()
        nearest(queries, part, (64, 50), longest(part.vectors))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # In full the products of the 5,000 more take 1.3 MB in float64, and their vectors 15 MB.
    assert peaks[1] - peaks[0] < 300_000
