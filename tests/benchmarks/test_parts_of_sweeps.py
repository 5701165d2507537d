"""The simulated sweeps of parts have the effects that they are said to have."""

import numpy as np
import pytest

from benchmarks.verdict.parts import GRID, HEADINGS, grid_means, matched, parts_worlds, rates
from benchmarks.verdict.worlds import Recalls, documents


def test_every_alternative_is_matched_with_the_first_of_its_axis() -> None:
    pairs = matched()
    assert [len(each) for each in pairs] == [6, 4, 4, 6]
    cells = [np.unravel_index(place, GRID) for place in range(12)]
    for each in pairs:
        assert all(sum(a != b for a, b in zip(cells[one], cells[other], strict=True)) == 1 for one, other in each)


def test_the_means_have_the_gains_of_the_chunking_and_of_the_reranker() -> None:
    means = np.array(grid_means(chunking=0.1, reranker=0.05, crossed=0.02))
    gaps = [np.array([means[a] - means[b] for a, b in each]) for each in matched()]
    assert [gap.mean() for gap in gaps] == pytest.approx([0.08, 0, 0, 0.05])
    assert sorted(set(gaps[3].round(9))) == pytest.approx([0.03, 0.07])


@pytest.mark.parametrize("name", parts_worlds())
def test_a_world_has_a_configuration_for_each_cell_of_the_grid_or_two(name: str) -> None:
    assert len(parts_worlds()[name].means) in (2, np.prod(GRID))


def test_a_large_effect_is_found_and_what_cannot_occur_has_no_rate() -> None:
    clusters = documents([2] * 40)
    large = dict(zip(HEADINGS[3:], rates(Recalls(grid_means(reranker=0.3), clusters), 2), strict=True))
    assert large["effect found"] == 1
    assert np.isnan(large["differs found"])
    none = dict(zip(HEADINGS[3:], rates(Recalls(grid_means(), clusters), 2), strict=True))
    assert np.isnan(none["effect found"])
    assert none["false claim"] in (0, 0.5, 1)
