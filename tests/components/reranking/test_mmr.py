"""Maximal marginal relevance against a worked example, and against LangChain's."""

import numpy as np
import pytest
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.reranking.base import Candidates
from workbench.components.reranking.mmr import MMRReranker


def chosen(query: list[float], vectors: list[list[float]], relevance: float) -> list[int]:
    """The candidates in the order of their scores."""
    array = np.array(vectors, dtype=np.float32)
    pool = Candidates("?", [""] * len(vectors), np.zeros(len(vectors)), np.array(query, dtype=np.float32), array)
    (scores,) = MMRReranker(relevance=relevance).scores([pool], MemoryVectorCache())
    assert sorted(scores) == list(range(len(vectors)))
    return np.argsort(-scores).tolist()


# Cosines to the query (1, 0): .96, .936, .6, .28. The second is nearly the first (cosine .9984), the fourth is unlike both.
WORKED = [[0.96, 0.28], [0.936, 0.352], [0.6, -0.8], [0.28, 0.96]]


@pytest.mark.parametrize(
    ("relevance", "order"),
    [
        # Only relevance: by cosine.
        (1.0, [0, 1, 2, 3]),
        # First .96. Then .5 (.936 - .9971) = -.031, .5 (.6 - .352) = .124, .5 (.28 - .5376) = -.129: the third.
        # Then -.031 and .5 (.28 - max(.5376, -.6)) = -.129: the second, and last the fourth.
        (0.5, [0, 2, 1, 3]),
        # After .96, at λ = .2: .1872 - .7977 = -.610, .12 - .2816 = -.162, .056 - .4301 = -.374: the third.
        # Then -.610 and .056 - .8 max(.5376, -.6) = -.374: the fourth before the second.
        (0.2, [0, 2, 3, 1]),
    ],
)
def test_the_order_is_that_of_a_worked_example(relevance: float, order: list[int]) -> None:
    assert chosen([1, 0], WORKED, relevance) == order


@pytest.mark.parametrize("relevance", [0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
def test_the_order_is_that_of_langchain(like_embeddings, relevance: float) -> None:
    for seed in range(5):
        query, *vectors = like_embeddings(31, 16, seed)
        theirs = maximal_marginal_relevance(query, list(vectors), relevance, len(vectors))
        assert chosen(query.tolist(), [vector.tolist() for vector in vectors], relevance) == theirs


def test_of_equal_candidates_the_retrievers_first_is_chosen() -> None:
    assert chosen([1, 0], [[0, 1], [1, 0], [1, 0], [0, 1]], 0.9) == [1, 2, 0, 3]
    assert chosen([1, 0], [[0, 1], [1, 0]], 0.0) == [0, 1]
