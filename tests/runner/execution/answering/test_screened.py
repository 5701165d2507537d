"""Screening before a sweep with answers."""

from tests.asked_sweeps import AskedSweep, write_questions
from workbench.runner.execution.screening import screen
from workbench.runner.experiment.read import ExperimentSpec


def screened(asked: AskedSweep, metrics: list[str], said: list[str]) -> ExperimentSpec:
    data = write_questions(asked.folder / "more", 30)
    sweep = {"chunking": [{"kind": "fixed", "size": [16, 32, 64], "overlap": 0}]}
    return screen(asked.experiment(data=data, sweep=sweep, metrics=metrics), asked.outputs, said.append, 30)


def test_screening_by_a_metric_of_rankings_asks_no_model(asked_sweep: AskedSweep) -> None:
    spec = screened(asked_sweep, ["recall@3", "answer_recall"], said := [])
    assert spec.screening is not None
    assert spec.configurations
    assert all(configuration.answering for configuration in spec.configurations)
    assert not any("answers" in line for line in said)
    assert asked_sweep.provider.asked == []


def test_a_metric_of_answers_screens_nothing_out(asked_sweep: AskedSweep) -> None:
    spec = screened(asked_sweep, ["answer_recall"], said := [])
    assert spec.screening is None
    assert said == [
        "nothing is screened out: the primary metric is of answers, and a proxy answers no question; set primary to a metric of rankings"
    ]
    assert asked_sweep.provider.asked == []
