import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from workbench.metrics.separation import answerable_auroc


@given(st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=2, max_size=30))
def test_it_is_sklearns_area(rows: list[tuple[int, bool]]) -> None:
    scores, answerable = np.array([score / 8 for score, _ in rows]), np.array([kind for _, kind in rows])
    ours = answerable_auroc(scores, answerable)
    if answerable.all() or not answerable.any():
        assert ours is None
    else:
        assert ours == pytest.approx(roc_auc_score(answerable, scores), abs=1e-12)


def test_no_results_look_unanswerable() -> None:
    assert answerable_auroc([0.1, -math.inf], [True, False]) == 1
    assert answerable_auroc([0.9, 0.4, 0.5], [True, True, False]) == 0.5
