import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.measures.metrics.coverage import Union, meeting, ratio

INTERVALS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=8)


def _columns(intervals: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(intervals, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _characters(intervals: list[tuple[int, int]]) -> set[int]:
    return {position for start, end in intervals for position in range(start, end)}


@given(INTERVALS, INTERVALS)
def test_covered_counts_the_shared_positions(intervals: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    union = Union.of(*_columns(intervals))
    assert union.covered(*_columns(asked)).tolist() == [len(_characters(intervals) & set(range(*one))) for one in asked]
    assert union.before[-1] == len(_characters(intervals))
    assert (union.starts[1:] > union.ends[:-1]).all()


@given(INTERVALS, INTERVALS)
def test_meeting_lists_all_pairs_that_overlap(intervals: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    intervals = sorted(intervals)
    sharing = [(i, j) for i, (low, high) in enumerate(asked) for j, (s, e) in enumerate(intervals) if min(high, e) > max(low, s)]
    touching = [(i, j) for i, (low, high) in enumerate(asked) for j, (s, e) in enumerate(intervals) if min(high, e) >= max(low, s)]
    columns = (*_columns(intervals), *_columns(asked))
    assert list(zip(*(side.tolist() for side in meeting(*columns)), strict=True)) == sharing
    assert list(zip(*(side.tolist() for side in meeting(*columns, touching=True)), strict=True)) == touching
    backwards = [side[::-1] for side in columns[:2]]
    pairs = zip(*(side.tolist() for side in meeting(*backwards, *columns[2:])), strict=True)
    assert {(i, len(intervals) - 1 - j) for i, j in pairs} == set(sharing)


def test_lengths_by_group() -> None:
    # Two queries on lines of 100 positions: [3, 9) and [5, 12) of the first, [0, 4) of the second.
    union = Union.of(*_columns([(3, 9), (100, 104), (5, 12)]))
    assert union.by_group(100, 3).tolist() == [9, 4, 0]
    assert union.shared_by_group(Union.of(*_columns([(0, 5), (102, 150)])), 100, 3).tolist() == [2, 2, 0]


def test_a_share_of_nothing_is_0() -> None:
    assert ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0])).tolist() == [0.5, 0.0]
