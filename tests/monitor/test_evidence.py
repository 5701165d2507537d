"""What the checklist reads of a real log and of a real pass over it."""

import json
from pathlib import Path

import pytest

import workbench as wb
from tests.monitor.log_lines import write_segment
from tests.monitor.test_passes import SETTINGS, rows
from tests.monitor.traces.conftest import request, span
from workbench.core.errors import InputError
from workbench.monitor.passes import alert_evidence, log_evidence, monitor

WHOLE = {"embedding_seconds": 0.01, "retrieval_seconds": 0.02, "generation_seconds": 1.0, "configuration": "c"}
HITS = [{"doc_id": "a", "score": 0.5, "text": "x"}, {"doc_id": "b", "score": 0.25, "text": "y"}]


def test_a_log_says_which_fields_its_questions_lack(tmp_path: Path) -> None:
    log = wb.QueryLog(tmp_path / "logs")
    first = log.record("a question", HITS, "an answer", **WHOLE)
    log.record("nothing is found", [], "no answer", **WHOLE)
    log.record("it fails", error="out of memory")
    log.feedback(first, "thumb", 1)
    log.close()
    found = log_evidence(tmp_path / "logs")
    assert (found.questions, found.feedback, found.left_out) == (3, 1, [])
    # Nobody knows which configuration failed.
    assert found.lacking == {"configuration or versions": 1}
    log = wb.QueryLog(tmp_path / "logs", versions={"index": "2"})
    log.record("no score", [HITS[0], {"doc_id": "b"}], "an answer", embedding_seconds=0.1, retrieval_seconds=0.1)
    log.record("no id, no answer", [{"text": "x", "score": 0.5}], **WHOLE)
    log.record("hits are unknown", answer="an answer", **WHOLE)
    log.close()
    assert log_evidence(tmp_path / "logs").lacking == {
        "hits": 1,
        "hits.doc_id": 1,
        "hits.score": 1,
        "answer": 1,
        "generation_seconds": 1,
        "configuration or versions": 1,
    }


def test_lines_that_are_no_questions_are_counted_and_not_believed(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('[1]\n{\n{"query": "no id"}\n', "utf-8")
    found = log_evidence(tmp_path)
    assert found.questions == 0
    assert [line.partition(" (")[0] for line in found.left_out] == [
        "1 left out: line that is not an object",
        "1 left out: line that is not JSON",
        "1 left out: no id",
    ]
    with pytest.raises(InputError, match="no_log"):
        log_evidence(tmp_path / "no_log")


def test_traces_take_the_place_of_a_log_whatever_their_file(tmp_path: Path) -> None:
    trace = request(span(0, None, {"openinference.span.kind": "CHAIN", "input.value": "fee?", "output.value": "9"}))
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "export.json").write_text(json.dumps(trace), "utf-8")
    found = log_evidence(tmp_path / "traces")
    assert found.questions == 1
    assert found.lacking.keys() >= {"hits", "generation_seconds"}
    assert "answer" not in found.lacking


@pytest.mark.slow
def test_a_pass_says_which_alerts_were_tested_and_raised(tmp_path: Path) -> None:
    write_segment(tmp_path / "log" / "a.jsonl", rows(0, 14))
    made = monitor(tmp_path / "log", tmp_path / "out" / "monitoring", SETTINGS)
    found = alert_evidence(tmp_path / "out" / "monitoring")
    tested = {one.alert: one for one in made.watch.tested}
    assert tested["faithfulness"].observations > 0
    # Its judge is a score, which is no faithfulness.
    assert found.observations == {name: one.observations for name, one in tested.items() if name != "faithfulness"}
    assert found.observations["lost_results"] > 0
    assert found.limits["no_results"] == tested["no_results"].limit
    assert found.raised == {"no_results": 1, "lost_results": 1}
    with pytest.raises(InputError, match="has no results of workbench monitor"):
        alert_evidence(tmp_path / "log")
