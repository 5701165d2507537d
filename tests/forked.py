"""Processes forked from a server that has imported Workbench: a command or a script starts in milliseconds instead of seconds.

The server has computed nothing, so forking it is safe (see workbench/runner/notebook_runner/kernel_server.py). Its modules keep the variables of
the environment that are read on import. For tests of the interpreter, its options or its environment there is the fixture `start`.
"""

import atexit
import contextlib
import ctypes
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
SERVER = multiprocessing.get_context("forkserver")
PRELOADED = [
    "chromadb.api.rust",
    "joblib",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "papermill",
    "PIL.PngImagePlugin",
    "pyarrow.dataset",
    "scipy.sparse",
    "scipy.stats",
    "tests.forked",
    "tokenizers",
    "workbench.cli.main",
    "workbench.components.embedding.static",
    "workbench.runner.execution.collect",
    "workbench.runner.execution.outputs",
    "workbench.runner.experiment.read",
    "workbench.report.render.html",
    "workbench.report.render.plain",
]
SERVER.set_forkserver_preload(PRELOADED)
_SET_PARENT_DEATH_SIGNAL = 1


class Forked:
    """A process that calls a function of a module, with the attributes of subprocess.Popen. It leads a session and ends with the server.

    The environment has variables changed. Standard output and error are text streams, or are appended to the file `log`.
    """

    def __init__(
        self,
        function: Callable[..., object],
        *arguments: Any,
        cwd: Path = ROOT,
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
    ) -> None:
        self.streams: list[TextIO] = []
        if log:
            writers = [Connection(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), readable=False) for _ in range(2)]
        else:
            (out, out_writer), (err, err_writer) = os.pipe(), os.pipe()
            self.streams = [self.stdout, self.stderr] = [os.fdopen(out), os.fdopen(err)]
            writers = [Connection(descriptor, readable=False) for descriptor in (out_writer, err_writer)]
        environment = {**os.environ, **(env or {})}
        self._process = SERVER.Process(target=_begin, args=(*writers, str(cwd), environment, function, arguments))
        self._process.start()
        # A thread that starts another process polls all known ones. Of two polls at once, the second finds no exit code and says 255.
        multiprocessing.process._children.discard(self._process)  # type: ignore[attr-defined]
        self.pid = self._process.pid
        for writer in writers:
            writer.close()

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def poll(self) -> int | None:
        """Return the exit code, negative if a signal ended the process, and None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Return what the process writes until its end. It is killed after the time limit."""
        with ThreadPoolExecutor(2) as pool:
            texts = [pool.submit(stream.read) for stream in self.streams]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                # A child of the process that lives on would keep the streams open.
                self._kill_group()
                raise
            return texts[0].result(), texts[1].result()

    def _kill_group(self) -> None:
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                if self.poll() is None:
                    kill(self.pid, signal.SIGKILL)

    def output(self, timeout: float = 600) -> str:
        """Return what the process prints until its end, which must be a success."""
        out, err = self.communicate(timeout)
        assert self.returncode == 0, err
        return out.strip()

    def close(self) -> None:
        """End the process and its group."""
        self._kill_group()
        self.wait()
        for stream in self.streams:
            stream.close()


def run(*words: object, cwd: Path = ROOT, env: Mapping[str, str] | None = None, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """Run the command `workbench` in a forked process to its end."""
    with contextlib.closing(Forked(command, *map(str, words), cwd=cwd, env=env)) as process:
        out, err = process.communicate(timeout)
    return subprocess.CompletedProcess(["workbench", *words], process.wait(), out, err)


def command(*words: str) -> None:
    """Do what the program `workbench` does."""
    from workbench.cli.main import run

    sys.argv = ["workbench", *words]
    run()


def script(text: str, *arguments: str) -> None:
    """Do what `python -c` does."""
    sys.argv = ["-c", *arguments]
    sys.modules["__main__"] = module = ModuleType("__main__")
    exec(compile(text, "<string>", "exec"), module.__dict__)


def _begin(
    out: Connection, err: Connection, cwd: str, environment: Mapping[str, str], function: Callable[..., object], arguments: Any
) -> None:
    """Make the forked process like a started one, then call the function."""
    os.setsid()
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    for descriptor, number in ((os.open(os.devnull, os.O_RDONLY), 0), (out.fileno(), 1), (err.fileno(), 2)):
        os.dup2(descriptor, number)
    out.close()
    err.close()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    np.random.seed()  # Python reseeds its own generator in a fork
    gc.freeze()
    try:
        function(*arguments)
    finally:
        atexit._run_exitfuncs()


@pytest.fixture
def fork() -> Iterator[Callable[..., Forked]]:
    """Run a script as the fixture `start` does, in a forked process. No process outlives its test."""
    started: list[Forked] = []

    def begin(text: str, *arguments: object, **options: Any) -> Forked:
        started.append(Forked(script, text, *map(str, arguments), **options))
        return started[-1]

    yield begin
    for process in started:
        process.close()
