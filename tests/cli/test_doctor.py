"""`workbench doctor` on a real store with real damage: what it repairs, the next sweep computes again."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from workbench.cli.main import main
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.layout import mark_text
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs

HOLD = """
import sqlite3, sys, time
from filelock import FileLock
lock = FileLock(sys.argv[1])
lock.acquire()
connection = sqlite3.connect(sys.argv[2])
connection.execute("BEGIN")
connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
print("held", flush=True)
time.sleep(600)
"""


SEARCH = """
import sys, time
from pathlib import Path
from workbench.components.retrieval.chroma_index import open_collection
with open_collection(Path(sys.argv[1])):
    print("open", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A temporary folder without what other tests left."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


@pytest.fixture
def outputs(outcome: Outcome, tmp_path: Path) -> Path:
    """A copy of the outputs of a finished sweep."""
    return Path(shutil.copytree(outcome.run.workspace.outputs, tmp_path / "outputs"))


def doctor(outputs: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["doctor", "--outputs", str(outputs), *options])


def entries(outputs: Path, kind: str) -> list[Path]:
    return sorted(path for path in (outputs / ".store" / kind).iterdir() if path.is_dir())


def flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def old(path: Path) -> Path:
    path.touch()
    os.utime(path, (0, 0))
    return path


@contextmanager
def vectors(outputs: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(outputs / ".store" / "vectors.sqlite")) as connection, connection:
        yield connection


def files(folder: Path) -> dict[str, bytes]:
    """The content of all files. Chroma changes those of an index that it opens, so only their names count."""
    found = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith((".lock", "-shm", "-wal"))]
    return {str(path): b"" if ".indexes" in path.parts else path.read_bytes() for path in found}


def check_next_sweep(outputs: Path, outcome: Outcome) -> None:
    again = run_experiment(outcome.experiment, outputs, lambda _: None)
    assert not again.failures
    write_outputs(again)
    for name in {name for name, schema in SCHEMAS.items() if schema.required} - {"timings"}:
        found, expected = (pd.read_parquet(folder / f"{name}.parquet") for folder in (again.folder, outcome.folder))
        pd.testing.assert_frame_equal(found, expected, atol=1e-5)


def test_a_sound_store_is_left_as_it_is(outputs):
    before = files(outputs)
    for options in ((), ("--dry-run",)):
        done = doctor(outputs, *options)
        assert (done.exit_code, done.stdout) == (0, f"{outputs}: no damage, nothing unused\n")
    assert files(outputs) == before


@pytest.mark.slow
def test_damage_is_repaired_and_the_next_sweep_has_the_undisturbed_tables(outputs, outcome):
    store, indexes = outputs / ".store", sorted((outputs / ".indexes").glob("*/workbench.json"))
    flip(next(entries(outputs, "vectors")[0].glob("vectors.npy")))
    first, second, third = entries(outputs, "hits")[:3]
    shutil.rmtree(first)
    shutil.copytree(second, first)
    (third / "entry.json").write_text((third / "entry.json").read_text().replace("exact_hits", "exact_hitz"))
    flip(entries(outputs, "scores")[0] / "entry.json")
    (store / "store.json").write_text("{")
    shutil.copytree(second, second.with_name(f"{'c' * 32}.tmp"))
    (entries(outputs, "explanations")[0] / "entry.json").unlink()
    cut = max(indexes[0].parent.rglob("*.bin"), key=lambda path: path.stat().st_size)
    cut.write_bytes(cut.read_bytes()[:-100])
    indexes[1].unlink()
    orphan, aside = old(store / "hits" / f"{'0' * 32}.lock"), old(outputs / "small" / ".metrics.parquet.99999999.tmp")
    with vectors(outputs) as connection:
        connection.create_function("negated", 1, lambda value: bytes(byte ^ 128 for byte in value))
        damaged = connection.execute("UPDATE checked_vectors SET vector = negated(vector) WHERE rowid % 3 = 0").rowcount
    before = files(outputs)
    planned = doctor(outputs, "--dry-run")
    assert planned.exit_code == 1, planned.output
    assert files(outputs) == before
    done = doctor(outputs)
    assert done.exit_code == 0, done.output
    assert len(done.stdout.splitlines()) == len(planned.stdout.splitlines()) == 13
    for line in (
        f"{entries(outputs, 'vectors')[0].parent}/",
        f"the store entry {first} is corrupt (it is hits/{second.name}): deleted, the next sweep makes it again",
        f"the store entry {third} is corrupt (entry.json has changed since it was written): deleted",
        f"{store / 'store.json'} cannot be read: written again",
        f"{second.with_name('c' * 32 + '.tmp')} was left by a process that was killed: deleted",
        f"the index {indexes[0].parent} is corrupt (",
        f"{indexes[1].parent} was left by a process that was killed: deleted",
        f"the vector cache {store / 'vectors.sqlite'} has {damaged} damaged rows: ",
        f"{orphan} belongs to nothing: deleted",
        f"{aside} was left by a process that was killed: deleted",
        f"{outputs}: 7 damaged and repaired, 5 unused and deleted, 0 not repaired",
    ):
        assert line in done.stdout
    assert doctor(outputs).stdout == f"{outputs}: no damage, nothing unused\n"
    check_next_sweep(outputs, outcome)


@pytest.mark.parametrize(("damage", "share"), [("a page in the middle", 0.9), ("the first page", 1.0), ("the second half", 0.3)])
def test_a_vector_cache_that_sqlite_cannot_read_is_rebuilt_from_its_intact_rows(outputs, outcome, damage, share):
    path = outputs / ".store" / "vectors.sqlite"
    with vectors(outputs) as connection:
        (rows,) = connection.execute("SELECT count(*) FROM checked_vectors").fetchone()
    raw = path.read_bytes()
    cut = {"a page in the middle": (40, 41), "the first page": (0, 1), "the second half": (len(raw) // 8192, len(raw) // 4096)}[damage]
    first, last = (page * 4096 for page in cut)
    path.write_bytes(raw[:first] + b"\xa5" * (last - first) + raw[last:])
    assert doctor(outputs, "--dry-run").exit_code == 1
    done = doctor(outputs)
    assert done.exit_code == 0, done.output
    assert f"the vector cache {path} is damaged (" in done.stdout
    assert "rebuilt with " in done.stdout
    with vectors(outputs) as connection:
        (kept,) = connection.execute("SELECT count(*) FROM checked_vectors").fetchone()
    assert share * rows <= kept <= rows
    assert doctor(outputs).stdout.endswith("no damage, nothing unused\n")
    if damage == "a page in the middle":
        for kind in ("vectors", "hits"):
            shutil.rmtree(outputs / ".store" / kind)
        check_next_sweep(outputs, outcome)


def test_a_running_sweep_is_not_disturbed(outputs, start: Callable[..., subprocess.Popen[str]]):
    store = outputs / ".store"
    entry, path = entries(outputs, "hits")[0], store / "vectors.sqlite"
    shutil.copytree(entry, entry.with_name(f"{'1' * 32}.tmp"))
    (entry / "searches.json").write_text("{}")
    # One process computes a result, another has the damaged cache open.
    child = start(HOLD, entry.with_name(f"{'1' * 32}.lock"), path)
    assert child.stdout.readline() == "held\n"
    other = start(HOLD, entry.with_name(f"{entry.name}.lock"), path)
    assert other.stdout.readline() == "held\n"
    raw = path.read_bytes()
    with path.open("r+b") as file:
        file.write(raw[: 30 * 4096] + b"\xa5" * 4096 + raw[31 * 4096 :])
    done = doctor(outputs)
    assert done.exit_code == 3, done.output
    assert (
        f"the store entry {entry} is corrupt (searches.json has changed since it was written), and a sweep is using it: run doctor again when it has ended"
        in done.stdout
    )
    assert f"the vector cache {path} is damaged" in done.stdout
    assert "0 damaged and repaired, 0 unused and deleted, 2 not repaired" in done.stdout
    assert entry.with_name(f"{'1' * 32}.tmp").is_dir()
    for process in (child, other):
        process.kill()
        process.wait()
    assert doctor(outputs).exit_code == 0
    assert not entry.exists()
    assert not entry.with_name(f"{'1' * 32}.tmp").exists()


def test_what_another_version_wrote_is_left_alone_and_named(outputs):
    with vectors(outputs) as connection:
        connection.execute("PRAGMA user_version = 9")
    done = doctor(outputs)
    assert done.exit_code == 3
    assert "has version 9, and this Workbench uses version 2: update Workbench" in done.stdout
    (outputs / ".store" / "store.json").write_text(mark_text(9))
    flip(next(entries(outputs, "vectors")[0].glob("vectors.npy")))
    before = files(outputs)
    done = doctor(outputs)
    assert done.exit_code == 3
    assert "was written by another version of Workbench (layout 9; this one uses 1): use that version" in done.stdout
    assert files(outputs) == before


def test_vectors_of_an_earlier_version_are_removed(outputs):
    with vectors(outputs) as connection:
        connection.execute("CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
        connection.execute("INSERT INTO vectors SELECT key, vector FROM checked_vectors LIMIT 10")
    done = doctor(outputs)
    assert done.exit_code == 0, done.output
    assert "has 10 vectors of an earlier Workbench, without digests: deleted" in done.stdout
    with vectors(outputs) as connection:
        assert connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall() == [("checked_vectors",)]


def test_a_folder_without_a_store_is_one_line(tmp_path):
    done = doctor(tmp_path / "none")
    assert done.exit_code == 2
    assert done.stderr == f"workbench: {tmp_path / 'none'} has no store; give the --outputs of a sweep\n"


def test_a_corrupt_history_is_moved_aside_and_the_next_sweep_begins_a_new_one(outputs: Path) -> None:
    (outputs / "history.parquet").write_bytes(b"PAR1 nothing else")
    checked = doctor(outputs, "--dry-run")
    assert checked.exit_code == 1
    assert "would be moved to" in checked.output
    assert (outputs / "history.parquet").exists()
    repaired = doctor(outputs)
    assert (repaired.exit_code, (outputs / "history.parquet").exists()) == (0, False)
    assert (outputs / "history.damaged.parquet").read_bytes() == b"PAR1 nothing else"
    assert doctor(outputs).output.endswith("no damage, nothing unused\n")


def test_a_second_corrupt_history_does_not_replace_the_first(outputs: Path) -> None:
    for content in (b"first", b"second", b"third"):
        (outputs / "history.parquet").write_bytes(content)
        assert doctor(outputs).exit_code == 0
    kept = {path.name: path.read_bytes() for path in outputs.glob("*.damaged*")}
    assert kept == {"history.damaged.parquet": b"first", "history.damaged-2.parquet": b"second", "history.damaged-3.parquet": b"third"}


def test_other_files_in_the_folder_of_a_store_are_left_alone(outputs: Path) -> None:
    others = [outputs / ".store" / "models" / name for name in ("minilm", "minilm.tmp", "0" * 31, "0" * 33, f"{'0' * 32}-copy")]
    for folder in others:
        folder.mkdir(parents=True)
        (folder / "model.safetensors").touch()
    lock = old(outputs / ".store" / "models" / "yarn.lock")
    assert doctor(outputs).stdout == f"{outputs}: no damage, nothing unused\n"
    assert lock.exists()
    assert all((folder / "model.safetensors").exists() for folder in others)


def test_of_a_linked_result_that_is_damaged_only_the_link_is_deleted(outputs: Path, tmp_path: Path) -> None:
    entry, target = entries(outputs, "hits")[0], tmp_path / "elsewhere"
    entry.rename(target)
    entry.symlink_to(target)
    flip(target / "searches.json")
    done = doctor(outputs)
    assert done.exit_code == 0, done.output
    assert f"the store entry {entry} is corrupt (searches.json has changed since it was written): deleted" in done.stdout
    assert (entry.is_symlink(), target.is_dir()) == (False, True)


@pytest.mark.slow
def test_copies_of_indexes_that_killed_searches_left_are_deleted(
    outputs: Path, tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    child = start(SEARCH, next((outputs / ".indexes").glob("*/")))
    assert child.stdout.readline() == "open\n"
    (copy,) = tmp_path.glob("workbench-index-*")
    os.utime(copy, (0, 0))
    assert doctor(outputs).stdout.endswith("no damage, nothing unused\n")
    child.kill()
    child.wait()
    os.utime(copy, (0, 0))
    assert f"{copy} was left by a process that was killed: deleted" in doctor(outputs).stdout
    assert not copy.exists()
