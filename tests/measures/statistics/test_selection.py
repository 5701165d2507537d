"""The leader's score is corrected for the luck that halves of the questions have in common."""

import numpy as np
import pytest

from benchmarks.verdict.catalogue import EQUAL, SHIFTED
from benchmarks.verdict.structures import drawn
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.intervals import robust
from workbench.measures.statistics.verdict import _underestimated, corrected_first

NAMES = [str(place) for place in range(24)]
RUNS = 100


def test_the_corrected_score_does_not_flatter_where_questions_share_documents() -> None:
    world, random = SHIFTED(EQUAL, drawn(100, 50, 2)), np.random.default_rng(1)
    drawn_values = [world.draw(random) for _ in range(RUNS)]
    plain = np.mean([values.mean(axis=1).max() for values in drawn_values])
    selected = [corrected_first(values, world.clusters, NAMES, 1) for values in drawn_values]
    assert plain > 0.6 + 0.04
    assert np.mean([each.value for each in selected if each]) == pytest.approx(0.6, abs=0.03)


def test_it_is_half_and_half_without_shared_documents() -> None:
    values = np.random.default_rng(1).random((3, 40))
    alone, linked = np.arange(40), Clusters.linked(np.arange(40), [[place] for place in range(40)])
    found, same = (corrected_first(values, Clusters.of(clusters), NAMES[:3], 1) for clusters in (alone, linked))
    assert found == same
    assert found is not None
    assert found.value == pytest.approx(values.mean(axis=1).max() - found.optimism)


def test_two_questions_choose_by_one_of_them() -> None:
    found = corrected_first(np.array([[1.0, 1], [0, 0]]), Clusters.of([0, 1]), NAMES[:2], 1)
    assert found is not None
    assert (found.value, found.optimism, dict(found.chosen)) == (1, 0, {"0": 1, "1": 0})


@pytest.mark.parametrize("sign", [1, -1])
def test_the_corrected_bounds_of_a_proportion_lie_between_0_and_1(sign: int) -> None:
    shares = (np.random.default_rng(2).random((20, 12)) < 0.1).astype(float)
    # Where lower is better, values are negated, and the faults are what is left of 1.
    values = shares if sign == 1 else shares - 1
    found = corrected_first(values, Clusters.of(range(12)), NAMES[:20], 1, sign)
    assert found is not None
    assert found.optimism > 0.1
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert (found.low == 0) if sign == 1 else (found.high == 1)


def test_the_share_of_luck_that_halves_hide() -> None:
    # Each document has two questions, each a cluster of its own, with nearly the same values.
    half = np.random.default_rng(3).random((4, 30))
    values = np.hstack([half, half + 0.01 * np.random.default_rng(4).random((4, 30))])
    clusters = Clusters.linked(range(60), [[place % 30, 100 + place] for place in range(60)])
    errors = robust(values - values.mean(axis=0), clusters)
    shared = float(((errors.error / errors.alone) ** 2).mean()) - 1
    # The luck of all questions, and the part of it that a half shows to the other: variances 1 + s and 2 + s, s in common.
    luck, hidden = (1 + shared) ** 0.5, shared / (2 + shared) ** 0.5
    assert shared > 0.5
    assert _underestimated(values, clusters) == pytest.approx(luck / (luck - hidden))
