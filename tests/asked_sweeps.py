"""Small sweeps that ask a chat model on the loopback interface."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.chat_provider import ChatProvider
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.experiment.read import ExperimentSpec, experiment_of

METRICS = ["recall@3", "answer_recall", "refusal_rate", "over_refusal_rate"]


# The configuration of an asked sweep.
NAMED = "fixed-32-0-bm25-k5-context300-chat-max_tokens64-openai-words"


def fact(number: int) -> str:
    """The sentence that answers a question."""
    return f"The lamp of room {number} is switched at {number} past noon."


def question(number: int) -> str:
    return f"When is the lamp of room {number} switched?"


def write_questions(folder: Path, count: int, answers: bool = True, evidence: bool = True, unanswerable: int = 0) -> Path:
    """Write a golden dataset with this many answerable questions about one document of five."""
    (folder / "documents").mkdir(parents=True)
    rows: list[dict[str, Any]] = []
    for number in range(count):
        doc_id = f"d{number % 5}"
        text = " ".join(fact(other) for other in range(count) if other % 5 == number % 5)
        (folder / "documents" / f"{doc_id}.md").write_text(text, "utf-8")
        start = text.index(fact(number))
        row = {"query_id": f"q{number}", "query": question(number), "relevant_doc_ids": [doc_id]}
        row |= {"answer": f"{number} past noon"} if answers else {}
        rows.append(row | ({"evidence": [[{"doc_id": doc_id, "start": start, "end": start + len(fact(number))}]]} if evidence else {}))
    rows += [{"query_id": f"u{number}", "query": f"Who lives in room {number}?", "answerable": False} for number in range(unanswerable)]
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


@dataclass(frozen=True)
class AskedSweep:
    """A sweep of BM25 and a chat model on 12 questions, in a folder of its own. Its generator tries each call once."""

    folder: Path
    provider: ChatProvider

    @property
    def outputs(self) -> Path:
        return self.folder / "outputs"

    @property
    def data(self) -> Path:
        path = self.folder / "data"
        return path if path.exists() else write_questions(path, 12)

    def generator(self, **changes: Any) -> dict[str, Any]:
        address = {"provider": "openai", "model": "words", "base_url": f"{self.provider.host}/v1"}
        return {"kind": "chat", **address, "retries": 0, "timeout": 5, "max_tokens": 64} | changes

    def settings(self, answering: dict[str, Any] | None = None, context: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
        """The settings of the experiment; those of `answering` and `context` change the usual ones."""
        pipeline = {
            "chunking": {"kind": "fixed", "size": 32, "overlap": 0},
            "retrieval": {"kind": "bm25", "k": 5},
            "context": {"budget": 300} | (context or {}),
            "answering": self.generator(**(answering or {})),
        }
        dataset = {"kind": "golden", "path": str(changes.pop("data", None) or self.data)}
        # Judges are tested by themselves: by default they embed texts.
        return {"name": "asked", "dataset": dataset, "pipeline": pipeline, "metrics": METRICS, "judging": "none"} | changes

    def experiment(self, **changes: Any) -> ExperimentSpec:
        return experiment_of(self.settings(**changes), "here")

    def run(self, **changes: Any) -> Outcome:
        """Run the experiment with changes."""
        return run_experiment(self.experiment(**changes), self.outputs, lambda _: None)

    def tables(self, **changes: Any) -> RunTables:
        """Run the experiment, in which no configuration fails."""
        outcome = self.run(**changes)
        assert not outcome.failures, outcome.failures
        return collect(outcome)

    def write(self, **changes: Any) -> Path:
        """Write the experiment file."""
        path = self.folder / "asked.yaml"
        path.write_text(json.dumps(self.settings(**changes)), "utf-8")
        return path


@pytest.fixture
def asked_sweep(tmp_path: Path, new_provider: Callable[[], ChatProvider]) -> AskedSweep:
    return AskedSweep(tmp_path, new_provider())
