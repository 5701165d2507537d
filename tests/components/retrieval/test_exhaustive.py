"""Scores that a retriever of another package may give: each mistake is one line, and none counts as a chunk that does not match."""

import numpy as np
import pytest

from workbench.components.retrieval.base import SearchDepth, rank_all
from workbench.core.errors import RunError
from workbench.testing.small_corpus import TEXTS, small_corpus

CORPUS = small_corpus(tuple(range(len(TEXTS))), vectors=False)
CHUNKS = len(CORPUS.doc)
DEPTH = SearchDepth(10, 10, 10, 10)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_score_that_is_no_number_is_one_line(wrong: float) -> None:
    scores = np.ones((2, CHUNKS))
    scores[1, 3] = wrong
    with pytest.raises(RunError, match=r"gave a chunk the score (NaN|inf); return a number, or -inf for a chunk that does not match"):
        rank_all(lambda first, last: scores[first:last], 2, CORPUS, DEPTH, 5)


def test_scores_of_another_shape_are_one_line(wording) -> None:
    scores = {
        "queries and chunks exchanged": np.ones((CHUNKS, 2)),
        "one query": np.ones(CHUNKS),
        "texts": np.full((2, CHUNKS), "high"),
        "a list": [[1.0] * CHUNKS] * 2,
    }
    wording(lambda wrong: rank_all(lambda *_: wrong, 2, CORPUS, DEPTH, 5), scores, RunError)


def test_a_chunk_with_minus_infinity_is_not_ranked() -> None:
    scores = np.full((1, CHUNKS), -np.inf)
    scores[0, 4] = 1.0
    assert rank_all(lambda *_: scores, 1, CORPUS, DEPTH, 5).hits["chunk"].tolist() == [4]
