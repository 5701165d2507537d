"""The report comes from the store, and is made anew exactly where something that it shows differs."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.core.errors import RunError, StoreError
from workbench.core.fingerprint import code_digest, fingerprint
from workbench.core.storage.result_store import MANIFEST, ResultWriter, Store
from workbench.core.storage.stored_files import EntryManifest
from workbench.report.render.html import write_report
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.registry import summary_lines
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import publish as publish_run
from workbench.runner.execution.outputs import publish_report
from workbench.runner.experiment.read import experiment_of


@pytest.fixture
def publish(tmp_path: Path) -> Callable[[RunTables], tuple[Path, list[str]]]:
    """Publish the report of a run, with a store of its own for each test."""
    return lambda run: publish_report(run, tmp_path, Store(tmp_path / "store"))


@pytest.fixture
def reports(tmp_path: Path) -> Callable[[], dict[str, int]]:
    """List the reports in the store, with what would change if one were made again."""
    return lambda: {path.parent.name: path.stat().st_ino for path in tmp_path.glob(f"store/reports/*/{MANIFEST}")}


@pytest.mark.slow
def test_a_second_time_page_and_lines_come_from_the_store(few: Outcome, publish: Callable, reports: Callable, tmp_path: Path) -> None:
    run = collect(few)
    path, lines = publish(run)
    stored = reports()
    assert len(stored) == 1
    assert path == tmp_path / "report.html"
    page = path.read_bytes()
    run = RunTables.view(run, tmp_path)
    assert page == write_report(run, tmp_path / "other.html").read_bytes()
    assert list(lines) == summary_lines(run)
    path.unlink()
    assert publish(RunTables.read(few.folder)) == (path, lines)
    assert path.read_bytes() == page
    assert reports() == stored


@pytest.mark.slow
def test_an_expected_answer_that_changed_is_shown(few: Outcome, publish: Callable, reports: Callable, tmp_path: Path) -> None:
    run = collect(few)
    publish(run)
    answered = run.questions.assign(answer="Nine euros, at the kiosk.")
    changed = replace(run, sources={**run.sources, "questions": lambda _: answered})
    path, _ = publish(changed)
    assert len(reports()) == 2
    assert path.read_bytes() == write_report(RunTables.view(changed, tmp_path), tmp_path / "other.html").read_bytes()


@pytest.mark.slow
def test_a_failure_that_says_something_else_is_shown(few: Outcome, publish: Callable) -> None:
    for message in ("it broke", "it broke otherwise"):
        path, lines = publish(collect(replace(few, failures={"broken": message})))
        assert message in path.read_text("utf-8")
        assert any(line.endswith(message) for line in lines)


@pytest.mark.slow
def test_a_recomputed_result_has_new_timings(few: Outcome, publish: Callable, reports: Callable, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    shutil.copytree(few.run.workspace.outputs, outputs)
    outcome = run_experiment(few.experiment, outputs, lambda _: None)
    publish(collect(outcome))
    publish(collect(run_experiment(few.experiment, outputs, lambda _: None)))
    assert len(reports()) == 1
    path = outcome.results[0].entry("hits").folder / MANIFEST
    manifest = EntryManifest.read(path.read_bytes())
    path.write_text(EntryManifest.of(manifest.kind, manifest.key, 12.5, manifest.files).model_dump_json())
    publish(collect(run_experiment(few.experiment, outputs, lambda _: None)))
    assert len(reports()) == 2


@pytest.mark.slow
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


@pytest.mark.slow
def test_reports_and_notebooks_are_never_taken_from_a_shared_store(
    handbook_few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, outputs = tmp_path / "shared", tmp_path / "outputs"
    monkeypatch.setenv("WORKBENCH_STORE", str(shared))
    settings = {
        "name": "x",
        "dataset": {"kind": "golden", "path": str(handbook_few)},
        "pipeline": {"retrieval": {"kind": "bm25"}},
    }
    outcome = run_experiment(experiment_of(settings, "test"), outputs, lambda _: None)
    run = collect(outcome)
    key = fingerprint(run.digest(), run.manifest["commit"], code_digest(), str(outcome.folder))

    def attack(writer: ResultWriter) -> None:
        (writer.folder / "report.html").write_text("<script>alert(1)</script>")
        writer.values("terminal", ["all is well"])

    Store(shared).obtain("reports", key, attack)
    published = publish_run(outcome, lambda _: None)
    assert not published.errors
    assert "alert(1)" not in published.report.read_text("utf-8")
    assert "all is well" not in published.lines
    assert (outputs / ".store" / "reports" / key).is_dir()
    assert not (shared / "notebooks").exists()


def test_a_store_whose_mark_is_damaged_does_not_touch_the_outputs(few: Outcome, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    shutil.copytree(few.run.workspace.outputs, outputs)
    (outputs / "few" / "report.html").write_text("earlier")

    def files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in (outputs / "few").rglob("*") if path.is_file()}

    before = files()
    (outputs / ".store" / "store.json").write_text("")
    with pytest.raises(RunError, match=r"store\.json cannot be read\); run workbench doctor to repair it; .*few was left as it is"):
        publish_run(run_experiment(few.experiment, outputs, lambda _: None), lambda _: None)
    assert files() == before
