"""A process that has imported what notebooks need, and forks a kernel whenever it is asked to: imports are paid once a sweep.

Started by `workbench.notebook_runner.kernels` as `python -m workbench.notebook_runner.kernel_server DESCRIPTOR MODULE...`. It imports and does
nothing else: a fork after a torch operation hangs, and an open Chroma client would be shared. A request is a byte on the socket
DESCRIPTOR with the kernel's own socket, on which follow the length and the JSON of (argv, environment, folder); the process id goes
back on it, and the exit code when the kernel has ended. When the other end closes, all kernels are killed.
"""

import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import select
import signal
import socket
import sys
import warnings
from typing import Any, NoReturn

from workbench.core.processes import skip_schema_grammar

LENGTH = 8
_SET_PARENT_DEATH_SIGNAL = 1


def main() -> None:
    """Import the modules, then serve; what follows runs in each kernel."""
    skip_schema_grammar()
    control = socket.socket(fileno=int(sys.argv[1]))
    for name in sys.argv[2:]:
        # What cannot be imported is told by the notebook that needs it.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    _run_kernel(*_serve(control))


def _serve(control: socket.socket) -> tuple[list[str], dict[str, str], str]:
    """Fork a kernel for each request. Returns in the kernels only, with the request."""
    kernels: dict[int, socket.socket] = {}
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    server, awaited = os.getpid(), list[Any]((control, awake))
    while True:
        ready, _, _ = select.select(awaited, [], [])
        if awake in ready:
            os.read(awake, 4096)
            _tell_ends(kernels)
        if control not in ready:
            continue
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not descriptors:
            _end(kernels)
        own = socket.socket(fileno=descriptors[0])
        try:
            request = _read(own)
        except (OSError, ValueError):
            own.close()
            continue
        with warnings.catch_warnings():
            # Python warns of the idle threads of numpy's and pyarrow's libraries, which see to forks themselves.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            _leave_server(server, [control, own, *kernels.values()], [awake, wake])
            return request
        kernels[pid] = own
        _tell(own, pid)


def _read(own: socket.socket) -> tuple[list[str], dict[str, str], str]:
    with own.makefile("rb") as stream:
        argv, environment, folder = json.loads(stream.read(int.from_bytes(stream.read(LENGTH), "big")))
    return argv, environment, folder


def _tell(own: socket.socket, number: int) -> None:
    # Who asked may be gone.
    with contextlib.suppress(OSError):
        own.sendall(b"%d\n" % number)


def _tell_ends(kernels: dict[int, socket.socket]) -> None:
    while kernels:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with kernels.pop(pid) as own:
            _tell(own, os.waitstatus_to_exitcode(status))


def _end(kernels: dict[int, Any]) -> NoReturn:
    for pid in kernels:
        # With whatever the kernel started; it may have ended, or not have its own group yet.
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(pid, signal.SIGKILL)
    os._exit(0)


def _leave_server(server: int, sockets: list[socket.socket], pipes: list[int]) -> None:
    """The kernel's first steps: nothing of the server stays open, and the kernel does not outlive it."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != server:
        os._exit(1)
    for one in sockets:
        one.close()
    for descriptor in pipes:
        os.close(descriptor)


def _run_kernel(argv: list[str], environment: dict[str, str], folder: str) -> None:
    """What `python -m ipykernel_launcher` does, in the environment and folder asked for."""
    from ipykernel.kernelapp import launch_new_instance

    launcher = importlib.util.find_spec("ipykernel_launcher")
    os.environ.clear()
    os.environ.update(environment | {"JPY_PARENT_PID": str(os.getppid())})
    os.chdir(folder)
    # -m put the folder there; the kernel puts it in again, as "".
    del sys.path[0]
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()  # Python's own generator seeds itself anew in a fork
    sys.argv = [str(launcher.origin) if launcher else "", *argv, f"--IPKernelApp.parent_handle={os.getppid()}"]
    launch_new_instance()


if __name__ == "__main__":
    main()
