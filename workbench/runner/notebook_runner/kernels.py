"""Start the kernels of a run's notebooks, one process each, forked from a process that has already imported everything.

A used kernel keeps state (a Chroma client lists deleted collections), so no kernel is reused. If forks are not safe, or the forking
process is lost, kernels are started in Jupyter's own way. A kernel ends with its notebook, and all kernels end with this process.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psutil
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

from workbench.core.errors import NotebookError
from workbench.core.operating_system import CAN_FORK, kill_group

# Starts the server without the working directory in the path, whose modules must not be imported in place of others.
_START = (
    "import sys; sys.path = [place for place in sys.path if place]; from workbench.runner.notebook_runner.kernel_server import main; main()"
)
_LAUNCHER = [sys.executable, "-m", "ipykernel_launcher"]
# Modules that every kernel imports, and those that plots and tables import on first use.
_PRELOADED = (
    "ipykernel.kernelapp",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "matplotlib.layout_engine",
    "PIL.PngImagePlugin",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "tokenizers",
)
_SERVER_SECONDS = 120


class ForkedProcess:
    """A kernel that the server forked and the system reaps, with the process methods that a provisioner calls."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid, self._process = pid, psutil.Process(pid)

    def poll(self) -> int | None:
        """Return None while the process runs, then 0 whatever its exit code was."""
        with contextlib.suppress(psutil.NoSuchProcess):
            # In a container, possibly no process reaps the kernels of a killed server.
            if self._process.is_running() and self._process.status() != psutil.STATUS_ZOMBIE:
                return None
        return 0

    def wait(self) -> int:
        return 0

    def send_signal(self, number: int) -> None:
        """Send the process a signal if it is running."""
        with contextlib.suppress(psutil.NoSuchProcess):
            self._process.send_signal(number)

    def kill(self) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            self._process.kill()


class ForkServer:
    """The process that forks kernels. It is lost if `fork` raises OSError, ValueError or psutil.Error."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._control, theirs = socket.socketpair()
        self._control.settimeout(_SERVER_SECONDS)
        with theirs:
            command = [sys.executable, "-c", _START, str(theirs.fileno()), *_PRELOADED, *modules]
            # In a separate session, so that Ctrl-C reaches only this process, which then ends the others.
            # The backend is the one that a kernel sets before importing matplotlib.
            environment = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"} | os.environ
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], env=environment, start_new_session=True
            )

    def fork(self, argv: Sequence[str], environment: Mapping[str, str], folder: str) -> ForkedProcess:
        """Fork a process that runs ipykernel with these arguments in this environment and folder."""
        self._control.sendall(json.dumps([argv, dict(environment), folder]).encode() + b"\n")
        with self._control.makefile("rb") as answers:
            return ForkedProcess(int(answers.readline()))

    def close(self) -> None:
        """End the server and its kernels."""
        self.process.kill()
        self.process.wait()
        self._control.close()


class Kernels(contextlib.AbstractContextManager["Kernels"]):
    """The kernels of a run, started from several threads and ended on exit. They import `modules`; `say` reports when forking stops."""

    def __init__(self, modules: Sequence[str], say: Callable[[str], None], fork: bool = CAN_FORK) -> None:
        self._modules, self._say, self._can_fork = modules, say, fork
        self._lock = threading.RLock()
        self._server: ForkServer | None = None
        self._started: list[Any] = []
        self._closed = False
        self.forks = True
        self.manager_class = type("RunKernelManager", (_RunKernelManager,), {"kernels": self})

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def server_pid(self) -> int | None:
        """Return the id of the forking process, or None before the first kernel."""
        return self._server.process.pid if self._server else None

    def fork(self, command: list[str], environment: Mapping[str, str], folder: str) -> ForkedProcess | None:
        """Fork a kernel, or return None if it must start without a fork or with another Python. Raises NotebookError once the run ended."""
        if command[:3] != _LAUNCHER:
            return None
        with self._lock:
            if self._closed:
                raise _ended()
            if self.lost():
                return None
            try:
                self._server = self._server or ForkServer(self._modules)
                return self._server.fork(command[3:], environment, folder)
            except (OSError, ValueError, psutil.Error) as error:
                self._lose(f"the process that forks them does not answer ({type(error).__name__})")
                return None

    def hold(self, process: Any) -> None:
        """Remember a kernel until the end of the run. If the run ended while the kernel started, kill it and raise NotebookError."""
        with self._lock:
            self._started = [started for started in self._started if started.poll() is None] + [process]
        if self._closed:
            _kill(process)
            process.wait()
            raise _ended()

    def lost(self) -> bool:
        """Return True if kernels can no longer be forked, and report the reason the first time."""
        with self._lock:
            if not self._can_fork:
                self._lose("this system has no safe fork")
            elif self._server and self._server.process.poll() is not None:
                self._lose("the process that forks them ended")
            return not self.forks

    def _lose(self, why: str) -> None:
        if self.forks and not self._closed:
            self.forks = False
            self._say(f"notebooks: each kernel imports its modules itself, which takes longer: {why}")

    def close(self) -> None:
        """End every kernel, including starting ones, and the server."""
        self._closed = True
        for process in self._started:
            _kill(process)
        # Without the lock, which a thread may have while it waits for the server. Closing the server ends that wait.
        if self._server:
            self._server.process.kill()
        with self._lock:
            if self._server:
                self._server.close()


def _ended() -> NotebookError:
    return NotebookError("the run of the notebooks was stopped", "run again")


def _kill(process: Any) -> None:
    if process.poll() is None:
        kill_group(process.pid)
        with contextlib.suppress(OSError):
            process.kill()


class _RunProvisioner(LocalProvisioner):  # type: ignore[misc]  # Jupyter is not typed here
    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        kernels: Kernels = self.parent.kernels
        folder = kwargs.get("cwd") or os.getcwd()
        forked = kernels.fork(cmd, kwargs["env"], folder)
        if forked is None:
            await super().launch_kernel(cmd, **kwargs)
        else:
            self.process, self.pid, self.pgid, self.cwd = forked, forked.pid, forked.pid, folder
        kernels.hold(self.process)
        return self.connection_info


class _RunKernelManager(AsyncKernelManager):  # type: ignore[misc]  # Jupyter is not typed here
    kernels: Kernels

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kernel_id = str(uuid.uuid4())
        self.provisioner = _RunProvisioner(kernel_id=self.kernel_id, kernel_spec=self.kernel_spec, parent=self)
