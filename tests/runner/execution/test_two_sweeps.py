"""Sweeps of one name at the same time: the folder's files come from one of them, and nobody waits for a dead one."""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.small_sweep import write_experiment
from workbench.core.errors import InputError, StoreError
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs

pytestmark = pytest.mark.slow

FEW = """
name: few
dataset: {kind: golden, path: HANDBOOK, split: dev}
pipeline: {chunking: {kind: fixed, size: SIZE}, retrieval: {kind: bm25, k: 5}}
metrics: [recall@5]
"""
PUBLISH = """
import sys, time
from pathlib import Path
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.outputs import publish
from workbench.runner.experiment.read import read_experiment
outcome = run_experiment(read_experiment(Path(sys.argv[1])), Path(sys.argv[2]), lambda _: None)
Path(sys.argv[1] + ".ready").touch()
while not Path(sys.argv[2], "start").exists():
    time.sleep(0.01)
published = publish(outcome, print)
print(*published.notes, sep="\\n")
"""
HOLD = """
import sys, time
from pathlib import Path
from workbench.runner.execution.outputs import writing
with writing(Path(sys.argv[1]), lambda line: print(line, flush=True)):
    print("writing", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def test_two_sweeps_of_one_name_leave_the_files_of_one(tmp_path: Path, handbook_few: Path, fork: Callable) -> None:
    outputs, ready = tmp_path / "outputs", []
    children = []
    for size in (64, 96):
        path = write_experiment(FEW.replace("SIZE", str(size)), handbook_few, tmp_path / f"{size}.yaml")
        children.append(fork(PUBLISH, path, outputs))
        ready.append(path.with_name(f"{path.name}.ready"))
    while not all(path.exists() for path in ready):
        assert all(child.poll() is None for child in children), [child.communicate() for child in children]
        time.sleep(0.01)
    (outputs / "start").touch()
    said = [child.communicate(timeout=300) for child in children]
    assert [child.returncode for child in children] == [0, 0], said
    folder = outputs / "few"
    assert "".join(out for out, _ in said).count(f"waiting for another process that writes to {folder}\n") == 1
    assert "".join(out for out, _ in said).count(f"{folder} was written by another sweep at the same time and is replaced\n") == 1
    names = set(json.loads((folder / "manifest.json").read_text())["configurations"])
    assert {path.stem for path in folder.glob("runs/*.trec")} == names
    assert {path.stem for path in folder.glob("notebooks/*.ipynb")} == names | {"comparison"}
    for table in ("configurations", "metrics", "queries", "hits", "timings"):
        assert set(pd.read_parquet(folder / f"{table}.parquet")["configuration"]) == names, table
    page = (folder / "report.html").read_text("utf-8")
    assert all(name in page for name in names)
    assert pd.read_parquet(outputs / "history.parquet")["run"].nunique() == 2


def test_a_killed_sweep_does_not_block_the_next(tmp_path: Path, fork: Callable) -> None:
    folder = tmp_path / "outputs" / "few"
    killed = fork(HOLD, folder, 600)
    assert killed.stdout.readline() == "writing\n"
    second = fork(HOLD, folder, 0)
    assert second.stdout.readline() == f"waiting for another process that writes to {folder}\n"
    killed.kill()
    assert second.communicate(timeout=60)[0] == "writing\n"
    assert not folder.exists()


def test_a_folder_that_is_only_partly_written_is_no_run(few: Outcome, tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    shutil.copytree(few.run.workspace.outputs, outputs)
    outcome = run_experiment(few.experiment, outputs, lambda _: None)
    table = outcome.folder / "hits.parquet"
    table.unlink()
    table.mkdir()
    with pytest.raises(StoreError, match=r"hits.parquet is a link, or not a regular file; move it away and run again"):
        write_outputs(outcome)
    with pytest.raises(InputError, match="contains no run"):
        RunTables.read(outcome.folder)
    table.rmdir()
    write_outputs(outcome)
    assert len(RunTables.read(outcome.folder).hits) == len(RunTables.read(few.folder).hits)
