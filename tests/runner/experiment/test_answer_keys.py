"""The keys of an experiment that ask for answers, and their faults."""

from typing import Any

import pytest

from workbench.components.answering.extractive import ExtractiveGenerator
from workbench.core.errors import ExperimentError
from workbench.llm.session import CallLimits
from workbench.runner.experiment.read import ExperimentSpec, experiment_of

DATASET = {"kind": "golden", "path": "experiments/handbook"}
CHUNKING = [{"kind": "fixed", "size": [64, 128]}]


def read(**settings: Any) -> ExperimentSpec:
    return experiment_of({"name": "x", "dataset": DATASET, "sweep": {"chunking": CHUNKING}} | settings, "x.yaml")


def faults(**settings: Any) -> tuple[str, ...]:
    with pytest.raises(ExperimentError) as raised:
        read(**settings)
    return raised.value.faults


def test_an_experiment_that_does_not_ask_for_answers_has_none() -> None:
    spec = read()
    assert [(each.context, each.answering) for each in spec.configurations] == [(None, None)] * 2
    assert not any(metric.of_answers for metric in spec.metrics)


@pytest.mark.parametrize(
    "settings",
    [{"conditions": ["gold", "retrieved"]}, {"repeats": 2}, {"limits": {"calls": 9}}, {"pipeline": {"context": {"budget": 500}}}],
)
def test_any_key_of_answers_lets_the_extractive_generator_answer(settings: dict[str, Any]) -> None:
    spec = read(**settings)
    assert {each.answering for each in spec.configurations} == {ExtractiveGenerator()}
    assert [each.chunking.name for each in spec.configurations] == ["fixed-64-0", "fixed-128-0"]
    assert {"token_f1", "refusal_rate"} <= {metric.name for metric in spec.metrics}


def test_context_and_answering_are_axes_of_the_sweep() -> None:
    sweep = {
        "retrieval": [{"kind": "bm25"}],
        "context": [{"budget": [500, 1000]}, {"order": "ends"}],
        "answering": ["none", {"kind": "extractive", "sentences": [1, 2]}],
    }
    assert [each.name for each in read(sweep=sweep).configurations] == [
        "fixed-256-0-bm25-unanswered",
        "fixed-256-0-bm25-context500-sentences1",
        "fixed-256-0-bm25-context1000-sentences1",
        "fixed-256-0-bm25-ends-sentences1",
        "fixed-256-0-bm25-context500",
        "fixed-256-0-bm25-context1000",
        "fixed-256-0-bm25-ends",
    ]


def test_variants_are_conditions_times_perturbations_times_repeats() -> None:
    spec = read(conditions=["counterfactual", "gold", "retrieved"], repeats=2)
    assert [str(variant) for variant in spec.variants] == [
        "gold",
        "gold#1",
        "retrieved",
        "retrieved#1",
        "counterfactual/before",
        "counterfactual/before#1",
        "counterfactual/after",
        "counterfactual/after#1",
    ]


def test_limits_and_crossed_slices_are_read() -> None:
    spec = read(limits={"calls": 10, "tokens": 1000}, slices=[["type", "domain"]])
    assert spec.limits == CallLimits(10, 1000)
    assert spec.slices == (("type", "domain"),)


def test_a_wrong_value_is_one_line_with_its_fix(monkeypatch: pytest.MonkeyPatch, wording) -> None:
    monkeypatch.delenv("RAG_EVAL_PROVIDER", raising=False)
    wording(
        lambda settings: read(**settings),
        [
            {"conditions": ["gold"]},
            {"conditions": ["retrieved", "golden"]},
            {"conditions": 3},
            {"conditions": ["retrieved", "injection"]},
            {"repeats": 0},
            {"repeats": True},
            {"limits": 5},
            {"limits": {"calls": 0}},
            {"limits": {"dollars": 1}},
            {"slices": [["type"]]},
            {"metrics": ["recall@5", "token_f1"]},
            {"pipeline": {"answering": {"kind": "extractve"}}},
            {"pipeline": {"context": {"order": "best"}}},
            {"pipeline": {"answering": {"kind": "chat", "model": "x"}}, "metrics": ["recall@5", "token_f1"]},
            {"repeats": "2"},
            {"limits": {"usd": -1}},
            {"conditions": ["retrieved", "retrieved"]},
            {"conditions": []},
        ],
        ExperimentError,
    )
