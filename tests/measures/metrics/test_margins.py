import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from workbench.measures.metrics.documents import NO_OTHER, NO_RELEVANT, NO_SPREAD, answerable_auroc


@pytest.fixture
def labels(make_labels):
    return make_labels(["text"] * 3, {"qrels": {0: 1, 1: 2}}, {"qrels": {0: 1}}, {"qrels": {0: 1}})


def test_the_gap_between_the_best_relevant_and_the_best_other(labels, make_retrieved, values) -> None:
    chunks = [(d, 0, 4) for d in range(3)]
    retrieved = make_retrieved(chunks, [2, 1, 0], [0, 1], [1, 0], scores=[[0.9, 0.7, 0.2], [0.8, 0.5], [0.6, 0.1]])
    assert values(labels, retrieved, "margin") == pytest.approx([-0.2, 0.3, -0.5])
    assert values(labels, retrieved, "margin_spread") == pytest.approx([-0.4, 0.6, -1.0])
    assert all(math.isnan(value) for value in values(labels, retrieved, "margin", column="attainable"))


def test_a_missing_side_is_unscored_with_its_reason(labels, make_retrieved, values) -> None:
    retrieved = make_retrieved([(d, 0, 4) for d in range(3)], [2], [0], [])
    assert values(labels, retrieved, "margin", column="state") == ["unscored"] * 3
    assert values(labels, retrieved, "margin", column="reason") == [NO_RELEVANT, NO_OTHER, NO_RELEVANT]
    assert all(math.isnan(value) for value in values(labels, retrieved, "margin"))


def test_no_spread_is_unscored(labels, make_retrieved, values) -> None:
    retrieved = make_retrieved([(d, 0, 4) for d in range(3)], [1, 2], [0, 1], [1, 0])
    retrieved.spread[:] = [0, math.nan, 0.5]
    assert values(labels, retrieved, "margin_spread", column="reason") == [NO_SPREAD, NO_SPREAD, ""]


@given(st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=2, max_size=30))
def test_answerable_auroc_is_sklearns_area(rows: list[tuple[int, bool]]) -> None:
    scores, answerable = np.array([score / 8 for score, _ in rows]), np.array([kind for _, kind in rows])
    ours = answerable_auroc(scores, answerable)
    if answerable.all() or not answerable.any():
        assert ours is None
    else:
        assert ours == pytest.approx(roc_auc_score(answerable, scores), abs=1e-12)


def test_no_results_look_unanswerable() -> None:
    assert answerable_auroc([0.1, -math.inf], [True, False]) == 1
    assert answerable_auroc([0.9, 0.4, 0.5], [True, True, False]) == 0.5


def test_answerable_may_be_0_and_1() -> None:
    assert answerable_auroc([0.9, 0.1, 0.5], [1, 0, 1]) == 1
