"""Neighbours follow their hit in the ranking, the nearest first."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.components.context.delivered_slices import with_neighbours

# Chunks 0 to 4 are of the first document, 5 to 7 of the second.
DOC = np.array([0, 0, 0, 0, 0, 1, 1, 1])


def hits(*rows: tuple[int, int, float]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["query", "chunk", "score"])
    return table.assign(rank=table.groupby("query").cumcount() + 1)[["query", "rank", "chunk", "score"]]


def test_each_hit_is_followed_by_its_neighbours_of_the_same_document_with_its_score() -> None:
    found = with_neighbours(hits((0, 2, 0.9), (0, 5, 0.8)), DOC, 2)
    assert found["chunk"].tolist() == [2, 1, 3, 0, 4, 5, 6, 7]
    assert found["score"].tolist() == [0.9] * 5 + [0.8] * 3
    assert found["rank"].tolist() == list(range(1, 9))


def test_a_chunk_that_is_already_ranked_above_is_not_repeated() -> None:
    found = with_neighbours(hits((0, 2, 0.9), (0, 3, 0.8), (0, 1, 0.7)), DOC, 1)
    assert found[["chunk", "score"]].to_numpy().tolist() == [[2, 0.9], [1, 0.9], [3, 0.9], [4, 0.8], [0, 0.7]]


def test_no_neighbours_leave_the_ranking_as_it_is() -> None:
    ranking = hits((0, 2, 0.9), (0, 5, 0.8), (1, 7, 0.3))
    pd.testing.assert_frame_equal(with_neighbours(ranking, DOC, 0), ranking)
    assert len(with_neighbours(ranking[:0], DOC, 2)) == 0


def naive(chunks: list[int], doc: list[int], neighbours: int) -> list[int]:
    found: list[int] = []
    for chunk in chunks:
        near = sorted(range(len(doc)), key=lambda other: (abs(other - chunk), other))
        found += [other for other in near if abs(other - chunk) <= neighbours and doc[other] == doc[chunk] and other not in found]
    return found


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4).flatmap(
        lambda sizes: st.tuples(
            st.just([doc for doc, size in enumerate(sizes) for _ in range(size)]),
            st.lists(st.permutations(range(sum(sizes))), min_size=1, max_size=3),
        )
    ),
    st.integers(0, 3),
)
@pytest.mark.filterwarnings("error")
def test_it_agrees_with_a_loop(drawn: tuple[list[int], list[list[int]]], neighbours: int) -> None:
    doc, rankings = drawn
    rows = [(query, chunk, -float(rank)) for query, chunks in enumerate(rankings) for rank, chunk in enumerate(chunks[:3])]
    found = with_neighbours(hits(*rows), np.array(doc), neighbours)
    for query, chunks in enumerate(rankings):
        assert found.loc[found["query"] == query, "chunk"].tolist() == naive(chunks[:3], doc, neighbours)
