"""Files that an experiment names and that change between the plan and the run: no result is stored under the key of another."""

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.asked_sweeps import AskedSweep, write_questions
from tests.judged_sweeps import JudgedSweep, judged_reply
from workbench.core.errors import InputError, RunError
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import context_of, run_experiment
from workbench.runner.experiment.read import experiment_of
from workbench.runner.pipeline.graph import Graph

OLD, NEW = "Question {question} of old {passages}", "Question {question} of new {passages}"


def echo(body: dict[str, Any]) -> dict[str, Any]:
    return {"text": "new" if " of new " in body["messages"][-1]["content"] else "old"}


@pytest.fixture
def prompt(asked_sweep: AskedSweep) -> Path:
    asked_sweep.provider.reply_to = echo
    path = asked_sweep.folder / "prompt.txt"
    path.write_text(OLD, "utf-8")
    return path


def answers(sweep: AskedSweep, prompt: Path) -> set[str]:
    outcome = sweep.run(answering={"prompt": str(prompt)})
    assert not outcome.failures
    return {*collect(outcome).answers["answer"]}


def planned(sweep: AskedSweep, prompt: Path) -> Callable[[], object]:
    experiment = sweep.experiment(answering={"prompt": str(prompt)})
    graph = Graph(context_of(experiment, sweep.outputs))
    graph.fingerprint(experiment.configurations[0])
    return lambda: graph.walk(experiment.configurations[0])


def test_a_prompt_that_changes_after_the_plan_gives_no_result_and_its_calls_are_not_made_again(
    asked_sweep: AskedSweep, prompt: Path
) -> None:
    run = planned(asked_sweep, prompt)
    prompt.write_text(NEW, "utf-8")
    with pytest.raises(
        RunError, match="a file or a model of the stage answers changed while it was used, and the result is not kept; run again"
    ):
        run()
    prompt.write_text(OLD, "utf-8")
    assert answers(asked_sweep, prompt) == {"old"}
    prompt.write_text(NEW, "utf-8")
    assert answers(asked_sweep, prompt) == {"new"}
    assert len(asked_sweep.provider.asked) == 24


def test_a_prompt_is_read_again_if_it_was_replaced_by_one_of_the_same_size_and_time(asked_sweep: AskedSweep, prompt: Path) -> None:
    assert answers(asked_sweep, prompt) == {"old"}
    before = prompt.stat()
    prompt.write_text(NEW, "utf-8")
    os.utime(prompt, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert answers(asked_sweep, prompt) == {"new"}


def test_code_that_is_edited_in_a_session_never_gives_the_results_of_the_code_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = Path("edited_search.py")
    module.write_text("def search(query, k):\n    return ['d0']\n", "utf-8")
    data = str(write_questions(tmp_path / "data", 6))
    settings = {"name": "mine", "dataset": {"kind": "golden", "path": data}, "metrics": ["recall@3"]}
    targets = [{"kind": "callable", "name": "mine", "function": "edited_search:search"}]
    experiment = replace(experiment_of(settings | {"targets": targets}, "here"), allow_code=True)

    def found() -> float:
        outcome = run_experiment(experiment, tmp_path / "outputs", lambda _: None)
        return collect(outcome).of("queries", "mine").query("metric == 'recall@3'")["value"].mean()

    assert found() == pytest.approx(2 / 6)
    module.write_text("def search(query, k):\n    return ['d0', 'd1', 'd2']\n", "utf-8")
    with pytest.raises(InputError, match=r"edited_search\.py was changed after it was imported"):
        found()
    importlib.invalidate_caches()
    importlib.reload(sys.modules["edited_search"])
    assert found() == pytest.approx(4 / 6)
    monkeypatch.delitem(sys.modules, "edited_search")


def test_a_prompt_of_a_judge_that_changes_while_it_judges_gives_no_verdicts(judged_sweep: JudgedSweep) -> None:
    def reply(body: dict[str, Any]) -> dict[str, Any]:
        if "lamp of room" in body["messages"][-1]["content"]:
            judged_sweep.prompt.write_text("Is it really?", "utf-8")
        return judged_reply(body)

    judged_sweep.provider.reply_to = reply
    outcome = run_experiment(experiment_of(judged_sweep.settings(), "here"), judged_sweep.outputs, lambda _: None)
    (failure,) = outcome.failures.values()
    assert failure.startswith("a file or a model of the stage verdicts changed while it was used, and the result is not kept")
    assert not list(judged_sweep.outputs.glob(".store/verdicts/*/entry.json"))


def test_documents_that_change_while_a_sweep_runs_are_those_that_were_read(asked_sweep: AskedSweep) -> None:
    document = asked_sweep.data / "documents" / "d0.md"
    text = document.read_text("utf-8")

    def reply(_: dict[str, Any]) -> dict[str, Any]:
        document.write_text(text + "\n\nOther words.", "utf-8")
        return {}

    asked_sweep.provider.reply_to = reply
    during = asked_sweep.tables()
    document.write_text(text, "utf-8")
    asked_sweep.provider.reply_to = lambda _: {}
    pd.testing.assert_frame_equal(asked_sweep.tables().answers, during.answers)
    assert len(asked_sweep.provider.asked) == 12
    document.write_text(text + "\n\nOther words.", "utf-8")
    assert not asked_sweep.run().failures
    assert len(asked_sweep.provider.asked) > 12
