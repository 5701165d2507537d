from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.analysis.frontier import COSTS, CURVE, CostedConfiguration, frontier, recall_curves, undominated
from workbench.analysis.standings import standings
from workbench.execution.collect import collect
from workbench.execution.local import Outcome
from workbench.results.run_tables import RunTables

few = st.one_of(st.integers(0, 3).map(float), st.just(float("nan")))


@given(st.lists(st.tuples(few, few), max_size=8))
def test_the_frontier_contains_the_undominated_configurations(points) -> None:
    def dominates(one, other) -> bool:
        return (one[0] >= other[0] and one[1] < other[1]) or (one[0] > other[0] and one[1] <= other[1])

    expected = [not np.isnan(sum(point)) and not any(dominates(other, point) for other in points) for point in points]
    quality, cost = np.array(points, dtype=np.float64).reshape(-1, 2).T
    assert undominated(quality, cost).tolist() == expected


def test_equal_ones_stay_together_and_the_cheaper_of_equal_quality_stays_alone() -> None:
    assert undominated(np.array([0.5, 0.5, 0.5]), np.array([1.0, 1.0, 2.0])).tolist() == [True, True, False]
    assert undominated(np.array([0.4, 0.5]), np.array([1.0, 1.0])).tolist() == [False, True]


@pytest.fixture(scope="module")
def priced_run(run: Callable[..., Outcome]) -> RunTables:
    sweep = {
        "chunking": [{"kind": "fixed", "size": [16, 32, 64], "overlap": 0}],
        "retrieval": [{"kind": "dense", "k": 5}, {"kind": "bm25", "k": 5}],
    }
    return collect(run(name="priced", sweep=sweep, metrics=["span_recall@2", "recall@3"]))


@pytest.fixture(scope="module")
def priced(priced_run: RunTables) -> tuple[CostedConfiguration, ...]:
    return frontier(priced_run, standings(priced_run))


def test_every_configuration_has_its_costs(priced, priced_run: RunTables) -> None:
    assert {one.name for one in priced} == set(priced_run.names)
    for one in priced:
        assert set(one.costs) == set(COSTS)
        assert 0 < one.costs["p50"] <= one.costs["p95"]
        embeds = "bm25" not in one.name
        assert (one.costs["encoded"] > 0, one.costs["index"] > 0) == (embeds, embeds)
        assert one.costs["delivered"] > 0


def test_delivered_tokens_are_counted_up_to_the_cut_of_the_metric(priced) -> None:
    sixteen = [one for one in priced if one.name.startswith("fixed-16")]
    # Two chunks of at most 14 tokens and two special ones.
    assert all(one.costs["delivered"] <= 28 for one in sixteen)


def test_configurations_beyond_the_window_are_on_no_frontier(priced) -> None:
    beyond = [one for one in priced if not one.ranked]
    assert [one.name.startswith("fixed-64") for one in beyond] == [True]
    assert not beyond[0].frontier
    assert any(one.frontier for one in priced)
    # The best value is on every frontier that it has a cost for, unless an equal one is cheaper.
    assert priced[0].ranked
    assert priced[0].quality.value == max(one.quality.value for one in priced if "encoded" in one.frontier)


def test_recall_rises_with_the_budget(few: Outcome) -> None:
    run = RunTables.read(few.folder)
    curves = recall_curves(standings(run).ranked)
    assert set(curves) == set(run.names)
    assert all(len(values) == len(CURVE) and (np.diff(values) >= 0).all() for values in curves.values())
