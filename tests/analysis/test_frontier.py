import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from workbench.analysis.frontier import COSTS, CostedConfiguration, frontier, frontier_picture, undominated
from workbench.analysis.standings import standings
from workbench.execution.local import Outcome
from workbench.report.figures import plots
from workbench.report.render.display import NOTHING, Picture

few = st.one_of(st.integers(0, 3).map(float), st.just(float("nan")))


@given(st.lists(st.tuples(few, few), max_size=8))
def test_the_frontier_is_what_no_other_dominates(points) -> None:
    def dominates(one, other) -> bool:
        return (one[0] >= other[0] and one[1] < other[1]) or (one[0] > other[0] and one[1] <= other[1])

    expected = [not np.isnan(sum(point)) and not any(dominates(other, point) for other in points) for point in points]
    quality, cost = np.array(points, dtype=np.float64).reshape(-1, 2).T
    assert undominated(quality, cost).tolist() == expected


def test_equal_ones_stay_together_and_the_cheaper_of_equal_quality_stays_alone() -> None:
    assert undominated(np.array([0.5, 0.5, 0.5]), np.array([1.0, 1.0, 2.0])).tolist() == [True, True, False]
    assert undominated(np.array([0.4, 0.5]), np.array([1.0, 1.0])).tolist() == [False, True]


@pytest.fixture(scope="module")
def outcome(run: Callable[..., Outcome]) -> Outcome:
    sweep = {
        "chunking": [{"kind": "fixed", "size": [16, 32, 64], "overlap": 0}],
        "retrieval": [{"kind": "dense", "k": 5}, {"kind": "bm25", "k": 5}],
    }
    return run(name="priced", sweep=sweep, metrics=["span_recall@2", "recall@3"])


@pytest.fixture(scope="module")
def priced(outcome: Outcome) -> tuple[CostedConfiguration, ...]:
    return frontier(outcome, standings(outcome))


def test_every_configuration_has_its_costs(priced, outcome: Outcome) -> None:
    assert {one.name for one in priced} == {result.configuration.name for result in outcome.results}
    for one in priced:
        assert set(one.costs) == set(COSTS)
        assert 0 < one.costs["p50"] <= one.costs["p95"]
        embeds = "bm25" not in one.name
        assert (one.costs["encoded"] > 0, one.costs["index"] > 0) == (embeds, embeds)
        assert one.costs["delivered"] > 0


def test_delivered_tokens_are_those_of_what_the_metric_looks_at(priced) -> None:
    sixteen = [one for one in priced if one.name.startswith("fixed-16")]
    # Two chunks of at most 14 tokens and two special ones.
    assert all(one.costs["delivered"] <= 28 for one in sixteen)


def test_what_is_beyond_the_window_is_on_no_frontier(priced) -> None:
    beyond = [one for one in priced if not one.ranked]
    assert [one.name.startswith("fixed-64") for one in beyond] == [True]
    assert not beyond[0].frontier
    assert any(one.frontier for one in priced)
    # The best value is on every frontier that it has a cost for, unless an equal one is cheaper.
    assert priced[0].ranked
    assert priced[0].quality.value == max(one.quality.value for one in priced if "encoded" in one.frontier)


def test_the_figure_says_in_words_what_it_shows(priced, outcome: Outcome) -> None:
    shown = frontier_picture(priced, outcome.primary, "delivered")
    assert isinstance(shown, Picture)
    assert all(one.name in shown.alt for one in priced)
    assert "(not ranked)" in shown.alt
    assert frontier_picture(priced[:1], outcome.primary, "delivered") is NOTHING


def test_names_in_the_figure_do_not_overlap() -> None:
    points = [plots.Point(f"fixed-{number}-0", 10.0**number, 0.5 + 0.001 * (number % 3), number != 4, number == 2) for number in range(12)]
    figure = plots.frontier(points, "span_recall@2000t", "p50, ms")
    figure.canvas.draw()
    boxes = sorted((Text.get_window_extent(text) for text in figure.axes[0].texts), key=lambda box: box.y0)
    assert len(boxes) == 12
    # The letters' own height, without the room for what hangs below the line.
    assert all(lower.y1 <= upper.y0 + 0.2 * lower.height for lower, upper in itertools.pairwise(boxes))
