"""Calls that differ between Linux, macOS and Windows: locks of bytes, forks, signals, links and limits. No other module makes them.

It imports the standard library alone. As a script it runs a program in a separate process group and ends what is left of the group when the program, or the
run that started it, has ended: an MCP server may start processes that do not end with it, and a run that is killed cannot end a server that hangs.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

ON_WINDOWS = sys.platform == "win32"
# Elsewhere a fork of a process that has loaded system libraries can hang.
CAN_FORK = sys.platform == "linux"
_SET_PARENT_DEATH_SIGNAL = 1
# Windows refuses readers a locked byte, so that the one that stands for a whole file is behind its end.
_WHOLE_FILE = 2**31 - 2
# The seconds in which a reader on Windows, such as a virus scanner, closes a file.
_READER_SECONDS = 2.0


def lock_bytes(descriptor: int, count: int, start: int) -> None:
    """Lock bytes of a file, which need not exist, until it is closed or the process ends, by the locks that SQLite uses. Raises OSError if they are locked."""
    if sys.platform == "win32":
        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, start, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, count)
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)
    else:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, count, start)


def lock_file(descriptor: int) -> None:
    """Lock a file until it is closed or the process ends. Raises BlockingIOError if it is locked, and OSError if its file system has no locks."""
    if sys.platform == "win32":
        try:
            lock_bytes(descriptor, 1, _WHOLE_FILE)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from None
    else:
        # A lock of bytes would end with any descriptor of the file.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked_folder(folder: Path, waiting: Callable[[], object]) -> Iterator[None]:
    """Lock a folder until the end of the context or of the process, and call `waiting` if another process has it. Not every file system has locks."""
    # Windows opens no folder. It deletes no file that another process has open, so that all of them lock the same one.
    place = folder / ".workbench.lock" if ON_WINDOWS else folder
    descriptor = os.open(place, os.O_RDWR | os.O_CREAT if ON_WINDOWS else os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            _wait_for_lock(descriptor, waiting)
        yield
    finally:
        os.close(descriptor)
        if ON_WINDOWS:
            with contextlib.suppress(OSError):
                place.unlink()


def _wait_for_lock(descriptor: int, waiting: Callable[[], object]) -> None:
    try:
        lock_file(descriptor)
        return
    except BlockingIOError:
        waiting()
    while True:
        time.sleep(0.05)
        with contextlib.suppress(BlockingIOError):
            lock_file(descriptor)
            return


def open_descriptor(path: Path, flags: int, permissions: int = 0o666, follow: bool = True) -> int:
    """Open a file as `os.open`, without a translation of line ends and without waiting for a pipe's other end.

    A link is refused with OSError unless it may `follow` it, on systems that can refuse it while they open it.
    """
    own = ("O_BINARY", "O_NONBLOCK", *(() if follow else ("O_NOFOLLOW",)))
    for name in own:
        flags |= getattr(os, name, 0)
    return os.open(path, flags, permissions)


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    # Windows opens no folder, and flushes only a file that is open for writing.
    if ON_WINDOWS and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if ON_WINDOWS else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def reserve(path: Path) -> None:
    """Give all bytes of a file a place on the disk, on systems that can. Raises OSError if the disk is full."""
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


def move(source: Path, target: Path) -> None:
    """Rename a file in place of another, or a folder in place of an empty one. Windows refuses that while a file is open, so it is tried for two seconds there."""
    ends = time.monotonic() + _READER_SECONDS
    while True:
        try:
            if ON_WINDOWS and target.is_dir():
                target.rmdir()
            os.replace(source, target)
            return
        except PermissionError:
            if not ON_WINDOWS or time.monotonic() > ends:
                raise
            time.sleep(0.05)


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """Yield a temporary folder, which is deleted at the end. Windows deletes no file that a library closes late: it is tried for two seconds there."""
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=ON_WINDOWS) as folder:
        try:
            yield Path(folder)
        finally:
            ends = time.monotonic() + _READER_SECONDS
            while ON_WINDOWS and Path(folder).exists() and time.monotonic() < ends:
                shutil.rmtree(folder, ignore_errors=True)
                time.sleep(0.05)


def link_or_copy(source: Path, target: Path) -> None:
    """Make a link to a file, or a copy where links need a privilege, as on Windows."""
    try:
        target.symlink_to(source.resolve(strict=True))
    except FileNotFoundError:
        raise
    except OSError:
        import shutil

        shutil.copyfile(source, target)


def is_own(status: os.stat_result) -> bool:
    """Check whether a file is this user's. Windows has temporary folders of each user."""
    return ON_WINDOWS or status.st_uid == os.getuid()


def is_root() -> bool:
    """Check whether this process may do anything, as root may. Windows has no such user."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def become(command: list[str]) -> NoReturn:
    """Run a program in place of this one, or on Windows, where that would leave the terminal to both, until its end."""
    if ON_WINDOWS:
        import subprocess

        sys.exit(subprocess.call(command))
    os.execv(command[0], command)


def processor_flags() -> frozenset[str]:
    """Return the features of the processor, as Linux lists them, and an empty set elsewhere."""
    try:
        return frozenset(Path("/proc/cpuinfo").read_text("utf-8", "replace").split())
    except OSError:
        return frozenset()


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit_memory(size: int) -> None:
    """Limit the address space of this process to `size` bytes. Windows has no such limit."""
    if sys.platform != "win32":
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        limit = size if hard == resource.RLIM_INFINITY else min(size, hard)
        # macOS refuses a limit below what is mapped.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def ending(code: int) -> str:
    """Name the way in which a process ended: the signal of a negative exit code."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def after_fork(act: Callable[[], object]) -> None:
    """Call a function in every process that this one forks. Windows has no forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=act)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Hide Ctrl-C from threads and processes that are started in the context, and their children. On Windows they receive it too."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def kill_group(process: int) -> None:
    """Kill a process with those that it started, if they are a group. Windows has no groups, and a new process has none yet."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.killpg(process, signal.SIGKILL)


def reap_children() -> None:
    """Let the system forget the children of this process when they end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def fork() -> int:
    """Fork this process. Returns 0 in the new one, which leads a session that ends with this one, and its id in this one."""
    parent = os.getpid()
    process = os.fork()
    if process == 0:
        import ctypes

        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    return process


def grouped(command: list[str]) -> list[str]:
    """Return the command that runs a program by this file as a script. On Windows the MCP package puts the program's processes into a job, which it ends."""
    return command if ON_WINDOWS else [sys.executable, "-I", "-S", __file__, *command]


# The seconds between SIGTERM and SIGKILL. The transport sends SIGKILL to this process two seconds after SIGTERM.
_GRACE = 1.0
_PAUSE = 0.01


def _run(arguments: list[str]) -> None:
    """Run a program until it ends, this process gets SIGTERM, or its parent has ended."""
    parent, ends = os.getppid(), (signal.SIGCHLD, signal.SIGTERM)
    for number in ends:
        signal.signal(number, _stop)
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
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
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ends)
        while os.getppid() == parent:
            time.sleep(1)
    finally:
        for number in ends:
            signal.signal(number, signal.SIG_IGN if number == signal.SIGTERM else signal.SIG_DFL)
        _end(program)


def _stop(*_: Any) -> NoReturn:
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
    _run(sys.argv[1:])
