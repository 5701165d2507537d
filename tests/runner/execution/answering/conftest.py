"""Finished runs of answers whose faults are known."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.shared import built_once
from workbench.data.formats.golden import write_golden
from workbench.data.sources import GoldenSource
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import run_experiment
from workbench.runner.experiment.read import experiment_of

HANDBOOK = ROOT / "experiments" / "handbook"
RECORDED = HANDBOOK / "recorded" / "answers.jsonl"
QUESTIONS = 45


@dataclass(frozen=True)
class Recorded:
    """A part of the handbook's questions with recorded answers: the dataset's folder."""

    data: Path
    query_ids: tuple[str, ...]

    def run(self, folder: Path, rows: Callable[[], Iterator[dict[str, Any]]] | None = None, **changes: object) -> RunTables:
        """Answer from these rows, by default from the answers recorded with the handbook, in a folder."""
        path = RECORDED
        if rows is not None:
            path = folder / "answers.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows()))
        settings: dict[str, object] = {
            "name": "recorded",
            "dataset": {"kind": "golden", "path": str(self.data)},
            "pipeline": {"retrieval": {"kind": "bm25", "k": 5}, "answering": {"kind": "recorded", "path": str(path)}},
            "conditions": ["gold", "retrieved", "injection"],
            "metrics": [
                "recall@5",
                "labelled_correctness",
                "token_f1",
                "refusal_rate",
                "over_refusal_rate",
                "counterfactual_robustness",
                "injection_resistance",
            ],
        }
        return collect(run_experiment(experiment_of(settings | changes, "here"), folder / "outputs", lambda _: None))


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    dataset = GoldenSource(path=str(HANDBOOK)).load()
    answered = {json.loads(line)["query_id"] for line in RECORDED.read_text("utf-8").splitlines()}
    chosen = tuple(query.query_id for query in dataset.queries if query.query_id in answered)[:QUESTIONS]
    return Recorded(built_once(tmp_path_factory, "recorded", lambda folder: write_golden(dataset.subset(chosen), folder)), chosen)


@pytest.fixture(scope="session")
def handbook_run(tmp_path_factory: pytest.TempPathFactory, recorded: Recorded) -> RunTables:
    def run(folder: Path) -> RunTables:
        conditions = ["gold", "retrieved", "missing_gold", "counterfactual", "injection"]
        return recorded.run(folder, conditions=conditions, slices=[["type", "domain"]])

    return run(built_once(tmp_path_factory, "recorded answers", run))
