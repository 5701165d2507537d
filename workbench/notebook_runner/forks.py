"""The process that forks kernels, and its kernels, as this process sees them (`workbench.notebook_runner.kernel_server` is the other side)."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence

from workbench.notebook_runner.kernel_server import LENGTH

# What every kernel imports, and what drawing and reading tables import when they are first used.
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
    """What a provisioner asks of a process, for a kernel that the server forked; `returncode` is None while it runs."""

    stdin = stdout = stderr = None

    def __init__(self, own: socket.socket) -> None:
        self._own, self._lock = own, threading.Lock()
        # Unbuffered: the exit code may already follow.
        with own.makefile("rb", buffering=0) as stream:
            self.pid = int(stream.readline())
        self.returncode: int | None = None
        own.settimeout(0)

    def poll(self) -> int | None:
        """The exit code, minus the signal where one ended it; None while it runs."""
        with self._lock, contextlib.suppress(BlockingIOError):
            if self.returncode is None:
                # Nothing at all comes where the server is lost, and the kernel with it.
                self.returncode = int(self._own.recv(16) or -signal.SIGKILL)
                self._own.close()
            return self.returncode
        return None

    def wait(self) -> int:
        """The exit code of a process that has ended, as `poll` said."""
        return self.returncode or 0

    def send_signal(self, number: int) -> None:
        """Send it a signal, as long as it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


class ForkServer:
    """The process that forks; OSError or ValueError from `fork` mean that it is lost."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "workbench.notebook_runner.kernel_server", str(theirs.fileno()), *_PRELOADED, *modules]
            # A session of its own: Ctrl-C is for this process, which then ends the others.
            # The backend that a kernel gives matplotlib before it is imported.
            environment = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"} | os.environ
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], env=environment, start_new_session=True
            )

    @property
    def ended(self) -> bool:
        """Whether it runs no longer."""
        return self.process.poll() is not None

    def fork(self, argv: Sequence[str], environment: Mapping[str, str], folder: str) -> ForkedProcess:
        """A process that runs ipykernel with these arguments, in this environment and folder."""
        request = json.dumps([list(argv), dict(environment), folder]).encode()
        own, theirs = socket.socketpair()
        own.settimeout(_SERVER_SECONDS)
        try:
            with theirs:
                socket.send_fds(self._control, [b"k"], [theirs.fileno()])
            own.sendall(len(request).to_bytes(LENGTH, "big") + request)
            return ForkedProcess(own)
        except BaseException:
            own.close()
            raise

    def close(self) -> None:
        """End it, and with it what it has forked."""
        self.process.kill()
        self.process.wait()
        self._control.close()
