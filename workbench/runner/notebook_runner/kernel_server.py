"""A process that imports the notebooks' modules once per sweep and forks a kernel for each request.

Started by `workbench.runner.notebook_runner.kernels` as `python -c START DESCRIPTOR MODULE...`. It imports and does
nothing else: a fork after a torch operation hangs, and an open Chroma client would be shared. A request is one line of JSON (argv,
environment, folder) on the socket DESCRIPTOR, the answer a line with the process id. When the other end closes, all kernels are killed.
"""

import contextlib
import gc
import importlib
import importlib.util
import json
import os
import socket
import sys
import warnings
from typing import NoReturn

import psutil

from workbench.core.environment import skip_schema_grammar
from workbench.core.operating_system import fork, kill_group, reap_children


def main() -> None:
    """Import the modules, then serve requests. Each forked process runs a kernel."""
    skip_schema_grammar()
    control = socket.socket(fileno=int(sys.argv[1]))
    for name in sys.argv[2:]:
        # The notebook that needs the module reports the failed import.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    request = _serve(control)
    if request is None:
        _end()
    _run_kernel(*request)


def _serve(control: socket.socket) -> tuple[list[str], dict[str, str], str] | None:
    """Fork a kernel for each request. Returns the request in the kernel, and None in the server once the other end has closed."""
    reap_children()
    # The other end may close before it has sent a complete request or read an answer.
    with control, control.makefile("rb") as requests, contextlib.suppress(OSError, ValueError):
        for line in requests:
            argv, environment, folder = json.loads(line)
            with warnings.catch_warnings():
                # Python warns about idle threads of numpy's and pyarrow's libraries, which handle forks themselves.
                warnings.simplefilter("ignore", DeprecationWarning)
                pid = fork()
            if pid == 0:
                return argv, environment, folder
            control.sendall(b"%d\n" % pid)
    return None


def _end() -> NoReturn:
    for kernel in psutil.Process().children():
        kill_group(kernel.pid)
        with contextlib.suppress(psutil.NoSuchProcess):
            kernel.kill()
    os._exit(0)


def _run_kernel(argv: list[str], environment: dict[str, str], folder: str) -> None:
    """Run a kernel as `python -m ipykernel_launcher` does, in the given environment and folder."""
    from ipykernel.kernelapp import launch_new_instance

    launcher = importlib.util.find_spec("ipykernel_launcher")
    os.environ.clear()
    os.environ.update(environment | {"JPY_PARENT_PID": str(os.getppid())})
    os.chdir(folder)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()  # Python reseeds its own generator in a fork
    sys.argv = [str(launcher.origin) if launcher else "", *argv, f"--IPKernelApp.parent_handle={os.getppid()}"]
    launch_new_instance()
