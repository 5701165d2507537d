"""The client of the process that forks kernels, `workbench.notebook_runner.kernel_server`."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence

import psutil

# Modules that every kernel imports, and that drawing and reading tables import on first use.
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
    """A kernel that the server forked and the system reaps, with the methods of a process that a provisioner calls."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid, self._process = pid, psutil.Process(pid)

    def poll(self) -> int | None:
        """None while it runs, then 0, whatever its exit code was."""
        with contextlib.suppress(psutil.NoSuchProcess):
            # In a container nobody may reap the kernels of a server that was killed.
            if self._process.is_running() and self._process.status() != psutil.STATUS_ZOMBIE:
                return None
        return 0

    def wait(self) -> int:
        """The exit code of a process that has ended."""
        return 0

    def send_signal(self, number: int) -> None:
        """Send it a signal if it runs."""
        with contextlib.suppress(psutil.NoSuchProcess):
            self._process.send_signal(number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """The process that forks; OSError, ValueError or psutil.Error from `fork` mean that it is lost."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._control, theirs = socket.socketpair()
        self._control.settimeout(_SERVER_SECONDS)
        with theirs:
            command = [sys.executable, "-m", "workbench.notebook_runner.kernel_server", str(theirs.fileno()), *_PRELOADED, *modules]
            # In another session: Ctrl-C is for this process, which then ends the others.
            # The backend is what a kernel gives matplotlib before it is imported.
            environment = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"} | os.environ
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], env=environment, start_new_session=True
            )

    def fork(self, argv: Sequence[str], environment: Mapping[str, str], folder: str) -> ForkedProcess:
        """Fork a process that runs ipykernel with these arguments, in this environment and folder."""
        self._control.sendall(json.dumps([argv, dict(environment), folder]).encode() + b"\n")
        with self._control.makefile("rb") as answers:
            return ForkedProcess(int(answers.readline()))

    def close(self) -> None:
        """End the process and its kernels."""
        self.process.kill()
        self.process.wait()
        self._control.close()
