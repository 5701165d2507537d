import math
import re
import time
from dataclasses import replace

import numpy as np
import pytest

from workbench.core.errors import InputError
from workbench.measures.statistics.clusters import CONDITIONAL, Clusters, weighted
from workbench.measures.statistics.verdict import Reason, verdict

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
    assert (found.family, len(found.comparisons), found.n, found.clusters, found.conditional) == ("all pairs", 6, 120, 40, "")
    assert found.between("high", "low").p_adjusted <= 0.05
    assert found.selected.value + found.selected.optimism == pytest.approx(values["high"].mean())
    assert found.selected.low < found.selected.value < found.selected.high
    assert set(found.behind) == {"low", "middle", "other"}
    assert sum(found.selected.chosen.values()) == pytest.approx(1)


def test_statistically_indistinguishable_configurations_have_no_winner(values) -> None:
    del values["high"]
    values["other"] = values["middle"] + np.where(np.arange(120) % 2, 0.1, -0.098)
    found = verdict("margin", values, CLUSTERS, baseline="low")
    assert set(found.best) == {"middle", "other"}
    assert (found.winner, found.reason) == (None, Reason.TIED)
    assert (found.family, len(found.comparisons)) == ("against low", 2)
    assert found.between("middle", "other").tests == 3
    assert (found.power.a, found.power.b) == ("low", found.ranked[0])


def test_identical_runs() -> None:
    found = verdict("m", {"a": np.ones(40), "b": np.ones(40)}, range(40))
    (row,) = found.comparisons
    assert (row.p, row.p_random, row.p_adjusted, row.p_holm) == (1, 1, 1, 1)
    assert row.difference.bounds() == row.simultaneous.bounds() == "[no interval]"
    assert (found.winner, found.reason, found.power, found.selected.optimism) == (None, Reason.IDENTICAL, None, 0)


def test_two_identical_ones_that_are_best_are_no_winner(values) -> None:
    found = verdict("m", values | {"copy": values["high"]}, CLUSTERS)
    assert (set(found.best), found.reason) == ({"high", "copy"}, Reason.IDENTICAL)


def test_fewer_than_30_questions_decide_nothing(values) -> None:
    few = {name: row[:29] for name, row in values.items()}
    assert verdict("m", few, CLUSTERS[:29]).reason == Reason.FEW


def test_one_configuration_and_one_question() -> None:
    assert verdict("m", {"a": [0.5, 1]}, [0, 1]).reason == Reason.ALONE
    found = verdict("m", {"a": [1], "b": [0]}, [0])
    assert math.isnan(found.comparisons[0].p)
    assert (found.reason, found.selected, found.power) == (Reason.FEW, None, None)


def test_a_difference_that_does_not_vary_has_the_p_of_the_randomisation() -> None:
    (row,) = verdict("m", {"a": np.ones(12), "b": np.zeros(12)}, range(12)).comparisons
    assert (row.p, row.p_random) == (2 / 2**12, 2 / 2**12)
    assert math.isnan(row.difference.low)


@pytest.mark.parametrize("documents", [5, 9])
def test_fewer_than_10_documents_have_intervals_but_no_winner(values, documents: int) -> None:
    found = verdict("m", values, np.arange(120) % documents)
    assert (found.winner, found.reason, found.clusters) == (None, Reason.FEW_DOCUMENTS, documents)
    assert all(row.difference.clusters == documents and row.difference.low < row.difference.high for row in found.comparisons)
    assert all(0 <= row.p <= row.p_adjusted <= 1 for row in found.comparisons)


def test_fewer_than_5_documents_have_neither_interval_nor_p(values) -> None:
    found = verdict("m", values | {"copy": values["low"]}, np.arange(120) // 30)
    assert (found.winner, found.reason, found.power) == (None, Reason.FEW_DOCUMENTS, None)
    assert (set(found.best), found.behind) == (set(found.ranked), ())
    for row in found.comparisons:
        assert np.isnan([row.difference.low, row.high_adjusted, row.p, row.p_random, row.p_adjusted, row.p_holm]).all()
        assert row.difference.bounds() == "[documents: 4]"
    assert math.isnan(found.selected.low)


def test_shared_documents_widen_the_intervals_or_limit_the_claim(values) -> None:
    alone = verdict("m", values, np.arange(120))
    some = verdict("m", values, Clusters.linked(np.arange(120), [[place, (place + 1) % 120] for place in range(120)]))
    dense = verdict("m", values, Clusters.linked(np.arange(120), [[place % 11, 11] for place in range(120)]))
    assert (some.conditional, dense.conditional) == ("", CONDITIONAL)
    assert {row.difference.conditional for row in dense.comparisons} == {CONDITIONAL}
    for one, other, limited in zip(alone.comparisons, some.comparisons, dense.comparisons, strict=True):
        assert other.difference.high - other.difference.low >= one.difference.high - one.difference.low - 1e-12
        assert (limited.difference.low, limited.difference.high) == pytest.approx((one.difference.low, one.difference.high))


def test_a_small_gain_that_a_few_losses_would_undo_wins_nothing() -> None:
    random = np.random.default_rng(5)
    base = random.random(60) * 0.5
    found = verdict("m", {"base": base, "gain": base + 0.02 + 0.01 * random.random(60)}, range(60))
    (row,) = found.comparisons
    assert (found.winner, found.reason, row.p_adjusted) == (None, Reason.TIED, 1)
    assert row.p < 1e-9
    assert row.low_adjusted <= row.difference.low < row.difference.high < 0 <= row.high_adjusted
    large = verdict("m", {"base": base, "gain": base + 0.2 + 0.1 * random.random(60)}, range(60))
    assert large.winner == "gain"


def test_a_difference_that_leans_on_unseen_losses_is_judged_with_its_skew() -> None:
    # A gain of .05 on 95 questions, a loss of .6 on 5.
    base = np.full(100, 0.6)
    gain = np.where(np.arange(100) % 20 == 0, 0.0, 0.65 + 0.001 * np.arange(100) / 100)
    (row,) = verdict("m", {"gain": gain, "base": base}, range(100)).comparisons
    assert row.difference.value > 0
    (mirrored,) = verdict("m", {"gain": 1.2 - gain, "base": base}, range(100)).comparisons
    assert row.p == pytest.approx(mirrored.p)
    assert row.p_adjusted > row.p


def test_the_corrected_p_and_the_simultaneous_interval_agree(values) -> None:
    for baseline in (None, "middle"):
        for row in verdict("m", values, CLUSTERS, baseline=baseline).comparisons:
            assert (row.low_adjusted > 0 or row.high_adjusted < 0) <= (row.p_adjusted <= 0.05)
            assert (row.low_adjusted < 0 < row.high_adjusted) <= (row.p_adjusted > 0.05)
            assert row.low_adjusted <= row.difference.low or row.low_adjusted == 0
            assert row.simultaneous.high == row.high_adjusted
            assert row.reversed().simultaneous.high == -row.low_adjusted


def test_behind_are_those_with_a_corrected_p_over_all_pairs(values) -> None:
    every, based = verdict("m", values, CLUSTERS), verdict("m", values, CLUSTERS, baseline="low")
    significant = {row.b if row.difference.value > 0 else row.a for row in every.comparisons if row.p_adjusted <= 0.05}
    assert set(every.behind) == significant
    assert (based.best, based.behind) == (every.best, every.behind)


def sampled(seed: int) -> dict[str, np.ndarray]:
    """Eight configurations, of which the last is a little better."""
    random = np.random.default_rng(seed)
    return {str(place): random.normal(0.04 * (place == 7), 0.1, 120) for place in range(8)}


def test_a_baseline_that_another_is_shown_to_beat_is_not_among_those_that_may_be_best() -> None:
    kept = 0
    for seed in range(12):
        every, based = (verdict("m", sampled(seed), CLUSTERS, baseline=baseline, flips=499) for baseline in (None, "0"))
        beaten = any(row.p_adjusted <= 0.05 and row.difference.value < 0 for row in based.comparisons)
        assert not (beaten and "0" in based.best)
        # If nothing is better than the baseline, the set has half of the 5 %, the other half being spent on that.
        assert based.best == tuple(name for name in every.best if name != "0") if beaten else set(every.best) <= set(based.best)
        kept += beaten and "0" in every.best
    assert kept


def test_swapping_negates_and_keeps_p(values) -> None:
    one = verdict("m", values, CLUSTERS)
    other = verdict("m", dict(reversed(values.items())), CLUSTERS)
    for row in one.comparisons:
        same = other.between(row.b, row.a)
        assert (same.a, same.difference.value) == (row.b, pytest.approx(-row.difference.value))
        assert (same.p, same.p_random, same.p_adjusted) == (pytest.approx(row.p), row.p_random, pytest.approx(row.p_adjusted))
    assert (one.best, one.power.needed) == (other.best, other.power.needed)


def test_a_metric_of_faults_is_the_same_turned_round(values) -> None:
    one = verdict("m", values, CLUSTERS)
    faults = verdict("m", {name: -row for name, row in values.items()}, CLUSTERS, higher_is_better=False)
    assert (faults.winner, faults.best, faults.behind, faults.power.needed) == (one.winner, one.best, one.behind, one.power.needed)
    assert faults.selected.value == pytest.approx(-one.selected.value)
    assert faults.selected.optimism == pytest.approx(one.selected.optimism)
    assert (-faults.selected.high, -faults.selected.low) == pytest.approx((one.selected.low, one.selected.high))
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
        assert (changed.best, changed.power.needed) == (one.best, one.power.needed)


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


def test_with_equal_documents_a_few_large_ones_decide_no_longer() -> None:
    random = np.random.default_rng(4)
    codes = np.repeat(np.arange(40), [70, 60, *[4] * 38])
    # Better on the two large documents, worse on the 38 small ones.
    ahead = np.where(codes < 2, 0.3, -0.1) + 0.05 * random.standard_normal(len(codes))
    values = {"a": 0.5 + ahead, "b": np.full(len(codes), 0.5)}
    by_question, by_document = (verdict("m", values, weighted(Clusters.of(codes), average)) for average in ("questions", "documents"))
    assert (by_question.ranked[0], by_question.winner) == ("a", None)
    assert by_document.winner == "b"
    assert by_document.between("a", "b").difference.n == len(codes)
    assert by_document.selected.value == pytest.approx(0.5)


def test_fewer_distinct_documents_than_questions_limit_the_claim(values) -> None:
    # Each question has two of four documents, and is a cluster of its own.
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    few = verdict("m", values, Clusters.linked(range(120), [pairs[place % 6] for place in range(120)]))
    assert (few.clusters, few.winner, few.reason) == (4, None, Reason.FEW_DOCUMENTS)
    assert {row.difference.bounds() for row in few.comparisons} == {"[documents: 4]"}
    eight = verdict("m", values, Clusters.linked(range(120), [(place % 8, (place + 1) % 8) for place in range(120)]))
    assert (eight.clusters, eight.winner, eight.reason) == (8, None, Reason.FEW_DOCUMENTS)


def test_a_bound_at_0_is_open_if_0_is_excluded(values) -> None:
    (row,) = (row for row in verdict("m", values, CLUSTERS).comparisons if {row.a, row.b} == {"middle", "other"})
    closed = replace(row, low_adjusted=0.0, high_adjusted=0.2, p_adjusted=0.2)
    assert closed.simultaneous.bounds() == "[0.000, 0.200]"
    assert replace(closed, p_adjusted=0.04).simultaneous.bounds() == "(0.000, 0.200]"
    assert replace(closed, p_adjusted=0.04).reversed().simultaneous.bounds() == "[−0.200, 0.000)"


def test_with_a_baseline_other_pairs_are_corrected_for_all_pairs(values) -> None:
    every, based = verdict("m", values, CLUSTERS), verdict("m", values, CLUSTERS, baseline="low")
    assert (len(based.comparisons), len(based.pairs)) == (3, 6)
    assert {(row.a, row.b): row for row in every.pairs if row.a != "low"}.items() <= {(row.a, row.b): row for row in based.pairs}.items()
    assert set(based.comparisons) <= set(based.pairs)
    for name in based.behind:
        better, p = based.ahead_of(name)
        assert based.ranked.index(better) < based.ranked.index(name)
        assert p <= 0.05
    assert based.ahead_of(based.ranked[0]) is None


def test_ahead_of_a_configuration_is_the_better_one_with_the_smallest_corrected_p(values) -> None:
    for given in (values, dict(reversed(values.items()))):
        found = verdict("margin", given, CLUSTERS)
        for place, name in enumerate(found.ranked):
            rows = [(found.between(name, better).p_adjusted, better) for better in found.ranked[:place]]
            p, better = min(rows, default=(1, ""))
            assert found.ahead_of(name) == ((better, p) if p <= 0.05 else None)
    limit = tuple(replace(row, p_adjusted=0.05) for row in found.pairs)
    assert replace(found, pairs=limit).ahead_of("low") is not None


def test_a_verdict_prints_its_conclusion(values) -> None:
    found = verdict("margin", values, CLUSTERS)
    assert str(found) == "high wins by margin"
    assert repr(found) == "Verdict(high wins by margin)"
    page = found._repr_html_()
    assert "High wins by margin" in page
    assert "120 questions in 40 clusters, each the questions about one document." in page
    assert re.findall(r">(configuration|in the tie set)<", page) == ["configuration", "in the tie set"]
    cells = re.findall(r">(high|middle|other|low|yes|no)<", page)
    assert dict(zip(cells[::2], cells[1::2], strict=True)) == {"high": "yes", "middle": "no", "other": "no", "low": "no"}
    few = verdict("margin", {name: row[:20] for name, row in values.items()}, CLUSTERS[:20])
    assert str(few) == "no winner by margin: fewer than 30 questions"
    copied = verdict("margin", {"a": values["high"], "b": values["high"] + np.where(np.arange(120) % 2, 0.1, -0.1)}, CLUSTERS)
    assert str(copied) == f"no winner by margin: the tie set is {', '.join(copied.best)}"


def test_equal_configurations_are_ranked_in_the_given_order() -> None:
    values = np.random.default_rng(1).random(12)
    names = [f"{place}" for place in range(40)]
    assert verdict("m", {name: values + int(name) % 2 for name in names}, range(12)).ranked == (*names[1::2], *names[::2])
