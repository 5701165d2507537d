import math
import time

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from workbench.errors import InputError
from workbench.statistics.verdict import CONDITIONAL, MOST_QUERIES, Reason, queries_needed, verdict

CLUSTERS = np.arange(120) // 3


@pytest.fixture
def values() -> dict[str, np.ndarray]:
    random = np.random.default_rng(8)
    easy = random.random(120)
    lead = {"low": -0.2, "middle": 0.0, "other": 0.01, "high": 0.15}
    return {name: easy + ahead + 0.2 * random.standard_normal(120) for name, ahead in lead.items()}


def test_the_best_is_found(values) -> None:
    found = verdict("margin", values, CLUSTERS)
    assert (found.winner, found.best, found.reason) == ("high", ("high",), None)
    assert (found.ranked[0], found.ranked[-1]) == ("high", "low")
    assert (found.family, len(found.comparisons), found.n, found.clusters, found.conditional) == ("all pairs", 6, 120, 40, False)
    assert found.between("high", "low").p_adjusted <= 0.05
    assert found.selected.value + found.selected.optimism == pytest.approx(values["high"].mean())
    assert sum(found.selected.chosen.values()) == pytest.approx(1)


def test_statistically_indistinguishable_configurations_have_no_winner(values) -> None:
    del values["high"]
    values["other"] = values["middle"] + np.where(np.arange(120) % 2, 0.1, -0.098)
    found = verdict("margin", values, CLUSTERS, baseline="low")
    assert set(found.best) == {"middle", "other"}
    assert (found.winner, found.reason) == (None, Reason.TIED)
    assert (found.family, len(found.comparisons)) == ("against low", 2)
    assert found.between("middle", "other") is None
    assert found.needed > 120


def test_identical_runs() -> None:
    found = verdict("m", {"a": np.ones(40), "b": np.ones(40)}, range(40))
    (row,) = found.comparisons
    assert (row.p, row.p_random, row.p_adjusted, row.p_holm) == (1, 1, 1, 1)
    assert (row.difference.low, row.difference.high) == (0, 0)
    assert (found.winner, found.reason, found.needed, found.selected.optimism) == (None, Reason.IDENTICAL, None, 0)


def test_two_identical_ones_that_are_best_are_no_winner(values) -> None:
    found = verdict("m", values | {"copy": values["high"]}, CLUSTERS)
    assert (set(found.best), found.reason) == ({"high", "copy"}, Reason.IDENTICAL)


def test_fewer_than_30_questions_decide_nothing(values) -> None:
    few = {name: row[:29] for name, row in values.items()}
    assert verdict("m", few, CLUSTERS[:29]).reason == Reason.FEW


def test_one_configuration_and_one_question() -> None:
    assert verdict("m", {"a": [0.5, 1]}, [0, 1]).reason == Reason.ALONE
    found = verdict("m", {"a": [1], "b": [0]}, [0])
    assert (found.comparisons[0].p, found.reason, found.selected) == (1, Reason.FEW, None)


def test_a_difference_that_does_not_vary_has_the_p_of_the_randomisation() -> None:
    (row,) = verdict("m", {"a": np.ones(12), "b": np.zeros(12)}, range(12)).comparisons
    assert (row.p, row.p_random) == (2 / 2**12, 2 / 2**12)
    assert math.isnan(row.difference.low)


def test_few_documents_make_it_conditional(values) -> None:
    found = verdict("m", values, np.arange(120) // 30)
    assert (found.conditional, found.clusters, found.methods[-1]) == (True, 4, CONDITIONAL)
    assert found.comparisons[0].difference.clusters == 4


def test_swapping_negates_and_keeps_p(values) -> None:
    one = verdict("m", values, CLUSTERS)
    other = verdict("m", dict(reversed(values.items())), CLUSTERS)
    for row in one.comparisons:
        same = other.between(row.a, row.b)
        assert (same.a, same.difference.value) == (row.b, pytest.approx(-row.difference.value))
        assert (same.p, same.p_random, same.p_adjusted) == (pytest.approx(row.p), row.p_random, pytest.approx(row.p_adjusted))
    assert (one.best, one.needed) == (other.best, other.needed)


def test_a_metric_of_faults_is_the_same_turned_round(values) -> None:
    one = verdict("m", values, CLUSTERS)
    faults = verdict("m", {name: -row for name, row in values.items()}, CLUSTERS, higher_is_better=False)
    assert (faults.winner, faults.best, faults.needed) == (one.winner, one.best, one.needed)
    assert faults.selected.value == pytest.approx(-one.selected.value)
    assert faults.selected.optimism == pytest.approx(one.selected.optimism)
    assert faults.comparisons[0].difference.value == pytest.approx(-one.comparisons[0].difference.value)
    assert faults.comparisons[0].p == pytest.approx(one.comparisons[0].p)


def test_order_of_queries_and_added_constants_change_nothing(values) -> None:
    one, order = verdict("m", values, CLUSTERS), np.random.default_rng(2).permutation(120)
    for changed in (
        verdict("m", {name: row[order] for name, row in values.items()}, CLUSTERS[order]),
        verdict("m", {name: row + 7 for name, row in values.items()}, CLUSTERS),
    ):
        assert [row.p for row in changed.comparisons] == pytest.approx([row.p for row in one.comparisons])
        assert [row.p_adjusted for row in changed.comparisons] == pytest.approx([row.p_adjusted for row in one.comparisons])
        assert (changed.best, changed.needed) == (one.best, one.needed)


def test_pairs_use_the_queries_that_both_have_a_value_for(values) -> None:
    values["low"][:10] = math.nan
    values["other"][5:20] = math.nan
    values["nothing"] = np.full(120, math.nan)
    found = verdict("m", values, CLUSTERS)
    assert "nothing" not in found.ranked
    assert found.between("low", "other").difference.n == 100
    assert found.between("high", "other").difference.n == 105
    assert found.n == 100
    expected = np.nanmean(values["low"] - values["other"])
    assert found.between("low", "other").difference.value == pytest.approx(expected)


def test_senseless_input_is_refused(values) -> None:
    with pytest.raises(InputError, match="no configuration has a value"):
        verdict("m", {"a": [math.nan]}, [0])
    with pytest.raises(InputError, match="baseline 'none' has no values"):
        verdict("m", values, CLUSTERS, baseline="none")
    with pytest.raises(InputError, match="give one finite value each"):
        verdict("m", {"a": [1, 2]}, [0])


def test_24_configurations_of_300_queries_take_under_3_seconds() -> None:
    random = np.random.default_rng(1)
    values = {str(one): random.random(300) for one in range(24)}
    verdict("m", values, range(300))
    started = time.process_time()
    verdict("m", values, range(300))
    assert time.process_time() - started < 6  # two cores at most


def test_the_queries_needed_have_80_percent_power() -> None:
    count = queries_needed(-0.05, 0.02, 100)
    assert TTestPower().power(0.25, count, 0.05) == pytest.approx(0.8, abs=0.005)
    assert TTestPower().power(0.25, count, 0.05) >= 0.8
    assert queries_needed(1e-6, 0.02, 100) == MOST_QUERIES + 1
    assert queries_needed(1, 1e-9, 100) == 6
    assert queries_needed(0, 0.02, 100) is queries_needed(0.1, math.nan, 100) is None
