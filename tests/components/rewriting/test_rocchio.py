"""Rocchio's vectors equal a hand-worked example."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from workbench.components.retrieval.base import QueryBatch
from workbench.components.retrieval.dense import DenseRetriever
from workbench.components.rewriting.feedback import RocchioRewriter
from workbench.testing.small_corpus import small_corpus

VECTORS = np.array([[1, 0], [0, 1], [0.6, 0.8], [1, 0], [1, 0]], dtype=np.float32)
CORPUS = replace(small_corpus([0], False), vectors=VECTORS)
QUERIES = QueryBatch(["a", "b"], np.array([[1, 0], [0, 1]], dtype=np.float32))
HITS = pd.DataFrame({"query": [0, 0], "rank": [1, 2], "chunk": [2, 1], "score": [0.6, 0.0]})


def test_a_vector_moves_towards_the_mean_of_the_best_chunks() -> None:
    # The mean of (.6, .8) and (0, 1) is (.3, .9). 2 · (1, 0) + 1 · (.3, .9) = (2.3, .9), whose length is √(5.29 + .81) = √6.1.
    moved = RocchioRewriter(alpha=2, beta=1).expand(QUERIES, HITS, DenseRetriever(), CORPUS).vectors
    assert moved[0] == pytest.approx([2.3 / 6.1**0.5, 0.9 / 6.1**0.5])
    assert moved.dtype == np.float32


def test_a_query_without_hits_keeps_its_vector() -> None:
    moved = RocchioRewriter().expand(QUERIES, HITS, DenseRetriever(), CORPUS).vectors
    assert moved[1].tolist() == [0, 1]


def test_a_query_opposite_to_its_chunks_keeps_its_vector() -> None:
    opposite = replace(QUERIES, vectors=-VECTORS[[2, 2]])
    moved = RocchioRewriter(beta=1).expand(opposite, HITS[:1], DenseRetriever(), CORPUS).vectors
    assert moved.tolist() == opposite.vectors.tolist()


def test_the_description_names_the_chunks_by_rank() -> None:
    rewriter = RocchioRewriter()
    texts = rewriter.describe(rewriter.expand(QUERIES, HITS, DenseRetriever(), CORPUS), HITS[::-1], CORPUS)
    assert texts == ["1 × question + 0.75 × mean of d0:20-30, d0:10-20", "the question, which found nothing"]
