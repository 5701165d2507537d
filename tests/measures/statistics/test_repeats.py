import numpy as np
import pytest

from workbench.measures.statistics.summary import repeat_variance


def test_by_hand() -> None:
    # Questions with the means 1 and 0.5: within (0 + 0.5) / 2, between groups 0.125.
    found = repeat_variance(np.array([[1.0, 1.0], [1.0, 0.0]]))
    assert found is not None
    assert (found.between_repeats, found.between_questions) == (0.25, 0.0)
    assert (found.changed, found.n, found.reliability) == (1, 2, 0.0)


def test_equal_repeats_leave_all_variance_between_questions() -> None:
    found = repeat_variance(np.tile([0.0, 1.0, 1.0, 0.0], (3, 1)))
    assert found is not None
    assert (found.between_repeats, found.reliability, found.changed) == (0, 1, 0)
    assert found.between_questions == pytest.approx(np.var([0, 1, 1, 0], ddof=1))


def test_values_that_never_vary_have_no_reliability() -> None:
    found = repeat_variance(np.ones((3, 4)))
    assert found is not None
    assert np.isnan(found.reliability)


def test_a_question_needs_two_values_and_there_must_be_two_questions() -> None:
    assert repeat_variance(np.ones((1, 5))) is None
    assert repeat_variance(np.array([[1.0, 0.0], [1.0, np.nan]])) is None
    assert repeat_variance(np.empty((0, 4))) is None


def test_components_are_estimated_without_bias_also_with_missing_repeats() -> None:
    random = np.random.default_rng(3)
    found = []
    for _ in range(300):
        values = random.normal(0, 0.3, 30) + random.normal(0, 0.2, (4, 30))
        values[random.random((4, 30)) < 0.2] = np.nan
        row = repeat_variance(values)
        assert row is not None
        found.append((row.between_repeats, row.between_questions))
    assert np.mean(found, axis=0) == pytest.approx([0.04, 0.09], rel=0.05)
