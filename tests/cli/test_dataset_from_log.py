"""The command `dataset from-log`: questions of users that add most, as a dataset for the labeller."""

import json
from pathlib import Path

import pandas as pd

from tests.commands import workbench
from tests.monitor.production_traffic import HANDBOOK
from workbench.data.checks import faults
from workbench.data.sources import GoldenSource, recognise

ROWS = [
    {"id": "a", "time": "2026-11-02T08:00:00Z", "query": "Who feeds the seals of Inish?", "user": "ann", "session": "s-ann", "hits": []},
    {"id": "b", "time": "2026-11-02T08:01:00Z", "query": "who feeds the seals of inish", "user": "bob", "session": "s-bob", "hits": []},
]


def log(folder: Path, *more: dict[str, object]) -> Path:
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in (*ROWS, *more)))
    return folder / "log.jsonl"


def test_questions_of_a_log_become_a_dataset_without_users(tmp_path: Path) -> None:
    known = {"id": "c", "time": "2026-11-02T08:02:00Z", "query": next(iter(GoldenSource(path=str(HANDBOOK)).load().queries)).text.upper()}
    done = workbench("dataset", "from-log", log(tmp_path, known), "--dataset", HANDBOOK, "--take", 5, "--to", tmp_path / "more")
    assert done.returncode == 0, done.stderr
    assert "no result (2 of 2)" in done.stdout
    assert "1 question to label; 1 logged questions are in the dataset already, 0 were not compared" in done.stdout
    written = (tmp_path / "more" / "questions.jsonl").read_text()
    (row,) = map(json.loads, written.splitlines())
    assert (row["query"], row["source"], row["stands_for"]) == ("Who feeds the seals of Inish?", "production", 2)
    assert "ann" not in written
    assert len(GoldenSource(path=str(tmp_path / "more")).load(unlabelled=True).queries) == 1
    (fault,) = faults(recognise(str(tmp_path / "more"), None).read())
    assert fault.endswith("is not marked unanswerable; label one, or set answerable: false")


def test_what_a_log_lacks_is_counted(tmp_path: Path) -> None:
    path = log(tmp_path, ROWS[0])
    path.write_text(path.read_text() + "{")
    done = workbench("dataset", "from-log", path, "--dataset", HANDBOOK, "--take", 5, "--to", tmp_path / "more")
    assert done.returncode == 0, done.stderr
    assert "1 left out: duplicate id" in done.stdout
    assert "1 left out: unfinished last line" in done.stdout


def test_questions_that_a_monitor_judged_bad_are_taken_first(tmp_path: Path) -> None:
    more = {"id": "c", "time": "2026-11-02T08:02:00Z", "query": "Where does the diver keep her lamp?", "hits": []}
    bad = {"id": "c", "metric": "support_overlap", "value": 0.1, "approved": 0.0, "state": "scored", "reason": "", "judge": "overlap"}
    pd.DataFrame([bad]).to_parquet(tmp_path / "evaluations.parquet")
    to = ("--dataset", HANDBOOK, "--take", 5, "--to", tmp_path / "more")
    done = workbench("dataset", "from-log", log(tmp_path, more), *to, "--monitoring", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "diver keep her lamp?: no result (1 of 1); judged bad (1 of 1)" in done.stdout
    (tmp_path / "evaluations.parquet").write_text("no table")
    for folder in (tmp_path, tmp_path / "none"):
        done = workbench("dataset", "from-log", tmp_path / "log.jsonl", *to, "--monitoring", folder)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert "has no table evaluations.parquet that can be read" in done.stderr


def test_a_log_that_is_none_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("{")
    done = workbench("dataset", "from-log", tmp_path / "log.jsonl", "--dataset", HANDBOOK, "--take", 5, "--to", tmp_path / "more")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "more").exists()
