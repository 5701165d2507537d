"""Run a program in a separate process group, and end what is left of the group when the program, or the run that started it, has ended.

The transport of an MCP server starts this file as a script, which imports nothing else. A server may start processes that do not end with it, and a
run that is killed cannot end a server that hangs.
"""

import contextlib
import os
import signal
import sys
import time
from typing import NoReturn

# The seconds between SIGTERM and SIGKILL. The transport sends SIGKILL to this process two seconds after SIGTERM.
_GRACE = 1.0
_PAUSE = 0.01
_ENDS = (signal.SIGCHLD, signal.SIGTERM)


def run(arguments: list[str]) -> None:
    """Run a program until it ends, this process gets SIGTERM, or its parent has ended."""
    parent = os.getppid()
    for number in _ENDS:
        signal.signal(number, _stop)
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    try:
        # Python ignores these two, and a program inherits that.
        defaults = (signal.SIGPIPE, signal.SIGXFSZ)
        program = os.posix_spawnp(arguments[0], arguments, os.environ, setpgroup=0, setsigmask=(), setsigdef=defaults)
    except OSError as error:
        sys.exit(f"{arguments[0]}: {error.strerror}")
    # Only the program reads and writes, so that both sides see the end of the other.
    os.close(0)
    os.close(1)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
        while os.getppid() == parent:
            time.sleep(1)
    finally:
        for number in _ENDS:
            signal.signal(number, signal.SIG_IGN if number == signal.SIGTERM else signal.SIG_DFL)
        _end(program)


def _stop(*_: object) -> NoReturn:
    sys.exit(0)


def _end(group: int) -> None:
    """Send SIGTERM to a process group, and SIGKILL to those that ignore it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        for number in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(group, number)
            ends = time.monotonic() + _GRACE
            while time.monotonic() < ends:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(group, os.WNOHANG)
                os.killpg(group, 0)
                time.sleep(_PAUSE)


if __name__ == "__main__":
    run(sys.argv[1:])
