"""The leader's score is corrected for the luck that halves of the questions have in common."""

import numpy as np
import pytest

from benchmarks.verdict.catalogue import EQUAL, SHIFTED
from benchmarks.verdict.structures import drawn
from workbench.statistics.clusters import Clusters
from workbench.statistics.selection import corrected_first

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
