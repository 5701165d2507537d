"""Sweeps on Dask workers whose calls fail: each call is made once, and the tables are those of one process."""

import functools
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.asked_sweeps import AskedSweep, question, write_questions
from tests.judged_sweeps import JudgedSweep
from tests.systems.http.service import Service
from tests.systems.http.sessions import ANSWER, SEARCH
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.execution.dask_sweep import precompute
from workbench.runner.execution.local import run_experiment
from workbench.runner.experiment.read import experiment_of

pytestmark = pytest.mark.slow


def swept(settings: dict[str, Any], outputs: Path, jobs: int | None = None) -> RunTables:
    experiment = experiment_of(settings, "here")
    outcome = run_experiment(experiment, outputs, lambda _: None, functools.partial(precompute, jobs=jobs) if jobs else None)
    assert not outcome.failures
    return collect(outcome)


def same(found: RunTables, expected: RunTables) -> None:
    for name in ("answers", "queries", "metrics", "hits"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(expected, name))


def test_a_failed_call_of_a_model_is_made_once(asked_sweep: AskedSweep) -> None:
    provider = asked_sweep.provider
    provider.faults_of = {question(number): {"status": 500} for number in range(3)}
    expected = asked_sweep.tables()
    assert len(provider.asked) == 12
    found = swept(asked_sweep.settings(), asked_sweep.folder / "workers", jobs=1)
    assert len(provider.asked) == 24
    same(found, expected)
    provider.faults_of.clear()
    assert (swept(asked_sweep.settings(), asked_sweep.folder / "workers", jobs=1).answers["error"] == "").all()
    assert len(provider.asked) == 27


def test_a_failed_call_of_a_judge_is_made_once(judged_sweep: JudgedSweep) -> None:
    provider = judged_sweep.provider
    provider.faults_of = {f"lamp of room {number}": {"status": 400} for number in range(2)}
    expected = swept(judged_sweep.settings(), judged_sweep.folder / "alone")
    alone = len(provider.asked)
    found = swept(judged_sweep.settings(), judged_sweep.folder / "workers", jobs=1)
    assert len(provider.asked) == 2 * alone
    same(found, expected)


def test_a_failed_request_of_a_target_is_made_once_and_no_worker_makes_it(service: Service, tmp_path: Path) -> None:
    service.replies = {"/search": {"results": [{"doc_id": "d0"}, {"doc_id": "d1"}]}, "/answer": {"answer": "At noon.", "sources": ["d2"]}}
    search = SEARCH | {"reply": {"hits": "$.results", "id": "doc_id"}}
    answer = ANSWER | {"reply": {"text": "$.answer", "sources": {"hits": "$.sources", "id": "$"}}}
    target = {"kind": "http", "name": "theirs", "url": service.host, "concurrency": 1, "search": search, "answer": answer}
    settings = {"name": "theirs", "targets": [target], "judging": "none", "metrics": ["recall@3", "answer_recall"]}
    settings["dataset"] = {"kind": "golden", "path": str(write_questions(tmp_path / "data", 3))}
    tables = []
    for name, jobs in (("alone", None), ("workers", 1)):
        # Three searches, of which the second fails, then three answers, of which the first fails.
        service.requests.clear()
        service.faults = [{}, {"status": 400}, {}, {"status": 400}]
        tables.append(swept(settings, tmp_path / name, jobs))
        assert len(service.requests) == 6
    same(*tables)
