"""The report comes from the store, and is made anew exactly where something that it shows differs."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.errors import StoreError
from workbench.execution.collect import collect
from workbench.execution.local import Outcome, run_experiment
from workbench.execution.outputs import publish_report
from workbench.report.render.html import write_report
from workbench.report.render.terminal import summary_lines
from workbench.results.run_tables import RunTables
from workbench.storage.result_store import MANIFEST, Store


@pytest.fixture
def publish(tmp_path: Path) -> Callable[[RunTables], tuple[Path, list[str]]]:
    """Publish the report of a run, with a store of its own for each test."""
    return lambda run: publish_report(run, tmp_path, Store(tmp_path / "store"))


@pytest.fixture
def reports(tmp_path: Path) -> Callable[[], dict[str, int]]:
    """List the reports in the store, with what would change if one were made again."""
    return lambda: {path.parent.name: path.stat().st_ino for path in tmp_path.glob(f"store/reports/*/{MANIFEST}")}


def test_a_second_time_page_and_lines_come_from_the_store(few: Outcome, publish: Callable, reports: Callable, tmp_path: Path) -> None:
    run = collect(few)
    path, lines = publish(run)
    stored = reports()
    assert len(stored) == 1
    assert path == tmp_path / "report.html"
    page = path.read_bytes()
    assert page == write_report(run, tmp_path / "other.html").read_bytes()
    assert list(lines) == summary_lines(run)
    path.unlink()
    assert publish(RunTables.read(few.folder)) == (path, lines)
    assert path.read_bytes() == page
    assert reports() == stored


def test_an_expected_answer_that_changed_is_shown(few: Outcome, publish: Callable, reports: Callable, tmp_path: Path) -> None:
    run = collect(few)
    publish(run)
    answered = run.questions.assign(answer="Nine euros, at the kiosk.")
    changed = replace(run, sources={**run.sources, "questions": lambda _: answered})
    path, _ = publish(changed)
    assert len(reports()) == 2
    assert path.read_bytes() == write_report(changed, tmp_path / "other.html").read_bytes()


def test_a_failure_that_says_something_else_is_shown(few: Outcome, publish: Callable) -> None:
    for message in ("it broke", "it broke otherwise"):
        path, lines = publish(collect(replace(few, failures={"broken": message})))
        assert f">{message}" in path.read_text("utf-8")
        assert any(line.endswith(message) for line in lines)


def test_a_recomputed_result_has_new_timings(few: Outcome, publish: Callable, reports: Callable, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    shutil.copytree(few.context.workspace.outputs, outputs)
    outcome = run_experiment(few.experiment, outputs, lambda _: None)
    publish(collect(outcome))
    publish(collect(run_experiment(few.experiment, outputs, lambda _: None)))
    assert len(reports()) == 1
    manifest = outcome.results[0].hits.folder / MANIFEST
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"seconds": 12.5}))
    publish(collect(run_experiment(few.experiment, outputs, lambda _: None)))
    assert len(reports()) == 2


def test_a_stored_report_that_was_damaged_is_an_error_and_not_shown(
    few: Outcome, publish: Callable, reports: Callable, tmp_path: Path
) -> None:
    run = collect(few)
    path, _ = publish(run)
    before = path.read_bytes()
    (key,) = reports()
    (tmp_path / "store" / "reports" / key / "report.html").write_text("<p>broken</p>")
    with pytest.raises(StoreError, match=r"is corrupt \(report\.html.*delete the folder"):
        publish(run)
    assert path.read_bytes() == before
