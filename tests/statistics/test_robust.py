import math

import numpy as np
import pytest
from scipy import linalg, stats

from workbench.statistics.robust import robust, satterthwaite

SIZES = [1, 2, 5, 9, 3, 7]
CODES = np.repeat(np.arange(6), SIZES)


def by_matrices(values: np.ndarray, correlation: float) -> tuple[float, float]:
    """CR2 and its degrees of freedom as Bell and McCaffrey write them, with matrix roots."""
    n = len(values)
    annihilator = np.eye(n) - 1 / n
    residuals, total, columns = values - values.mean(), 0.0, []
    for unit in range(6):
        mine = np.equal(CODES, unit)
        root = np.linalg.inv(linalg.sqrtm(annihilator[np.ix_(mine, mine)]).real)
        total += float(root.sum(axis=0) @ residuals[mine]) ** 2
        columns.append(annihilator[mine].T @ root @ np.ones(mine.sum()))
    together = np.where(CODES[:, None] == CODES, correlation, 0.0) + np.eye(n) * (1 - correlation)
    spread = np.array(columns) @ together @ np.array(columns).T
    return math.sqrt(total) / n, np.trace(spread) ** 2 / np.trace(spread @ spread)


@pytest.mark.parametrize("correlation", [0, 0.4, 1])
def test_it_is_cr2_with_the_degrees_of_freedom_of_bell_and_mccaffrey(correlation: float) -> None:
    values = np.random.default_rng(1).random(len(CODES))
    error, freedom = by_matrices(values, correlation)
    assert robust(values[None], CODES).error[0] == pytest.approx(error)
    found = satterthwaite(np.array([SIZES], dtype=float), np.array([correlation]), np.array([True]))
    assert found[0] == pytest.approx(freedom)


def test_alone_it_is_the_ordinary_standard_error() -> None:
    values = np.random.default_rng(2).random((3, 20))
    found = robust(values, np.arange(20))
    assert found.error == pytest.approx(stats.sem(values, axis=1))
    assert found.freedom == pytest.approx([19] * 3)


def test_rows_are_those_of_their_scored_queries() -> None:
    values = np.random.default_rng(3).random((2, len(CODES)))
    values[1, [0, 4, 9]] = np.nan
    kept = ~np.isnan(values[1])
    whole, part = robust(values, CODES), robust(values[1:, kept], np.unique(CODES[kept], return_inverse=True)[1])
    assert (whole.n[1], whole.mean[1]) == (len(CODES) - 3, pytest.approx(part.mean[0]))
    assert (whole.error[1], whole.freedom[1]) == (pytest.approx(part.error[0]), pytest.approx(part.freedom[0]))


def test_no_values_have_no_mean() -> None:
    found = robust(np.full((1, 3), np.nan), np.arange(3))
    assert math.isnan(found.mean[0])
    assert math.isnan(found.error[0])
