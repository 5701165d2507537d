"""Small sweeps of recorded answers that a chat model on the loopback interface judges."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.asked_sweeps import fact, write_questions
from tests.chat_provider import ChatProvider
from workbench.components.judging.self_test import faithfulness_cases, relevance_cases
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.experiment.read import experiment_of

QUESTIONS = 6
METRICS = ["recall@3", "faithfulness", "contradiction_rate", "context_relevance", "context_precision_judged@2"]
METRICS += ["answer_relevance", "answer_correctness", "support_overlap", "end_to_end"]
# What the judge says of the two claims of an answer.
TRUE, FALSE = "0.9 supported", "0.1 absent"
# The right replies to the known answers.
KNOWN = {("support", case.context, case.answer): TRUE if case.min_score is not None else FALSE for case in faithfulness_cases()}
KNOWN |= {("context_relevance", case.context, case.query): "0.9" if case.min_score is not None else "0.1" for case in relevance_cases()}


@dataclass(frozen=True)
class JudgedSweep:
    """A sweep of BM25 on 6 questions, whose recorded answers have a true and a false claim each, in a folder of its own."""

    folder: Path
    provider: ChatProvider

    @property
    def outputs(self) -> Path:
        return self.folder / "outputs"

    @property
    def prompt(self) -> Path:
        """The file with the prompt of the judge of claims."""
        return self.folder / "support.txt"

    def judge(self, **changes: Any) -> dict[str, Any]:
        return {"kind": "number", "base_url": f"{self.provider.host}/v1"} | changes

    def settings(self, judging: dict[str, Any] | str | None = None, **changes: Any) -> dict[str, Any]:
        """The settings of the experiment; those of `judging` change the usual ones."""
        judges = {key: self.judge() for key in ("relevance", "correctness")}
        judges["support"] = self.judge(prompt=str(self.prompt))
        pipeline = {
            "chunking": {"kind": "fixed", "size": 32, "overlap": 0},
            "retrieval": {"kind": "bm25", "k": 2},
            "answering": {"kind": "recorded", "path": str(self.folder / "answers.jsonl")},
        }
        base = {"name": "judged", "dataset": {"kind": "golden", "path": str(self.folder / "data")}, "pipeline": pipeline}
        return (
            base
            | {
                "metrics": METRICS,
                "conditions": ["gold", "retrieved"],
                "judging": judging if isinstance(judging, str) else judges | (judging or {}),
            }
            | changes
        )

    def run(self, **changes: Any) -> Outcome:
        """Run the experiment with changes, in which no configuration fails."""
        outcome = run_experiment(experiment_of(self.settings(**changes), "here"), self.outputs, lambda _: None)
        assert not outcome.failures, outcome.failures
        return outcome

    def tables(self, **changes: Any) -> RunTables:
        return collect(self.run(**changes))

    def write(self, **changes: Any) -> Path:
        """Write the experiment file."""
        path = self.folder / "judged.yaml"
        path.write_text(json.dumps(self.settings(**changes)), "utf-8")
        return path


def judged_reply(body: dict[str, Any]) -> dict[str, Any]:
    """Support only what a fact says and what is known to be true, and find every passage and answer of the run relevant."""
    context, _, line = body["messages"][-1]["content"].rpartition("\n")
    task, question, subject, _ = line.split(" | ")
    if known := KNOWN.get((task, context, question or subject)):
        return {"text": known}
    return {"text": (FALSE if "green" in subject else TRUE) if task == "support" else "0.8"}


def about_the_run(provider: ChatProvider) -> list[str]:
    """Return the prompts that are not of the judges' test on known answers."""
    return [prompt for prompt in provider.prompts() if "lamp of room" in prompt]


@pytest.fixture
def judged_sweep(tmp_path: Path, new_provider: Callable[[], ChatProvider]) -> JudgedSweep:
    """Recorded answers of two conditions, of which question 5 is refused where it was retrieved."""
    write_questions(tmp_path / "data", QUESTIONS)
    sweep = JudgedSweep(tmp_path, new_provider())
    sweep.prompt.write_text("Is the claim supported?", "utf-8")
    sweep.provider.reply_to = judged_reply
    rows = [
        {
            "query_id": f"q{number}",
            "condition": condition,
            "answer": f"{fact(number)} The lamp of room {number} is green.",
            "refused": False,
        }
        for number in range(QUESTIONS)
        for condition in ("gold", "retrieved")
    ]
    rows[-1] |= {"answer": "I do not know.", "refused": True}
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return sweep
