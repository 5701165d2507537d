"""kill -9 at random moments, then resume: the rows of an undisturbed sweep, and nothing finished is done again."""

import random
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pandas as pd
import pytest

from tests import small_sweep
from tests.forked import Forked, command
from tests.small_sweep import write_experiment
from workbench.core.schemas import SCHEMAS

pytestmark = pytest.mark.slow

LONGEST = 600
EXPERIMENT = """
name: small
dataset: {kind: golden, path: HANDBOOK, split: dev}
pipeline: {chunking: {kind: fixed, size: 64}, embedding: {kind: hashed, dimensions: 64}}
sweep: {retrieval: [{kind: dense}, {kind: bm25}]}
metrics: [span_recall@2000t, recall@5]
"""


@contextmanager
def sweeping(folder: Path) -> Iterator[Forked]:
    with closing(Forked(command, "sweep", "small.yaml", cwd=folder, log=folder / "log.txt")) as process:
        yield process


def place(folder: Path, experiment: Path) -> Path:
    """A folder of its own with the experiment in it."""
    folder.mkdir()
    shutil.copy(experiment, folder / "small.yaml")
    return folder


def finished(folder: Path) -> dict[str, tuple[int, int]]:
    """Every finished entry and index, with what would change if it were made again."""
    manifests = [*(folder / "outputs").glob(".store/*/*/entry.json"), *(folder / "outputs").glob(".indexes/*/workbench.json")]
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in manifests if ".tmp" not in str(path)}


def embedded(folder: Path) -> list[tuple[int, bytes]]:
    path = folder / "outputs" / ".store" / "vectors.sqlite"
    if not path.exists():
        return []
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT rowid, key FROM checked_vectors ORDER BY rowid").fetchall()
    except sqlite3.OperationalError:  # killed before the table was made
        return []
    finally:
        connection.close()


def sweep_to_the_end(folder: Path) -> None:
    with sweeping(folder) as process:
        assert process.wait(LONGEST) == 0, (folder / "log.txt").read_text()


def killed(folder: Path, further: int, later: float) -> bool:
    """Kills a sweep so many seconds after it has finished so many further entries; whether it was still running then."""
    due = len(finished(folder)) + further
    with sweeping(folder) as process:
        while process.poll() is None and len(finished(folder)) < due:
            time.sleep(0.02)
        try:
            process.wait(later)
        except subprocess.TimeoutExpired:
            process.kill()
            return True
    assert process.returncode == 0, (folder / "log.txt").read_text()
    return False


def check_kills(kills: int, seed: int, experiment: Path) -> None:
    """Kills at random moments of the work, as many times as asked for, each run of them ended by a resume to the tables undisturbed."""
    undisturbed = small_sweep.finished(experiment).folder
    # A kill comes after fewer further entries and indexes than a sweep finishes without its notebooks.
    entries, moments = len(finished(experiment.parent)), random.Random(seed)
    round_, done = 0, 0
    while done < kills:
        round_ += 1
        folder = place(experiment.parent / f"killed-{round_}", experiment)
        before: dict[str, tuple[int, int]] = {}
        rows: list[tuple[int, bytes]] = []
        running = True
        while running and done < kills:
            running = killed(folder, moments.randrange(1, entries), moments.uniform(0, 1))
            done += running
            assert before.items() <= finished(folder).items(), "something finished was made again"
            assert embedded(folder)[: len(rows)] == rows, "something embedded was embedded again"
            before, rows = finished(folder), embedded(folder)
        sweep_to_the_end(folder)
        assert before.items() <= finished(folder).items()
        assert embedded(folder)[: len(rows)] == rows
        same_tables(folder / "outputs" / "small", undisturbed)


def same_tables(found: Path, expected: Path) -> None:
    for name in {name for name, schema in SCHEMAS.items() if schema.required} - {"timings"}:
        pd.testing.assert_frame_equal(pd.read_parquet(found / f"{name}.parquet"), pd.read_parquet(expected / f"{name}.parquet"), atol=1e-5)
    runs = list((expected / "runs").glob("*.trec"))
    assert {path.stem for path in (found / "notebooks").glob("*.ipynb")} == {"comparison", *(path.stem for path in runs)}
    for path in runs:
        assert (found / "runs" / path.name).read_text().split("\n")[0].split()[:4] == path.read_text().split("\n")[0].split()[:4]
    assert (found / "report.html").stat().st_size > 50_000


def test_a_sweep_killed_twice_resumes_to_the_same_tables(tmp_path: Path, handbook_few: Path) -> None:
    check_kills(2, 7, write_experiment(EXPERIMENT, handbook_few, tmp_path / "small.yaml"))


@pytest.mark.soak
def test_a_sweep_killed_at_twenty_random_moments_resumes_to_the_same_tables(experiment_file: Path) -> None:
    check_kills(20, 20, experiment_file)
