import numpy as np
import pytest

from workbench.measures.statistics.summary import risk_coverage


def test_by_hand() -> None:
    curve = risk_coverage(np.array([0.5, 0.9, 0.1]), np.array([0.0, 1.0, 1.0]), 4)
    assert curve is not None
    assert curve.threshold.tolist() == [0.9, 0.5, 0.1]
    assert curve.coverage.tolist() == [0.25, 0.5, 0.75]
    assert curve.risk.tolist() == pytest.approx([0, 1 / 2, 1 / 3])
    assert curve.area == pytest.approx((0 + 1 / 2 + 1 / 3) / 3)
    assert curve.best_area == pytest.approx((0 + 0 + 1 / 3) / 3)
    assert curve.random_area == pytest.approx(1 / 3)


def test_no_answer_has_no_curve() -> None:
    assert risk_coverage(np.empty(0), np.empty(0), 5) is None


def test_equal_confidences_are_one_point_whose_area_is_that_of_chance() -> None:
    scores = np.array([1.0, 0.0, 0.0, 1.0])
    curve = risk_coverage(np.ones(4), scores, 4)
    assert curve is not None
    assert (curve.coverage.tolist(), curve.risk.tolist()) == ([1.0], [0.5])
    assert curve.area == curve.random_area == 0.5


def test_ties_take_the_mean_over_their_orders() -> None:
    random = np.random.default_rng(5)
    confidence, scores = random.integers(0, 3, 12).astype(float), (random.random(12) < 0.5).astype(float)
    tied = risk_coverage(confidence, scores, 12)
    broken = [risk_coverage(confidence + random.random(12) * 0.5, scores, 12) for _ in range(2000)]
    assert tied is not None
    assert tied.area == pytest.approx(np.mean([curve.area for curve in broken if curve]), abs=0.01)


def test_a_confidence_that_knows_the_answer_has_the_best_area() -> None:
    scores = (np.random.default_rng(2).random(40) < 0.6).astype(float)
    knowing, blind = risk_coverage(scores, scores, 40), risk_coverage(-scores, scores, 40)
    assert knowing is not None
    assert blind is not None
    assert knowing.area == pytest.approx(knowing.best_area)
    assert blind.area > blind.random_area
