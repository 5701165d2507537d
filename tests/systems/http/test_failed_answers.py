"""An answer that a service fails to give in a sweep is missing, and the next sweep asks for it again."""

import json
from pathlib import Path

from tests.asked_sweeps import write_questions
from tests.systems.http.service import Service
from tests.systems.http.sessions import ANSWER, SEARCH
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.missing import missing_answers
from workbench.runner.experiment.read import experiment_of


def test_a_failed_answer_is_missing_instead_of_one_with_the_sources_of_the_search(service: Service, tmp_path: Path) -> None:
    service.replies = {"/search": {"results": [{"doc_id": "d0"}, {"doc_id": "d1"}]}, "/answer": {"answer": "At noon.", "sources": ["d2"]}}
    search = SEARCH | {"reply": {"hits": "$.results", "id": "doc_id"}}
    answer = ANSWER | {"reply": {"text": "$.answer", "sources": {"hits": "$.sources", "id": "$"}}}
    target = {"kind": "http", "name": "theirs", "url": service.host, "concurrency": 1, "search": search, "answer": answer}
    settings = {"name": "theirs", "targets": [target], "judging": "none", "metrics": ["recall@3", "answer_recall"]}
    settings["dataset"] = {"kind": "golden", "path": str(write_questions(tmp_path / "data", 3))}

    def run() -> tuple[list[list[str]], list[str]]:
        outcome = run_experiment(experiment_of(settings, "here"), tmp_path / "outputs", lambda _: None)
        assert not outcome.failures
        tables = collect(outcome)
        rows = tables.answers[tables.answers["error"] == ""]["passages"]
        return [[passage["doc_id"] for passage in json.loads(row)] for row in rows], missing_answers(tables)

    # Three searches, then the first answer.
    service.faults = [{}, {}, {}, {"status": 400}]
    sources, lines = run()
    assert sources == [["d2"], ["d2"]]
    assert len(lines) == 1
    assert lines[0].startswith("1 of 3 answers are missing and not scored (1 × POST ")
    assert lines[0].endswith("run again to ask only for these")
    assert run() == ([["d2"]] * 3, [])
    assert len(service.requests) == 7
