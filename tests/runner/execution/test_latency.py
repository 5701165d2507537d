"""Latencies are measured together, in rounds of random order, and stored."""

from pathlib import Path

import pytest

from tests.made_runs import Made
from workbench.core.text.progress import sweep_progress
from workbench.runner.execution.collect import collect
from workbench.runner.execution.latency import ROUNDS, is_measured, latencies_of, latency_key, measure
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.plan import plan_experiment
from workbench.runner.experiment.read import experiment_of
from workbench.runner.pipeline.stage_results import StageResults

STEPS = ("question", "exact")


@pytest.fixture(autouse=True)
def _one_timed_question() -> None:
    """Time as many questions as a sweep does."""


@pytest.fixture(scope="module")
def outcome(made: Made) -> Outcome:
    return made.ran(3, name="timed")


def visited(monkeypatch: pytest.MonkeyPatch, failing: str = "") -> list[str]:
    """The names of the configurations whose index is opened, in order."""
    from workbench.runner.execution import latency

    names, opened = [], latency.corpus_of

    def noted(results: StageResults) -> object:
        name = results.configuration.name
        names.append(name)
        if name == failing:
            raise OSError("the disk is gone")
        return opened(results)

    monkeypatch.setattr(latency, "corpus_of", noted)
    return names


def test_configurations_are_visited_in_rounds_of_random_order_after_a_warm_up(outcome: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    names = visited(monkeypatch)
    measure(outcome.graph, outcome.results)
    rounds = [names[start : start + 3] for start in range(0, len(names), 3)]
    assert len(rounds) == ROUNDS + 1
    assert all(set(each) == {result.configuration.name for result in outcome.results} for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1


def test_a_sweep_shows_how_many_of_the_visits_are_done(outcome: Outcome) -> None:
    seen = []
    with sweep_progress("timed") as progress:
        progress.changed = lambda _: seen.append((progress.item.done, progress.line()))
        measure(outcome.graph, outcome.results)
    visits = 3 * (ROUNDS + 1)
    assert [done for done, _ in seen] == list(range(visits + 1))
    assert f"latencies {visits}/{visits} visits" in seen[-1][1]


def test_every_step_has_its_range_over_the_rounds_and_a_cold_start(outcome: Outcome) -> None:
    for result in outcome.results:
        latencies = outcome.latencies[result.configuration.name]
        assert latencies["latency_questions"] >= 1
        for name in (*(f"latency_{step}_{part}" for step in STEPS for part in ("p50", "p95")), "latency_cold"):
            assert 0 < latencies[f"{name}_low"] <= latencies[name] <= latencies[f"{name}_high"]
        assert latencies["latency_cold"] > latencies["latency_exact_p50"]
    assert {"latency_cold", "latency_question_p50"} <= set(collect(outcome).timings["name"])


@pytest.mark.slow
def test_a_reranker_is_a_step_of_the_question(made: Made) -> None:
    sweep = {"rerank": ["none", {"kind": "mmr", "pool": 5}, {"kind": "mmr", "pool": 6}]}
    outcome = made.ran(2, name="reranked", sweep=sweep)
    plain, times, deeper = (outcome.latencies[result.configuration.name] for result in outcome.results)
    assert "latency_rerank_p50" not in plain
    assert times["latency_question_p50_high"] >= times["latency_rerank_p50_low"] + times["latency_exact_p50_low"]
    # A round embeds a question once for both.
    assert times["latency_embed_p50"] == deeper["latency_embed_p50"]


def test_nothing_is_measured_again_unless_a_configuration_changed(outcome: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    names = visited(monkeypatch)
    again = latencies_of(outcome.graph, outcome.results, print)
    assert names == []
    assert again == outcome.latencies
    # In an order in which no other test runs them.
    fewer = [outcome.results[2].configuration, outcome.results[0].configuration]
    assert is_measured(outcome.graph, [result.configuration for result in outcome.results])
    assert not is_measured(outcome.graph, fewer)


def test_a_new_metric_changes_no_latency(made: Made, outcome: Outcome) -> None:
    other = made.ran(3, name="timed", metrics=["span_recall@60t", "recall@3", "irrelevant@3", "precision@3"])
    keys = [latency_key(each.graph, [result.configuration for result in each.results]) for each in (outcome, other)]
    assert keys[0] == keys[1]


def test_a_configuration_that_cannot_be_timed_is_named_and_keeps_its_results(outcome: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = outcome.results[1].configuration.name
    visited(monkeypatch, failing)
    measured, failures = measure(outcome.graph, outcome.results)
    assert set(measured) == {result.configuration.name for result in outcome.results} - {failing}
    assert list(failures) == [failing]
    assert "the disk is gone" in failures[failing]


def test_a_question_slower_than_a_visit_is_the_only_one(outcome: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.runner.execution.latency.SLOWEST_VISIT", 0.0)
    measured, _ = measure(outcome.graph, outcome.results)
    assert {times["latency_questions"] for times in measured.values()} == {1.0}


def test_all_configurations_time_the_same_questions_in_all_rounds_except_very_slow_ones(
    outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workbench.runner.execution import latency

    monkeypatch.setattr(latency, "FEWEST", 2)
    limits, visit = iter([10.0, 10.0, 10.0, 10.0, 0.0, 10.0]), latency._visit

    def limited(inputs: object, count: int | None, embedded: latency.Embedded) -> latency.Visit:
        # The second configuration of the first round stops after the fewest questions.
        monkeypatch.setattr(latency, "LONGEST_VISIT", next(limits, 0.0))
        return visit(inputs, count, embedded)

    monkeypatch.setattr(latency, "_visit", limited)
    measured, failures = measure(outcome.graph, outcome.results)
    assert not failures
    assert {times["latency_questions"] for times in measured.values()} == {2.0}
    assert latency._counts({"a": 50, "b": 12, "c": 1}, 100) == {"a": 12, "b": 12, "c": 1}
    assert latency._counts({"a": 3, "b": 3}, 3) == {"a": 3, "b": 3}


def test_a_configuration_that_takes_too_long_has_two_rounds(outcome: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.runner.execution.latency.BUDGET", 0.0)
    names = visited(monkeypatch)
    measured, _ = measure(outcome.graph, outcome.results)
    assert len(names) == 3 * len(outcome.results)
    assert all("latency_cold_low" in times for times in measured.values())


def test_the_plan_counts_latencies_that_are_not_measured(made: Made, tmp_path: Path) -> None:
    experiment = experiment_of(made.experiment(2, name="planned"), "here")
    before = plan_experiment(experiment, tmp_path)
    assert "Less than a minute: 0 new tokens to embed; latencies of 2 configurations to measure" in str(before)
    run_experiment(experiment, tmp_path, lambda _: None)
    after = plan_experiment(experiment, tmp_path)
    assert "latencies" not in str(after)
    assert after.minutes_high < before.minutes_high
