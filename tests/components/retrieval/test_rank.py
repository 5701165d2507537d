import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from workbench.components.retrieval.rank import SEED, first_seen, order_keys, rounded, tie_breakers, top

# Few distinct values: most rows hold ties.
SCORES = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 40)),
    elements=st.sampled_from([-1.0, -0.5, -0.000001, 0.0, 0.000001, 0.25, 0.250001, 1.0]) | st.floats(-1, 1),
)


def ids(n: int) -> list[str]:
    return [f"doc {number}:0-5" for number in range(n)]


@given(scores=SCORES, depth=st.integers(0, 50))
def test_the_top_is_the_head_of_a_full_sort_by_score_then_breaker(scores: np.ndarray, depth: int) -> None:
    scores = rounded(scores)
    breakers = tie_breakers(ids(scores.shape[1]))
    found = top(order_keys(scores, breakers), depth)
    expected = np.stack([np.lexsort((breakers, -row)) for row in scores])[:, :depth]
    np.testing.assert_array_equal(found, expected)


@given(scores=SCORES, data=st.data())
def test_the_order_of_rows_does_not_change_the_ranking(scores: np.ndarray, data: st.DataObject) -> None:
    scores = rounded(scores)
    names = ids(scores.shape[1])
    order = np.array(data.draw(st.permutations(range(len(names)))))
    plain = top(order_keys(scores, tie_breakers(names)), 10)
    shuffled = top(order_keys(scores[:, order], tie_breakers([names[place] for place in order])), 10)
    np.testing.assert_array_equal(order[shuffled], plain)


@given(scores=SCORES)
def test_keys_are_unique_and_follow_the_scores(scores: np.ndarray) -> None:
    scores = rounded(scores)
    keys = order_keys(scores, tie_breakers(ids(scores.shape[1])))
    for row, of_row in zip(scores, keys, strict=True):
        assert len(set(of_row.tolist())) == len(of_row)
        assert (np.diff(row[np.argsort(-of_row)]) <= 0).all()


def test_breakers_are_an_order_that_the_seed_decides() -> None:
    names = ids(200)
    breakers = tie_breakers(names)
    assert sorted(breakers) == list(range(200))
    assert breakers.tolist() == tie_breakers(names, SEED).tolist() != tie_breakers(names, SEED + 1).tolist()
    # Neither the first nor the shortest id is favoured: the order is no order of the ids.
    assert abs(np.corrcoef(breakers, np.arange(200))[0, 1]) < 0.2


def test_a_breaker_does_not_depend_on_the_company() -> None:
    names = ids(100)
    of_all, of_half = tie_breakers(names), tie_breakers(names[::2])
    assert np.argsort(of_half).tolist() == np.argsort(of_all[::2]).tolist()
    # The order is the same in every run and on every machine.
    assert [names[place] for place in np.argsort(of_all)[:3]] == ["doc 36:0-5", "doc 90:0-5", "doc 69:0-5"]


def test_scores_that_differ_by_noise_alone_tie() -> None:
    scores = rounded(np.array([[0.5, 0.5 + 1e-9, 0.5 - 1e-9, 0.500002]], dtype=np.float64))
    assert len(set(scores[0, :3])) == 1
    assert scores[0, 3] > scores[0, 0]
    assert rounded(np.float32([0.1])).dtype == np.float64


@given(groups=arrays.arrays(np.int64, st.tuples(st.integers(1, 4), st.integers(0, 20)), elements=st.integers(0, 5)))
def test_first_seen_marks_the_first_of_each_value_in_its_row(groups: np.ndarray) -> None:
    expected = [[value not in row[:place].tolist() for place, value in enumerate(row)] for row in groups]
    np.testing.assert_array_equal(first_seen(groups), np.array(expected, dtype=bool).reshape(groups.shape))
