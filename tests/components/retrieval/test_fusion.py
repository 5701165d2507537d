"""Fusion equals examples worked by hand and a plain implementation over dictionaries."""

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from workbench.components.retrieval.hybrid import reciprocal_ranks, weighted_scores


def hits(**chunks: list[tuple[str, float]]) -> pd.DataFrame:
    """Rankings by query: (chunk, score), best first."""
    rows = [(int(query[1:]), rank, int(chunk), score) for query, found in chunks.items() for rank, (chunk, score) in enumerate(found, 1)]
    return pd.DataFrame(rows, columns=["query", "rank", "chunk", "score"])


def scores(fused: pd.DataFrame) -> dict[tuple[int, int], float]:
    return {(query, chunk): score for query, chunk, score in fused.itertuples(index=False)}


DENSE = hits(q0=[("7", 0.9), ("3", 0.5), ("4", 0.1)], q1=[("1", 0.2)])
BM25 = hits(q0=[("3", 12.0), ("9", 6.0)], q1=[("1", 3.0), ("2", 3.0)])
BOTH = {"dense": DENSE, "bm25": BM25}
EQUAL = {"dense": 1.0, "bm25": 1.0}


def test_reciprocal_ranks_are_added_as_by_hand() -> None:
    fused = scores(reciprocal_ranks(BOTH, EQUAL, 60))
    assert fused == pytest.approx(
        {
            (0, 7): 61 / 61,
            (0, 3): 61 / 62 + 61 / 61,
            (0, 4): 61 / 63,
            (0, 9): 61 / 62,
            (1, 1): 61 / 61 + 61 / 61,
            (1, 2): 61 / 62,
        }
    )


def test_a_weight_multiplies_what_a_retriever_adds() -> None:
    fused = scores(reciprocal_ranks(BOTH, {"dense": 0.5, "bm25": 2.0}, 1))
    assert fused[0, 3] == pytest.approx(0.5 * 2 / 3 + 2.0 * 2 / 2)
    assert fused[0, 7] == pytest.approx(0.5 * 2 / 2)


def test_weighted_scores_are_scaled_by_the_least_and_the_greatest_of_a_query() -> None:
    fused = scores(weighted_scores(BOTH, {"dense": 0.7, "bm25": 0.3}))
    assert fused == pytest.approx(
        {
            (0, 7): 0.7,
            (0, 3): 0.7 * (0.5 - 0.1) / (0.9 - 0.1) + 0.3,
            (0, 4): 0.0,
            (0, 9): 0.0,
            # Equal scores, and a single one, are all as good as the best.
            (1, 1): 0.7 + 0.3,
            (1, 2): 0.3,
        }
    )


@pytest.mark.parametrize("method", ["rrf", "weighted"])
def test_random_rankings_are_fused_as_by_a_plain_loop(method: str) -> None:
    random = np.random.default_rng(5)
    rankings = {
        name: {
            query: list(zip(random.permutation(40)[:size].tolist(), -np.sort(-random.normal(size=size)), strict=True))
            for query, size in enumerate(random.integers(1, 30, 20))
        }
        for name in ("a", "b", "c")
    }
    weights = {"a": 1.0, "b": 0.3, "c": 2.5}
    tables = {
        name: hits(**{f"q{query}": [(str(c), s) for c, s in found] for query, found in runs.items()}) for name, runs in rankings.items()
    }
    expected: dict[tuple[int, int], float] = defaultdict(float)
    for name, runs in rankings.items():
        for query, found in runs.items():
            low, high = found[-1][1], found[0][1]
            for rank, (chunk, score) in enumerate(found, 1):
                scaled = (score - low) / (high - low) if high > low else 1.0
                expected[query, chunk] += weights[name] * (scaled if method == "weighted" else 61 / (60 + rank))
    fused = reciprocal_ranks(tables, weights, 60) if method == "rrf" else weighted_scores(tables, weights)
    assert scores(fused) == pytest.approx(dict(expected))
