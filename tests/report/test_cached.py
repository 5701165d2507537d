"""The report is made anew exactly where something that it shows differs."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.execution.local import Outcome, run_experiment
from workbench.report.cached import kept_report
from workbench.report.render.html import write_report
from workbench.report.render.terminal import summary_lines
from workbench.storage.result_store import MANIFEST


def reports(outcome: Outcome) -> dict[str, int]:
    """The reports in the store, with what would change if one were made again."""
    folder = outcome.bench.workplace.store.root / "reports"
    return {path.parent.name: path.stat().st_ino for path in folder.glob(f"*/{MANIFEST}")}


@pytest.fixture
def outcome(shown, tmp_path) -> Outcome:
    """The run in an outputs folder of its own."""
    theirs = shown.outcome
    shutil.copytree(theirs.bench.workplace.outputs, tmp_path / "outputs")
    return run_experiment(theirs.experiment, tmp_path / "outputs", lambda _: None)


def with_bench(outcome: Outcome, **changes: object) -> Outcome:
    bench = replace(outcome.bench, dataset=replace(outcome.bench.dataset, **changes))
    return Outcome(outcome.experiment, bench, outcome.primary, outcome.results, outcome.failures)


def test_a_second_time_page_and_lines_come_from_the_store(outcome, shown, tmp_path):
    first = kept_report(outcome)
    made = reports(outcome)
    assert len(made) == 1
    assert first.path == outcome.folder / "report.html"
    assert first.path.read_bytes() == write_report(shown.outcome, tmp_path).read_bytes()
    assert list(first.lines) == summary_lines(shown.outcome)
    first.path.unlink()
    assert kept_report(outcome) == first
    assert first.path.read_bytes() == shown.report.read_bytes()
    assert reports(outcome) == made


def test_an_expected_answer_that_changed_is_shown(outcome):
    kept_report(outcome)
    queries = tuple(replace(query, answer="Nine euros, at the kiosk.") for query in outcome.bench.dataset.queries)
    changed = with_bench(outcome, queries=queries)
    page = kept_report(changed).path.read_bytes()
    assert len(reports(outcome)) == 2
    assert page == write_report(changed, changed.folder).read_bytes()


def test_a_failure_that_says_something_else_is_shown(outcome):
    kept_report(outcome)
    failures = dict.fromkeys(outcome.failures, "it broke otherwise")
    changed = Outcome(outcome.experiment, outcome.bench, outcome.primary, outcome.results, failures)
    told = kept_report(changed)
    assert "it broke otherwise" in told.path.read_text("utf-8")
    assert any("it broke otherwise" in line for line in told.lines)


def test_a_result_that_was_computed_again_brings_its_own_times(outcome):
    kept_report(outcome)
    manifest = outcome.results[0].hits.folder / MANIFEST
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"seconds": 12.5}))
    kept_report(outcome)
    assert len(reports(outcome)) == 2


def test_a_kept_report_that_was_damaged_is_told_and_not_shown(outcome):
    from workbench.errors import StoreError

    path = kept_report(outcome).path
    (key,) = reports(outcome)
    before = path.read_bytes()
    kept: Path = outcome.bench.workplace.store.root / "reports" / key / "report.html"
    kept.write_text("<p>broken</p>")
    with pytest.raises(StoreError, match=r"is corrupt \(report\.html.*delete the folder"):
        kept_report(outcome)
    assert path.read_bytes() == before
