from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.report.analysis.standings import (
    COSTS,
    CURVE,
    DRIFT,
    CostedConfiguration,
    CostRange,
    Mean,
    cheapest,
    frontier,
    passes_of,
    recall_curves,
    separated,
    standings,
    undominated,
)
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome

few = st.one_of(st.integers(0, 3).map(float), st.just(float("nan")))


@given(st.lists(st.tuples(few, few), max_size=8))
def test_the_frontier_contains_the_undominated_configurations(points) -> None:
    def dominates(one, other) -> bool:
        return (one[0] >= other[0] and one[1] < other[1]) or (one[0] > other[0] and one[1] <= other[1])

    expected = [not np.isnan(sum(point)) and not any(dominates(other, point) for other in points) for point in points]
    quality, cost = np.array(points, dtype=np.float64).reshape(-1, 2).T
    assert undominated(quality, cost, cost).tolist() == expected


def test_equal_ones_stay_together_and_the_cheaper_of_equal_quality_stays_alone() -> None:
    cost = np.array([1.0, 1.0, 2.0])
    assert undominated(np.array([0.5, 0.5, 0.5]), cost, cost).tolist() == [True, True, False]
    assert undominated(np.array([0.4, 0.5]), cost[:2], cost[:2]).tolist() == [False, True]


def test_costs_whose_ranges_overlap_count_as_equal() -> None:
    low, high, higher = np.array([10.0, 20.0]), np.array([31.0, 40.0]), np.array([14.0, 40.0])
    # At equal quality neither beats the other; of two qualities the better one is left.
    assert undominated(np.array([0.5, 0.5]), low, high).tolist() == [True, True]
    assert undominated(np.array([0.4, 0.5]), low, high).tolist() == [False, True]
    assert undominated(np.array([0.5, 0.5]), low, higher).tolist() == [True, False]
    assert undominated(np.array([0.4, 0.5]), low, higher).tolist() == [True, True]


def test_times_differ_only_if_their_ranges_are_further_apart_than_the_speed_of_a_machine_drifts() -> None:
    quick, slow, slower = CostRange(5, 6), CostRange(6 * DRIFT, 30), CostRange(6 * DRIFT + 1, 30)
    assert not separated("p50", quick, slow)
    assert separated("p50", quick, slower)
    assert separated("p50", slower, quick)
    assert not separated("p50", CostRange(5, 31), CostRange(15, 20))
    # Bytes and tokens are the same in every run.
    assert separated("index", CostRange(5, 5), CostRange(6, 6))


def costed(name: str, time: float, delivered: float, index: float, encoded: float) -> CostedConfiguration:
    costs = {"p50": time, "p95": time, "delivered": delivered, "index": index, "encoded": encoded}
    return CostedConfiguration(
        name,
        Mean(0.5, 0.4, 0.6, 9, 9, metric="recall@5", unscored=0, attainable=1.0),
        costs,
        {cost: CostRange(0.9 * value, 1.1 * value) for cost, value in costs.items()},
        True,
        frozenset(),
    )


def test_what_a_question_costs_decides_which_configuration_is_cheaper() -> None:
    # A reranker leads. One that is slower encodes a little less, two others are fast.
    leader, slower = costed("reranked", 1_000, 2_000, 3, 90_000), costed("both", 3_000, 2_000, 3, 80_000)
    dense, bm25 = costed("dense", 16, 2_000, 3, 90_000), costed("bm25", 43, 1_950, 0, 0)
    assert cheapest([leader, slower]).name == "both"
    assert cheapest([leader, slower, dense]).name == "dense"
    # 16 and 43 ms are not shown to differ, so the index decides between these two.
    assert cheapest([leader, slower, dense, bm25]).name == "bm25"
    assert cheapest([leader, slower, costed("dense", 4, 2_000, 3, 90_000), bm25]).name == "dense"


def test_less_delivered_text_is_cheaper_and_a_saving_of_a_twentieth_is_none() -> None:
    leader = costed("large", 10, 2_000, 3, 90_000)
    assert cheapest([leader, costed("small", 10, 600, 3, 90_000)]).name == "small"
    assert cheapest([leader, costed("other", 9, 1_900, 2.9, 86_000)]) is leader


def test_an_unknown_cost_is_neither_lower_nor_higher() -> None:
    known, unknown = costed("known", 10, 2_000, 3, 90_000), costed("unknown", *[float("nan")] * 4)
    assert cheapest([known, unknown]) is known
    assert cheapest([unknown, known]) is unknown


def test_a_time_that_was_measured_once_has_no_range_and_differs_from_none() -> None:
    once = passes_of({"latency_question_p50": 15.0}, "latency_question_p50")
    assert not once.repeated
    assert not separated("p50", once, CostRange(1, 2))
    known = {"latency_question_p50_low": 14.96, "latency_question_p50_high": 31.2}
    assert passes_of(known, "latency_question_p50") == CostRange(15, 31)


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
        assert one.ranges["p50"].low <= one.costs["p50"] * 1.05
        assert one.costs["p50"] <= one.ranges["p50"].high * 1.05


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


def test_no_noise_puts_a_configuration_of_the_same_model_on_the_frontier_of_times(priced_run: RunTables) -> None:
    """The times are those of two runs of fixed-128-0 and fixed-256-0 of the quickstart, one on a quiet and one on a busy machine."""
    names = [name for name in priced_run.names if name.startswith(("fixed-16", "fixed-32")) and "bm25" not in name]
    ranges = dict(zip(names, [(6.1, 6.6, 15.3), (13.2, 15.3, 30.5)], strict=True))
    rows = [
        (name, f"latency_question_p50{end}", value)
        for name in names
        for end, value in zip(("_low", "", "_high"), ranges[name], strict=True)
    ]
    timings = pd.DataFrame(rows, columns=["configuration", "name", "value"])
    noisy = RunTables(priced_run.manifest, {**priced_run.sources, "timings": lambda _: timings})
    first, second = (next(one for one in frontier(noisy, standings(noisy)) if one.name == name) for name in names)
    assert not separated("p50", first.ranges["p50"], second.ranges["p50"])
    better = [one for one in (first, second) if one.quality.value == max(first.quality.value, second.quality.value)]
    assert [one for one in (first, second) if "p50" in one.frontier] == better


def test_recall_rises_with_the_budget(few: Outcome) -> None:
    run = RunTables.read(few.folder)
    curves = recall_curves(standings(run).ranked)
    assert set(curves) == set(run.names)
    assert all(len(values) == len(CURVE) and (np.diff(values) >= 0).all() for values in curves.values())
