"""Kendall's tau between the orders of two sets of questions."""

import numpy as np
import pytest
from scipy import stats

from workbench.report.topics.retrieval.slices import order_agreement

RANDOM = np.random.default_rng(0)


def values(quality: list[float], questions: int) -> np.ndarray:
    return np.array(quality)[:, None] + RANDOM.normal(0, 0.3, (len(quality), questions))


def test_tau_is_that_of_scipy_also_with_ties() -> None:
    for _ in range(20):
        first, second = (RANDOM.integers(0, 3, (6, 4)).astype(float) for _ in range(2))
        found = order_agreement((first, np.arange(4)), (second, np.arange(4)))
        wanted = stats.kendalltau(first.mean(axis=1), second.mean(axis=1)).statistic
        assert found.value == pytest.approx(wanted, nan_ok=True)
        assert np.isnan(found.low), "four clusters"


def test_clear_orders_agree_and_noise_widens_the_interval() -> None:
    quality = [0.1, 0.4, 0.7, 1.0]
    many = order_agreement((values(quality, 200), np.arange(200)), (values(quality, 200), np.arange(200)))
    assert (many.value, many.low, many.high) == (1, 1, 1)
    few = order_agreement((values(quality, 200), np.arange(200)), (values([0.3, 0.4, 0.5, 0.6], 8), np.arange(8)))
    assert few.low < 1
    reverse = order_agreement((values(quality, 200), np.arange(200)), (values(quality[::-1], 200), np.arange(200)))
    assert reverse.value == -1


def test_questions_of_one_cluster_are_drawn_together() -> None:
    noisy = values([0.3, 0.4, 0.5, 0.6], 60)
    sure = values([0.3, 0.4, 0.5, 0.6], 2_000)
    alone = order_agreement((sure, np.arange(2_000)), (noisy, np.arange(60)))
    together = order_agreement((sure, np.arange(2_000)), (np.repeat(noisy[:, :6], 10, axis=1), np.repeat(np.arange(6), 10)))
    assert together.clusters == 6
    assert together.high - together.low >= alone.high - alone.low
