"""Workers that are real: a Dask scheduler and workers, processes on the loopback interface."""

import contextlib
import functools
import gc
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import psutil
import pytest
from distributed import Client, KilledWorker

from tests.commands import workbench
from tests.forked import Forked, command
from tests.planted_modules import plant_modules
from tests.small_sweep import ran, write_experiment
from workbench.core.environment import advice
from workbench.core.errors import InputError
from workbench.core.schemas import SCHEMAS
from workbench.runner.execution.dask_sweep import connected, precompute
from workbench.runner.execution.dask_workers import Task
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import read_experiment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PATIENCE = 120
EXPERIMENT = """
name: small
dataset: {kind: golden, path: HANDBOOK, split: dev}
pipeline: {embedding: {kind: hashed, dimensions: 64}}
sweep:
  chunking:
    - {kind: fixed, size: [32, 128], overlap: 0}
    - {kind: hierarchical, child: 64, parent: 256}
metrics: [span_recall@2000t, need_recall@5, recall@5, margin, span_precision_omega]
"""


@dataclass
class Cluster:
    """A scheduler's address and the processes of the cluster, to which `worker` adds one."""

    folder: Path
    processes: list[Forked]
    address: str = ""

    def worker(self, threads: int = 1) -> Forked:
        return self.dask("worker", self.address, "--nthreads", str(threads), "--no-nanny")

    def dask(self, *words: str) -> Forked:
        log = self.folder / f"{len(self.processes)}.log"
        self.processes.append(Forked(dask, *words, "--host", "127.0.0.1", "--no-dashboard", cwd=self.folder, log=log))
        return self.processes[-1]


def dask(*words: str) -> None:
    """Do what the program `dask` does."""
    from dask.cli import run_cli

    sys.argv = ["dask", *words]
    run_cli()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("dask"), [])
    try:
        file = cluster.folder / "scheduler.json"
        cluster.dask("scheduler", "--port", "0", "--scheduler-file", str(file))
        wait_for(file.is_file)
        cluster.address = json.loads(file.read_text())["address"]
        yield cluster
    finally:
        for process in reversed(cluster.processes):
            process.close()


@pytest.fixture(scope="module")
def two_workers(cluster: Cluster) -> Cluster:
    for _ in range(2):
        cluster.worker()
    wait_for_workers(cluster, 2)
    return cluster


@pytest.fixture
def small_file(tmp_path: Path, handbook_few: Path) -> Path:
    return write_experiment(EXPERIMENT, handbook_few, tmp_path / "small.yaml")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, handbook_few: Path) -> Outcome:
    """The sweep of one process."""
    outcome = ran(write_experiment(EXPERIMENT, handbook_few, tmp_path_factory.mktemp("alone") / "small.yaml"))
    write_outputs(outcome)
    return outcome


def wait_for(there: Callable[[], object]) -> None:
    ends = time.monotonic() + PATIENCE
    while not there():
        assert time.monotonic() < ends, "it did not come"
        time.sleep(0.02)


def wait_for_workers(cluster: Cluster, count: int) -> None:
    with connected(None, cluster.address) as workers:
        wait_for(lambda: len(workers.addresses()) == count)


def run(experiment: Path, outputs: Path, say: Callable[[str], None] = lambda _: None, **where: object) -> Outcome:
    outcome = run_experiment(read_experiment(experiment, allow_code=True), outputs, say, functools.partial(precompute, **where))
    write_outputs(outcome)
    return outcome


def entries(outputs: Path) -> dict[str, tuple[int, int]]:
    """Every finished entry and index, with what would change if it were made again."""
    found = [*outputs.glob(".store/*/*/entry.json"), *outputs.glob(".indexes/*/workbench.json")]
    return {path.relative_to(outputs).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


def computed(outputs: Path) -> set[str]:
    """The entries and indexes of a sweep, without those of its notebooks, which other tests run where they find one."""
    return {path for path in entries(outputs) if not path.startswith((".store/notebooks/", ".store/records/"))}


def vectors(outputs: Path) -> int:
    """How many vectors the cache holds."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{outputs / '.store' / 'vectors.sqlite'}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT count(*) FROM checked_vectors").fetchone()[0]
    except sqlite3.OperationalError:  # it is not made yet
        return 0


def tokens(outputs: Path) -> dict[str, int]:
    """The tokens encoded for each vectors' key."""
    return {path.parent.name: json.loads(path.read_text())["tokens"] for path in outputs.glob(".store/vectors/*/encoded.json")}


def same(found: Outcome, expected: Outcome) -> None:
    """Ids, ranks, states and metrics are those of one process; scores to 1e-5, vectors bit by bit unless PyTorch computes them."""
    same_tables(found, expected)
    one, other = ({**json.loads((each.folder / "manifest.json").read_bytes()), "arguments": []} for each in (found, expected))
    assert one == other  # apart from the commands, which name the folders of their outputs
    ours, theirs = found.run.workspace.outputs, expected.run.workspace.outputs
    assert computed(ours) == computed(theirs)
    assert tokens(ours) == tokens(theirs)
    encoder = found.experiment.configurations[0].embedding.encoder()
    for path in theirs.glob(".store/vectors/*/vectors.npy"):
        np.testing.assert_allclose(np.load(ours / path.relative_to(theirs)), np.load(path), atol=1e-6 if encoder.backend == "torch" else 0)


def same_tables(found: Outcome, expected: Outcome) -> None:
    for name in {name for name, schema in SCHEMAS.items() if schema.required} - {"timings"}:
        ours, theirs = (pd.read_parquet(one.folder / f"{name}.parquet") for one in (found, expected))
        pd.testing.assert_frame_equal(ours, theirs, atol=1e-5)


def test_two_workers_give_the_ids_ranks_and_metrics_of_one_process(alone, small_file, tmp_path, two_workers):
    found = run(small_file, tmp_path / "outputs", scheduler=two_workers.address)
    same(found, alone)
    computed = pd.read_parquet(found.folder / "timings.parquet").query("name.str.startswith('computed_')")
    before = pd.read_parquet(alone.folder / "timings.parquet").query("name.str.startswith('computed_')")
    pd.testing.assert_frame_equal(computed, before)
    assert not list(tmp_path.rglob(".sweep-*")), "the mark of the sweep is left"
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_second_sweep_submits_nothing_and_an_added_configuration_only_its_own_results(alone, small_file, tmp_path, two_workers):
    outputs = tmp_path / "outputs"
    shutil.copytree(alone.run.workspace.outputs, outputs)
    before = entries(outputs)
    said: list[str] = []
    # Nobody answers there: nothing was submitted.
    run(small_file, outputs, said.append, scheduler="tcp://127.0.0.1:9")
    assert [line.endswith("all from the store") for line in said] == [False, True, True, True]
    small_file.write_text(small_file.read_text().replace("size: [32, 128]", "size: [32, 128, 256]"))
    run(small_file, outputs, scheduler=two_workers.address)
    assert before.items() <= entries(outputs).items()
    added = {path.split("/")[1] for path in entries(outputs).keys() - before.keys() if path.startswith(".store")}
    assert added == {"chunks", "vectors", "hits", "chunk_faults", "scores", "explanations", "outputs", "latency"}


def test_chunks_cut_by_vectors_and_words_without_any_are_those_of_one_process(small_file, tmp_path, two_workers):
    # Sentences are embedded by the experiment's model.
    text = (
        small_file.read_text()
        .replace("hashed, dimensions: 64", "sentence-transformers")
        .replace("[32, 128], overlap: 0}", "64, overlap: 0}\n    - {kind: semantic, size: 64, percentile: [80, 90]}")
    )
    small_file.write_text(
        text.replace("    - {kind: hierarchical, child: 64, parent: 256}\n", "  retrieval: [{kind: dense}, {kind: bm25}]\n")
    )
    alone = run_experiment(read_experiment(small_file), tmp_path / "alone", lambda _: None)
    write_outputs(alone)
    found = run(small_file, tmp_path / "workers", scheduler=two_workers.address)
    assert len(found.results) == 6
    same(found, alone)
    assert vectors(tmp_path / "workers") == vectors(tmp_path / "alone")


def test_a_worker_killed_in_the_middle_changes_nothing(handbook_corner, tmp_path, two_workers):
    # Many vectors, so that some are left when the first are stored.
    path = write_experiment(EXPERIMENT, handbook_corner, tmp_path / "small.yaml")
    path.write_text(path.read_text().replace("size: [32, 128]", "size: 8"))
    victim = two_workers.worker()
    wait_for_workers(two_workers, 3)
    outputs, moment = tmp_path / "outputs", {}

    def kill() -> None:
        wait_for(lambda: vectors(outputs))
        moment["vectors"] = vectors(outputs)
        victim.send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = run(path, outputs, scheduler=two_workers.address)
    killer.join()
    assert victim.wait(PATIENCE) == -signal.SIGKILL
    assert 0 < moment["vectors"] < vectors(outputs), "it was not killed in the middle"
    same(found, run(path, tmp_path / "alone"))


def test_workers_that_share_a_store_under_a_url_give_the_results_of_one_process(
    alone, small_file, tmp_path, two_workers, server, monkeypatch
):
    monkeypatch.setenv("WORKBENCH_STORE", server.url)
    monkeypatch.setenv("WORKBENCH_CACHE", str(tmp_path / "cache"))
    found = run(small_file, tmp_path / "outputs", scheduler=two_workers.address)
    same_tables(found, alone)
    stored = {path.split("/")[0] for path in server.files()}
    assert stored == {"store.json", "chunks", "vectors", "queries", "hits", "chunk_faults", "scores", "explanations", "outputs"}
    computed = pd.read_parquet(found.folder / "timings.parquet").query("name == 'computed_hits'")
    assert computed["value"].tolist() == [1.0] * 3


def test_a_configuration_failing_on_a_worker_is_reported_in_one_line_and_the_others_continue(small_file, tmp_path, two_workers):
    small_file.write_text(
        small_file.read_text().replace("  chunking:\n", "  chunking:\n    - {kind: callable, callable: 'builtins:int'}\n")
    )
    said: list[str] = []
    found = run(small_file, tmp_path / "outputs", said.append, scheduler=two_workers.address)
    (name,) = found.failures
    assert [result.configuration.name for result in found.results] == [
        f"{name}-hashed-64d" for name in ("fixed-32-0", "fixed-128-0", "hierarchical-64-256")
    ]
    alone = run_experiment(
        read_experiment(small_file, ["sweep.chunking=[{kind: callable, callable: 'builtins:int'}]"], allow_code=True),
        tmp_path / "alone",
        lambda _: None,
    )
    assert found.failures[name] in alone.failures.values(), "told otherwise than by one process"
    assert any(name in line and "FAILED" in line for line in said)
    assert "Traceback" in found.tracebacks[name]


def test_unusable_workers_are_reported_before_anything_runs(two_workers, small_file, tmp_path, monkeypatch):
    outputs = tmp_path / "outputs"
    with pytest.raises(InputError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9 .*dask scheduler"):
        run(small_file, outputs, scheduler="tcp://127.0.0.1:9")
    with pytest.raises(InputError, match="no Dask scheduler answers at nonsense"):
        run(small_file, outputs, scheduler="nonsense")
    # Closed by the garbage collector, a client waits for ever wherever the collector comes while a lock of Dask is held.
    assert {one.status for one in gc.get_objects() if issubclass(type(one), Client)} <= {"closed"}
    # A worker sees another folder under this path, as a machine of its own does.
    monkeypatch.setattr("workbench.runner.execution.dask_sweep._place", lambda _: str(tmp_path / "elsewhere"))
    with pytest.raises(InputError, match=rf"does not see the store {re.escape(str(tmp_path / 'elsewhere'))}.*mount it there"):
        run(small_file, outputs, scheduler=two_workers.address)
    monkeypatch.undo()
    assert entries(outputs) == {}


def test_a_task_that_ran_beside_one_that_killed_its_worker_is_tried_once_more_alone(two_workers: Cluster, tmp_path: Path):
    """The scheduler gives up every task of a worker that died several times, whichever of them was the cause."""
    with connected(None, two_workers.address) as workers:
        workers.share("shared", "place")
        tries = [
            Task(name, given_up, functools.partial(tuple, [tmp_path / name, times])) for name, times in (("innocent", 1), ("guilty", 2))
        ]
        tries.append(Task("pickle", planted, functools.partial(tuple, [tmp_path / "pickle"])))
        ended = {found.name: found for found in workers.run(tries)}
    assert ended["innocent"].value == "shared"
    assert "workers died while they ran" in str(ended["guilty"].error)
    assert len((tmp_path / "guilty").read_text()) == 2
    # A worker can run code here: a scheduler and its workers are trusted.
    assert (tmp_path / "pickle").read_text() == str(os.getpid())


class Planted:
    """Leaves the number of the process that unpickles it in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return leave_number, (self.path,)


def leave_number(path: Path) -> None:
    path.write_text(str(os.getpid()))


def planted(_: str, path: Path) -> Planted:
    return Planted(path)


def given_up(shared: str, path: Path, times: int) -> str:
    """Fail the first so many times as a task fails that the scheduler gave up."""
    with path.open("a") as file:
        file.write(".")
    if len(path.read_text()) <= times:
        raise KilledWorker(path.name, SimpleNamespace(address="tcp://127.0.0.1:1"), 3)
    return shared


def test_a_worker_with_several_threads_or_another_workbench_is_refused(two_workers, small_file, tmp_path):
    wide = two_workers.worker(threads=2)
    wait_for_workers(two_workers, 3)
    with pytest.raises(InputError, match="runs 2 tasks at once; start it with --nthreads 1"):
        run(small_file, tmp_path / "outputs", scheduler=two_workers.address)
    wide.kill()
    wait_for_workers(two_workers, 2)
    shutil.copytree(ROOT / "workbench", tmp_path / "other" / "workbench", ignore=shutil.ignore_patterns("__pycache__"))
    module = tmp_path / "other" / "workbench" / "core" / "fingerprint.py"
    module.write_text(module.read_text() + "# changed\n")
    command = [sys.executable, "-m", "dask", "worker", two_workers.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    with (tmp_path / "log.txt").open("wb") as log:
        path = os.pathsep.join([str(tmp_path / "other"), str(ROOT / "tests" / "plugins" / "parts")])
        environment = os.environ | {"PYTHONPATH": path}
        strange = subprocess.Popen([*command, "--host", "127.0.0.1"], cwd=tmp_path, env=environment, stdout=log, stderr=log)
    try:
        wait_for_workers(two_workers, 3)
        with pytest.raises(InputError, match=r"has Workbench .* and this process .*; install the same on both"):
            run(small_file, tmp_path / "outputs", scheduler=two_workers.address)
    finally:
        strange.kill()
        strange.wait()
    wait_for_workers(two_workers, 2)


def test_jobs_listen_on_loopback_alone_and_end_with_ctrl_c(small_file, tmp_path):
    outputs = tmp_path / "outputs"
    with contextlib.closing(Forked(command, "sweep", str(small_file), "--outputs", str(outputs), "--jobs", "2")) as process:
        wait_for(lambda: vectors(outputs) or process.poll() is not None)
        family = psutil.Process(process.pid).children(recursive=True)
        listening = {
            link.laddr.ip for one in [psutil.Process(process.pid), *family] for link in one.net_connections() if link.status == "LISTEN"
        }
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130, said
        assert "interrupted; finished results are kept" in said
        assert "Traceback" not in said
        assert listening == {"127.0.0.1"}
        assert len(family) >= 2
        wait_for(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in family))


def test_workers_of_ours_build_no_grammar_for_jupyters_schemas():
    with connected(1, None) as workers:
        found = workers.ask(eval, "__import__('sys').modules.get('rfc3987_syntax', 0)")
    assert list(found.values()) == [None]


def test_workers_of_ours_import_no_modules_of_the_working_directory(tmp_path, monkeypatch):
    mark = plant_modules(tmp_path)
    monkeypatch.chdir(tmp_path)
    with connected(1, None) as workers:
        # What a worker starts is started as usual.
        assert list(workers.ask(os.getenv, "PYTHONSAFEPATH").values()) == [""]
    assert not mark.exists()
    assert "PYTHONSAFEPATH" not in os.environ


def test_workers_of_ours_leave_this_process_its_threads_also_one_that_replaces_another(monkeypatch):
    # Dask sets one thread for this process, too, which then measures the latencies.
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with connected(1, None) as workers:
        assert os.environ["OMP_NUM_THREADS"] == "2"
        assert "MKL_NUM_THREADS" not in os.environ
        (first,) = workers.ask(os.getpid).values()
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: set(workers.ask(os.getpid).values()) - {first})
    assert os.environ["OMP_NUM_THREADS"] == "2"
    assert not {"MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTHONHASHSEED"} & os.environ.keys()


def test_a_sweep_without_workers_imports_no_dask(fork):
    script = "import sys, workbench.cli.main, workbench.runner.execution.local, workbench.runner.execution.dask_sweep; print(*{'dask', 'distributed', 'fsspec'} & set(sys.modules))"
    assert fork(script).output() == ""


def test_without_the_extra_a_line_says_how_to_install_it(small_file, fork):
    script = (
        "import sys; sys.modules['distributed'] = None; sys.argv = ['workbench', 'sweep', sys.argv[1], '--jobs', '2', '--outputs', sys.argv[2]]\n"
        "import click, workbench.cli.main\n"
        "from click.testing import CliRunner\n"
        "result = CliRunner().invoke(workbench.cli.main.main, sys.argv[1:]); print(result.exit_code, result.stderr.strip())"
    )
    outputs = small_file.parent / "outputs"
    code, *_, line = fork(script, small_file, outputs).output().replace(" ", "\n", 1).splitlines()
    assert (code, line) == ("2", f"workbench: --jobs or --scheduler needs distributed; {advice('cluster')}")


def test_jobs_and_scheduler_exclude_each_other(small_file):
    result = workbench("sweep", small_file, "--jobs", "2", "--scheduler", "tcp://127.0.0.1:9")
    assert result.returncode == 2
    assert result.stderr == "workbench: jobs and scheduler cannot be combined; leave one of them out\n"


def test_an_empty_address_of_a_scheduler_is_refused(small_file):
    result = workbench("sweep", small_file, "--scheduler", "")
    assert result.returncode == 2
    assert result.stderr == "workbench: the scheduler's address is empty; give one such as tcp://host:8786, or leave it out\n"


def test_a_worker_that_is_killed_while_the_cluster_starts_is_one_line(small_file):
    process = Forked(command, "sweep", small_file.name, "--jobs", "1", cwd=small_file.parent)

    def started() -> list[psutil.Process]:
        assert process.poll() is None, process.communicate()
        return [child for child in psutil.Process(process.pid).children() if "spawn_main" in " ".join(child.cmdline())]

    with contextlib.closing(process):
        wait_for(started)
        for child in started():
            child.kill()
        _, line = "".join(process.communicate(timeout=PATIENCE)).splitlines()
    assert process.returncode == 3
    assert line.startswith("workbench: the workers did not start (")
    assert line.endswith("run again: finished results are kept")
