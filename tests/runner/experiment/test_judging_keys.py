"""The key `judging` of an experiment: the judges of a run, and their faults."""

from pathlib import Path

import pytest

import workbench as wb
from tests.runner.experiment.test_answer_keys import DATASET, faults, read
from workbench.components.judging.overlap import OverlapJudge
from workbench.components.judging.sentence_splitter import SentenceSplitter
from workbench.components.judging.settings import EndToEndThresholds, Judging
from workbench.core.errors import ExperimentError
from workbench.runner.experiment.read import read_experiment

ANSWERED = {"pipeline": {"answering": {"kind": "extractive"}}}
USUAL = Judging(claims=SentenceSplitter(), support=OverlapJudge(), relevance=OverlapJudge(), correctness=OverlapJudge())
DEFAULTS = ["support_overlap", "answer_correctness", "context_relevance", "answer_relevance"]


def test_answers_are_judged_by_overlap_unless_the_experiment_says_otherwise() -> None:
    spec = read(**ANSWERED)
    assert spec.judging == USUAL
    assert [str(metric) for metric in spec.metrics if metric.judged] == DEFAULTS
    assert read(**ANSWERED, judging={}).judging == USUAL


def test_rankings_alone_have_no_judges() -> None:
    spec = read()
    assert spec.judging is None
    assert not any(metric.judged for metric in spec.metrics)


@pytest.mark.parametrize("off", ["none", None])
def test_judging_none_leaves_answers_without_judges(off: str | None) -> None:
    spec = read(**ANSWERED, judging=off)
    assert spec.judging is None
    assert not any(metric.judged for metric in spec.metrics)


def test_conditions_and_thresholds_are_those_of_the_file() -> None:
    judging = {"conditions": ["gold"], "thresholds": {"faithfulness": 1, "characters": 9}}
    made = read(**ANSWERED, conditions=["gold", "retrieved"], judging=judging).judging
    assert made is not None
    assert made.conditions == ("gold",)
    assert made.thresholds == EndToEndThresholds(faithfulness=1, characters=9)


def test_each_fault_is_one_line_that_names_the_key(wording) -> None:
    wording(
        lambda judging: read(**ANSWERED, judging=judging),
        [
            {"suport": {"kind": "overlap"}},
            {"support": {"kind": "overlop"}},
            {"support": {"kind": "overlap", "model": "x"}},
            {"support": {"size": 3}},
            {"support": "overlap"},
            {"claims": {"kind": "words"}},
            {"rubric": {"kind": "overlap"}},
            {"conditions": ["golden"]},
            {"conditions": 3},
            {"thresholds": {"faithful": 1}},
            {"thresholds": {"faithfulness": 85}},
            {"thresholds": {"faithfulness": True}},
            {"thresholds": 0.5},
            ["overlap"],
        ],
        ExperimentError,
    )


def test_judging_without_answers_is_a_fault() -> None:
    assert faults(judging={"conditions": ["retrieved"]}) == ("judging judges answers, and nothing is answered; add answering",)


def test_a_faulty_generator_is_no_missing_one() -> None:
    lines = faults(pipeline={"answering": {"kind": "extractiv"}}, judging={"support": {"kind": "overlap"}}, metrics=["answer_relevance"])
    assert [line.partition(" has")[0] for line in lines] == ["answering"]


def test_a_metric_that_no_judge_gives_a_value_is_a_fault() -> None:
    assert faults(**ANSWERED, metrics=["recall@5", "rubric"]) == ("metric rubric needs a judge; add judging.rubric",)
    assert faults(**ANSWERED, judging="none", metrics=["answer_relevance"]) == (
        "metric answer_relevance is judged, and judging is none; remove judging: none",
    )
    assert faults(metrics=["recall@5", "faithfulness"]) == ("metric faithfulness is of answers, and nothing is answered; add answering",)


def test_verdicts_decide_only_where_a_judge_gives_them() -> None:
    fix = "use another judge, or support_overlap"
    assert faults(**ANSWERED, metrics=["faithfulness"]) == (
        f"the primary metric faithfulness counts verdicts, and judging.support 'overlap' is a score, not a judge; {fix}",
    )
    assert str(read(**ANSWERED, metrics=["recall@5", "faithfulness"]).metrics[1]) == "faithfulness"


def test_a_setting_of_a_judge_can_be_given_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("name: x\ndataset: {kind: golden, path: experiments/handbook}\npipeline: {answering: {kind: extractive}}\n")
    spec = read_experiment(path, ["judging.support.kind=overlap", "judging.thresholds.characters=9"])
    assert spec.judging == USUAL.model_copy(update={"thresholds": EndToEndThresholds(characters=9)})


def test_judges_made_in_python_are_those_of_a_file(tmp_path: Path) -> None:
    chosen = Judging(
        claims=SentenceSplitter(),
        support=OverlapJudge(),
        relevance=OverlapJudge(),
        correctness=OverlapJudge(),
        conditions=("retrieved",),
        thresholds=EndToEndThresholds(characters=9),
    )
    for judging in (chosen, {"support": OverlapJudge(), "conditions": ("retrieved",), "thresholds": {"characters": 9}}):
        experiment = wb.Experiment("x", DATASET, pipeline={"answering": wb.ExtractiveGenerator()}, judging=judging)
        assert read_experiment(experiment.to_yaml(tmp_path / "x.yaml")).judging == chosen
