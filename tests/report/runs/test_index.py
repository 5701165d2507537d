"""The index of the runs in an outputs folder."""

import json
import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.commands import workbench
from tests.made_runs import Made
from tests.report.runs.test_comparison import BASE, NOISE
from workbench.report.analysis.findings import findings
from workbench.report.results.run_tables import RunTables
from workbench.report.runs import index
from workbench.report.runs.index import refresh_index, write_index
from workbench.runner.execution.outputs import publish


@pytest.fixture
def outputs(made: Made, tmp_path: Path) -> Path:
    """Four folders: a winner with a report, a tie, a run without its metrics, and files that are no run."""
    runs = {
        "won": made.valued([BASE, BASE - 0.2 + NOISE], name="won"),
        "tied": made.valued([BASE, np.clip(BASE + 12 * (NOISE - NOISE.mean()), 0, 1)], name="tied"),
        "broken": made.valued([BASE], name="broken"),
    }
    for name, run in runs.items():
        (tmp_path / name).mkdir()
        run.write(tmp_path / name)
    (tmp_path / "broken" / "metrics.parquet").write_bytes(b"PAR1")
    (tmp_path / "won" / "report.html").write_text("<h1>a report</h1>")
    (tmp_path / "pictures").mkdir()
    return tmp_path


def rows_of(outputs: Path) -> dict[str, dict[str, object]]:
    return {row["folder"]: row for row in json.loads((outputs / ".index.json").read_text("utf-8"))}


def test_every_run_is_listed_with_its_verdict_and_a_broken_one_with_its_reason(outputs):
    page = write_index(outputs).read_text("utf-8")
    rows = rows_of(outputs)
    assert set(rows) == {"won", "tied", "broken"}
    assert (rows["won"]["verdict"], rows["tied"]["verdict"]) == ("Winner", "No single winner · all 2 may be best")
    assert "broken/metrics.parquet is not a readable table" in rows["broken"]["fault"]
    assert str(outputs) not in page
    first = findings(RunTables.read(outputs / "won")).first
    mean = first.means["span_recall@60t"]
    assert f"{mean.value:.3f} {mean.bounds()}" in page
    assert '<a href="./won/report.html">won</a>' in page
    assert "3 runs, 1 cannot be read" in page


def test_a_folder_with_an_odd_name_and_runs_that_are_damaged_in_any_way_hide_no_other(outputs, monkeypatch):
    (outputs / "tied" / "report.html").write_text("<h1>a report</h1>")
    (outputs / "tied").rename(outputs / os.fsdecode(b"bad\xff"))
    manifest = json.loads((outputs / "broken" / "manifest.json").read_text("utf-8"))
    (outputs / "broken" / "manifest.json").write_text(json.dumps(manifest | {"dataset": {}}))
    (outputs / "won" / "configurations.parquet").write_bytes(b"PAR1")
    monkeypatch.chdir(outputs.parent)
    page = write_index(Path(outputs.name)).read_text("utf-8")
    assert "bad�" in page
    assert 'href="./bad%FF/report.html"' in page
    assert "Error: " not in page
    assert str(outputs.parent) not in page
    assert "won/configurations.parquet is not a readable table" in page


def test_a_run_is_read_again_only_if_it_changed(outputs, made, monkeypatch):
    write_index(outputs)
    read = RunTables.read
    opened: list[str] = []
    monkeypatch.setattr(RunTables, "read", classmethod(lambda _, folder: opened.append(Path(folder).name) or read(folder)))
    before = (outputs / "index.html").read_text("utf-8")
    write_index(outputs)
    assert opened == ["broken"]
    assert (outputs / "index.html").read_text("utf-8") == before
    made.valued([BASE, BASE], name="tied").write(outputs / "tied")
    write_index(outputs)
    assert sorted(opened) == ["broken", "broken", "tied"]
    assert rows_of(outputs)["tied"]["verdict"] == "The same values"
    shutil.rmtree(outputs / "won")
    write_index(outputs)
    assert "won" not in rows_of(outputs)


def test_a_damaged_cache_is_made_again(outputs):
    page = write_index(outputs).read_text("utf-8")
    for content in (b"", b"[{}]", b'[{"folder": 1}]', b"\xff"):
        (outputs / ".index.json").write_bytes(content)
        (outputs / "index.html").write_bytes(content)
        assert write_index(outputs).read_text("utf-8") == page


def test_a_page_of_another_program_is_left_as_it_is(outputs):
    (outputs / "index.html").write_text("mine")
    assert write_index(outputs) is None
    refresh_index(outputs / "won")
    assert (outputs / "index.html").read_text() == "mine"


def test_names_and_folders_are_escaped(outputs, made):
    odd = 'a"b&<i>#?%'
    (outputs / odd).mkdir()
    run = made.valued([BASE], name="odd")
    experiment = {**run.manifest["experiment"], "name": "<b>x"}
    RunTables({**run.manifest, "experiment": experiment, "dataset": {**run.manifest["dataset"], "name": "<script>"}}, run.sources).write(
        outputs / odd
    )
    (outputs / odd / "report.html").write_text("")
    page = write_index(outputs).read_text("utf-8")
    assert "<script" not in page
    assert "&lt;b&gt;x</a>" in page
    assert 'href="./a%22b%26%3Ci%3E%23%3F%25/report.html"' in page


def test_many_new_runs_are_listed_at_once_and_concluded_in_turn(outputs, monkeypatch):
    monkeypatch.setattr(index, "_MOST_READ", 1)
    counts = []
    for _ in range(3):
        write_index(outputs)
        counts.append(sum(row["verdict"] == "read at the next sweep" for row in rows_of(outputs).values()))
    assert counts == [1, 0, 0]


def test_concurrent_sweeps_write_one_whole_page(outputs):
    threads = [threading.Thread(target=write_index, args=(outputs,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(rows_of(outputs)) == {"won", "tied", "broken"}
    assert (outputs / "index.html").read_text("utf-8").rstrip().endswith("</html>")
    assert not list(outputs.glob(".*.tmp"))


def test_a_gate_refreshes_an_index_and_makes_none(outputs):
    words = (
        "gate",
        outputs / "won",
        "--configuration",
        findings(RunTables.read(outputs / "won")).first.name,
        "--fail-below",
        "span_recall@60t=0.99",
    )
    assert workbench(*words).returncode == 1
    assert not (outputs / "index.html").exists()
    write_index(outputs)
    assert rows_of(outputs)["won"]["gate"] == "fail (1 of 1 rule)"
    assert workbench(*words[:-1], "span_recall@60t=0.1").returncode == 0
    assert rows_of(outputs)["won"]["gate"] == "pass (1 of 1 rule)"
    assert "pass (1 of 1 rule)" in (outputs / "index.html").read_text("utf-8")


@pytest.mark.slow
def test_a_sweep_writes_the_index_and_says_what_changed_since_the_run_before(made, tmp_path):
    from dataclasses import replace

    from workbench.runner.execution.local import run_experiment
    from workbench.runner.experiment.read import experiment_of

    for size in (24, 60):
        changed = {
            "name": "again",
            "sweep": {"chunking": [{"kind": "fixed", "size": 40, "overlap": 0}]},
            "pipeline": {"retrieval": {"kind": "bm25", "k": 5, "b": size / 100}},
        }
        outcome = run_experiment(experiment_of(made.experiment(1, **changed), "here"), tmp_path, lambda _: None)
        assert publish(replace(outcome), lambda _: None, notebooks=False).notes == []
    page = (tmp_path / "index.html").read_text("utf-8")
    assert 'href="./again/report.html"' in page
    assert " since 2" in page or "as on 2" in page
    (tmp_path / ".index.json").unlink()
    outcome = run_experiment(experiment_of(made.experiment(1, **changed), "here"), tmp_path, lambda _: None)
    (note,) = publish(outcome, lambda _: None, notebooks=False).notes
    assert note.endswith("index.html is not an index of Workbench, and is left as it is")
