"""Real kernels: each notebook has a process of its own, whatever becomes of the others, of the process that forks, or of the sweep."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import psutil
import pytest
from jupyter_core.utils import ensure_event_loop
from papermill.iorw import papermill_io

from workbench.core.errors import NotebookError
from workbench.core.storage.result_store import Store
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.local import Outcome
from workbench.runner.notebook_runner import notebooks
from workbench.runner.notebook_runner.kernels import Kernels
from workbench.runner.notebook_runner.notebooks import at_once, execute, imported_modules, notebook_jobs, run_notebook

pytestmark = pytest.mark.slow

RECORD = "from workbench.report.render.notebook import Record\nRecord(run_id, {}, 'nothing')"
# What one kernel leaves behind if it is used again, and how the next one would see it.
LEAVE = """
import json, os, sys, random, numpy, pandas, warnings, logging
left = 1
json.left = 1
os.environ["LEFT"] = "1"
os.chdir("/")
sys.path.append("/left")
sys.modules["left"] = json
pandas.options.display.max_rows = 7
numpy.set_printoptions(precision=1)
logging.getLogger().setLevel(1)
warnings.simplefilter("ignore")
"""
SEE = """
import json, os, sys, numpy, pandas, warnings, logging
print(json.dumps(["left" in globals(), hasattr(json, "left"), os.environ.get("LEFT"), os.getcwd(), "/left" in sys.path,
    "left" in sys.modules, pandas.options.display.max_rows, numpy.get_printoptions()["precision"],
    logging.getLogger().level, [one[0] for one in warnings.filters]]))
"""
# What a cell can see of the process it runs in, that is, where a forked kernel could differ from a plain one.
STATE = """
import workbench, nbformat
import hashlib, json, os, sys, signal, matplotlib, psutil, threading
# Digests, because a notebook must not keep the keys.
own = {name: hashlib.sha256(value.encode()).hexdigest() for name, value in os.environ.items() if name not in ("JPY_PARENT_PID", "PYDEVD_USE_FRAME_EVAL")}
own_files = [one for one in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{one}") and "socket" not in os.readlink(f"/proc/self/fd/{one}")]
print(json.dumps({
    "path": sys.path, "environment": own, "folder": os.getcwd(), "backend": matplotlib.get_backend(), "lark": "lark" in sys.modules,
    "main": sys.modules["__main__"].__dict__ is globals(), "name": __name__, "argv": [os.path.basename(sys.argv[0]), sys.argv[1]],
    "interrupt": str(signal.getsignal(signal.SIGINT).__class__), "child": str(signal.getsignal(signal.SIGCHLD)),
    "leader": os.getpid() == os.getsid(0) == os.getpgid(0), "parent": os.environ["JPY_PARENT_PID"] == str(os.getppid()),
    "ports": len(psutil.Process().net_connections("inet")), "executable": sys.executable, "flags": str(sys.flags), "input": sys.stdin.__class__.__name__,
}, sort_keys=True))
"""
# What starts threads of its own, in a process that was forked from one with such libraries loaded.
HEAVY = """
import numpy, pandas, scipy.linalg, torch, chromadb, tempfile
numpy.linalg.inv(numpy.random.random((400, 400))); scipy.linalg.svd(numpy.random.random((300, 300)))
(torch.ones(400, 400) @ torch.ones(400, 400)).sum().item()
folder = tempfile.mkdtemp()
pandas.DataFrame({"a": range(100_000), "b": "text"}).to_parquet(folder + "/a.parquet")
client = chromadb.PersistentClient(folder)
client.create_collection("abc", embedding_function=None).add(ids=["1"], embeddings=[[1.0, 2.0]])
print(len(pandas.read_parquet(folder + "/a.parquet")), client.get_collection("abc", embedding_function=None).count())
client.close()
"""
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """What the shared kernels say."""
    return []


@pytest.fixture(scope="module")
def shared(lines) -> Iterator[Kernels]:
    """Kernels for tests that leave the process that forks them alone."""
    with Kernels(["workbench.runner.notebook_runner.notebooks", "workbench.report.render.notebook"], lines.append) as forked:
        yield forked


@pytest.fixture
def kernels(told) -> Iterator[Kernels]:
    """Kernels for a test that ends the process that forks them."""
    with Kernels([], told.append) as forked:
        yield forked


@pytest.fixture
def plain() -> Iterator[Kernels]:
    with Kernels([], lambda _: None, fork=False) as started:
        yield started


def notebook(folder: Path, *cells: str) -> Path:
    parameters = nbformat.v4.new_code_cell('root = ""\nrun_id = ""', metadata={"tags": ["parameters"]})
    book = nbformat.v4.new_notebook(cells=[parameters, *(nbformat.v4.new_code_cell(cell) for cell in [*cells, RECORD])])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = folder / f"{len(list(folder.glob('*.ipynb')))}.ipynb"
    nbformat.write(book, path)
    return path


def run(tmp_path: Path, kernels: Kernels, *cells: str) -> Any:
    """The outputs of the first cell after the parameters."""
    source, store = notebook(tmp_path, *cells), Store(tmp_path / "store")
    target = tmp_path / "outputs" / source.name
    with closing(ensure_event_loop()):
        assert run_notebook(store, source, {"root": str(store.root)}, time.time_ns(), target, kernels)
    return nbformat.read(target, as_version=4).cells[2].outputs


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def waits(until: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not until() and time.monotonic() < end:
        time.sleep(0.05)
    return until()


def test_nothing_of_one_notebook_is_seen_in_the_next(tmp_path, shared, lines):
    (clean,) = run(tmp_path, shared, SEE)
    server = shared.server_pid
    run(tmp_path, shared, LEAVE)
    (after,) = run(tmp_path, shared, SEE)
    assert after.text == clean.text
    assert json.loads(after.text)[:2] == [False, False]
    pids = {run(tmp_path, shared, "import os\nprint(os.getpid(), os.getppid())")[0].text for _ in range(2)}
    assert len(pids) == 2
    assert {int(pid.split()[1]) for pid in pids} == {server}
    assert lines == []


def test_forks_draw_other_random_numbers(tmp_path, shared):
    cell = "import random, numpy\nprint(random.random(), numpy.random.random())"
    one, other = (run(tmp_path, shared, cell)[0].text.split() for _ in range(2))
    assert not set(one) & set(other)


def test_a_forked_kernel_sees_what_a_plain_one_sees(tmp_path, shared, plain):
    (forked,), (started,) = run(tmp_path, shared, STATE), run(tmp_path, plain, STATE)
    seen, usual = json.loads(forked.text), json.loads(started.text)
    # A kernel that Jupyter starts is as anybody's: only the forked ones do without the grammar.
    assert not seen.pop("lark")
    usual.pop("lark")
    assert seen == usual
    assert shared.forks
    assert shared.server_pid is not None
    assert plain.server_pid is None


def test_libraries_with_threads_work_in_forked_kernels(tmp_path):
    with Kernels(["workbench.api.results", "torch", "chromadb"], lambda _: None) as kernels:
        for _ in range(2):
            assert run(tmp_path, kernels, HEAVY)[-1].text == "100000 1\n"
        assert kernels.forks


def test_figures_are_shown_in_a_forked_kernel(tmp_path, shared):
    assert [list(output.data) for output in run(tmp_path, shared, PLOT) if output.output_type == "display_data"] == [
        ["image/png", "text/plain"]
    ]


def test_a_kernel_that_ends_early_takes_no_other_with_it(tmp_path, shared, lines):
    for cell, message in (
        ("import os\nos._exit(0)", "did not finish"),
        ("import ctypes\nctypes.string_at(0)", "did not finish"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "did not finish"),
        ("import sys\nsys.exit(0)", "did not run"),
        ("raise SystemExit(3)", "SystemExit"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import subprocess, os\nsubprocess.Popen(['sleep', '1000'])\nos._exit(3)", "did not finish"),
    ):
        with pytest.raises(NotebookError, match=message):
            run(tmp_path, shared, cell)
        assert run(tmp_path, shared, "print('next')")[0].text == "next\n"
    assert lines == []


@pytest.mark.parametrize("fork", [True, False])
def test_a_cell_that_takes_too_long_is_interrupted(tmp_path, monkeypatch, shared, plain, fork):
    monkeypatch.setattr(notebooks, "_CELL_SECONDS", 3)
    with pytest.raises(NotebookError, match="failed: KeyboardInterrupt"):
        run(tmp_path, shared if fork else plain, "import time\ntime.sleep(300)")
    failed = nbformat.read(tmp_path / "outputs" / "0.failed.ipynb", as_version=4)
    assert "KeyboardInterrupt" in str(failed.cells)


def test_a_lost_server_is_reported_once_and_the_notebook_runs_again_in_a_plain_kernel(tmp_path, kernels, told):
    once = tmp_path / "once"
    kill = f"import os, time\nfirst = not os.path.exists({str(once)!r})\nopen({str(once)!r}, 'w').close()\n"
    kill += "if first:\n    os.kill(os.getppid(), 9)\n    time.sleep(300)\nprint('again')"
    assert run(tmp_path, kernels, kill)[0].text == "again\n"
    assert run(tmp_path, kernels, "print('next')")[0].text == "next\n"
    (line,) = told
    assert "ended" in line
    assert not (tmp_path / "outputs" / "0.failed.ipynb").exists()


def test_a_server_lost_between_two_notebooks_is_reported_once(tmp_path, kernels, told):
    run(tmp_path, kernels, "1")
    os.kill(kernels.server_pid, signal.SIGKILL)
    assert run(tmp_path, kernels, "print('next')")[0].text == "next\n"
    assert run(tmp_path, kernels, "print('next')")[0].text == "next\n"
    assert len(told) == 1


def test_a_system_without_a_safe_fork_is_reported(tmp_path, told):
    with Kernels([], told.append, fork=False) as kernels:
        assert run(tmp_path, kernels, "print('plain')")[0].text == "plain\n"
    assert told == ["notebooks: each kernel imports its modules itself, which takes longer: this system has no safe fork"]


def test_a_missing_module_is_reported_only_by_the_notebook(tmp_path, told):
    with Kernels(["no.such_module"], told.append) as kernels:
        with pytest.raises(NotebookError, match="ModuleNotFoundError"):
            run(tmp_path, kernels, "import no.such_module")
        assert run(tmp_path, kernels, "print('next')")[0].text == "next\n"
    assert told == []


def test_nothing_is_left_open_or_running(tmp_path, monkeypatch):
    run_one = "import os\nprint(os.getpid())"
    left = None
    # Not in tmp_path, which is too long for the address of a socket, nor in the folder where the tests beside this one have their kernels.
    with tempfile.TemporaryDirectory() as sockets:
        monkeypatch.setattr(tempfile, "tempdir", sockets)
        for _ in range(2):  # the first time Jupyter opens what it keeps
            with Kernels([], lambda _: None) as kernels:
                pids = [int(run(tmp_path, kernels, run_one)[0].text), kernels.server_pid]
            assert all(gone(pid) for pid in pids)
            assert not os.listdir(sockets)
            now = len(os.listdir("/proc/self/fd")), threading.active_count()
            assert left in (None, now)
            left = now


def test_no_kernel_starts_once_a_run_was_ended(tmp_path):
    for fork in (True, False):
        kernels = Kernels([], lambda _: None, fork=fork)
        kernels.close()
        with pytest.raises(NotebookError, match="was stopped"):
            run(tmp_path, kernels, "print('late')")


SWEEP = """
import sys
from pathlib import Path
from workbench.runner.notebook_runner.kernels import Kernels
from workbench.runner.notebook_runner.notebooks import NotebookJob, execute
from workbench.core.storage.result_store import Store
folder, source, fork = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "True"
store = Store(folder / "store")
wanted = [NotebookJob(source, f"n{number}", {"root": str(folder / "store")}, [number]) for number in range(5)]
with Kernels([], print, fork=fork) as kernels:
    try:
        execute(folder / "notebooks", store, wanted, kernels, 2, print)
    finally:
        print("server", kernels.server_pid, flush=True)
"""
# It says its process id and that of a process it has started, then works for long.
WORKS = (
    "import os, subprocess, time\nfrom pathlib import Path\nstarted = subprocess.Popen(['sleep', '1000'])\n"
    "(Path(root).parent / f'{os.getpid()}.pid').write_text(f'{os.getpid()} {started.pid} {os.getppid()}')\ntime.sleep(300)"
)


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A short path: a socket's may have some 100 characters, and pytest's own folders have half of them."""
    with tempfile.TemporaryDirectory(prefix="w", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def sweeping(tmp_path, start, temporary) -> Callable[[bool], tuple[subprocess.Popen[str], list[list[int]]]]:
    """A process with two notebooks at work, and the process ids of each: the kernel, what it has started, its parent."""

    def begin(fork: bool) -> tuple[subprocess.Popen[str], list[list[int]]]:
        process = start(SWEEP, tmp_path, notebook(tmp_path, WORKS), fork, env={"TMPDIR": str(temporary)})
        assert waits(lambda: len([path for path in tmp_path.glob("*.pid") if path.read_text()]) == 2, 60), process.poll()
        return process, [[int(pid) for pid in path.read_text().split()] for path in tmp_path.glob("*.pid")]

    return begin


@pytest.mark.parametrize("fork", [True, False])
def test_a_sweep_that_is_killed_leaves_no_kernel(sweeping, fork):
    process, pids = sweeping(fork)
    process.kill()
    process.wait()
    for kernel, started, server in pids:
        assert waits(lambda kernel=kernel: gone(kernel))
        if fork:
            assert waits(lambda server=server: gone(server))
            assert waits(lambda started=started: gone(started))
        elif not gone(started):  # a plain kernel notices by itself, and what it has started does not
            os.kill(started, signal.SIGKILL)


def test_kernels_do_not_outlive_a_server_that_is_killed_with_its_sweep(sweeping):
    process, pids = sweeping(True)
    for pid in (pids[0][2], process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    for kernel, started, _ in pids:
        assert waits(lambda kernel=kernel: gone(kernel))
        if not gone(started):
            os.kill(started, signal.SIGKILL)


@pytest.mark.parametrize("fork", [True, False])
def test_ctrl_c_ends_everything_at_once(sweeping, fork, temporary):
    process, pids = sweeping(fork)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - begun < 20
    assert err.strip().splitlines()[-1] == "KeyboardInterrupt"
    assert process.returncode == -signal.SIGINT
    assert "notebook" not in out.replace("notebooks: each kernel", "")
    for kernel, started, server in pids:
        assert gone(kernel)
        assert waits(lambda started=started: gone(started), 5)
        assert gone(server)
    assert list(temporary.iterdir()) == []


def test_side_by_side_is_what_it_is_one_after_another(few: Outcome, tmp_path: Path):
    """Byte for byte, but for times and papermill's random cell ids."""
    found, lines = [], []
    for fork, workers in ((False, 1), (True, 2)):
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        folder, store = Path(shutil.copytree(few.folder, tmp_path / "run" / "few")), Store(tmp_path / "run" / "store")
        # A configuration and the comparison.
        wanted = notebook_jobs(RunTables.read(folder))[-2:]
        modules = [module for one in wanted for module in imported_modules(one.source)]
        told: list[str] = []
        with Kernels(modules, lambda _: None, fork=fork) as kernels:
            assert execute(folder / "notebooks", store, wanted, kernels, workers, told.append) == {}
        found.append({one.name: timeless(folder / "notebooks" / f"{one.name}.ipynb") for one in wanted})
        lines.append(told)
    assert found[0] == found[1]
    assert lines[0] == lines[1]
    assert [line.split(" ")[1] for line in lines[0]] == ["1/2", "2/2"]


def timeless(path: Path) -> str:
    text = re.sub(r'"(start_time|end_time)": "[^"]+"', "", path.read_text())
    text = re.sub(r'"(iopub|shell)\.[\w.]+": "[^"]+"', "", text)
    return re.sub(r'"duration": [\d.]+|"id": "[\w-]+"', "", text)


def test_a_failing_notebook_is_reported_in_order_and_the_others_continue(shared, lines, tmp_path: Path):
    good, bad = notebook(tmp_path, "import time\ntime.sleep(1)"), notebook(tmp_path, "import os\nos._exit(1)")
    wanted = [notebooks.NotebookJob(bad if number == 1 else good, f"n{number}", {"root": ""}, [number]) for number in range(4)]
    told: list[str] = []
    errors = execute(tmp_path / "notebooks", Store(tmp_path / "store"), wanted, shared, 2, told.append)
    assert list(errors) == ["n1"]
    assert [line.split(":")[0] for line in told] == [f"notebook {number + 1}/4 n{number}" for number in range(4)]
    assert "FAILED, the kernel of the notebook n1 did not finish" in told[1]
    assert lines == []


def test_notebooks_side_by_side_do_not_change_the_directory_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared):
    """papermill changes it for all threads, to that of an earlier run where two runs did not end in the order of their starts."""
    earlier, here = tmp_path / "earlier", tmp_path / "here"
    earlier.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    handler, visited = papermill_io.get_handler("local"), set()
    before, change = handler.cwd(str(earlier)), os.chdir
    monkeypatch.setattr(os, "chdir", lambda folder: (visited.add(str(folder)), change(folder)))
    # The first two start in either order. One of those that are still running writes after the first of them ended.
    sources = [notebook(tmp_path, f"import time\ntime.sleep({seconds})") for seconds in (1, 3, 4)]
    jobs = [notebooks.NotebookJob(source, source.stem, {"root": ""}, []) for source in sources]
    try:
        assert execute(Path("notebooks"), Store(Path("store")), jobs, shared, 2, lambda _: None) == {}
    finally:
        handler.cwd(before)
    assert visited == {str(here)}


def test_two_at_once_where_there_are_cores_and_memory(monkeypatch):
    def machine(cores: int, gigabytes: float) -> int:
        monkeypatch.setattr(os, "cpu_count", lambda: cores)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
        monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=int(gigabytes * 2**30)))
        return at_once()

    assert 2**26 < psutil.virtual_memory().available < 2**50
    assert machine(2, 8) == 2
    assert machine(16, 64) == 2
    assert machine(1, 8) == 1
    assert machine(4, 1.5) == 1
    assert machine(4, 0.1) == 1


def test_a_module_of_the_working_directory_does_not_replace_another(tmp_path, monkeypatch):
    for name in ("json", "psutil", "matplotlib", "workbench"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})")
    monkeypatch.chdir(tmp_path)
    with Kernels(["workbench.api.results"], lambda _: None) as kernels:
        (tmp_path / "notebooks").mkdir()
        assert run(tmp_path / "notebooks", kernels, "print(6 * 7)")[0].text == "42\n"
        assert kernels.forks
    assert not (tmp_path / "ran").exists()
