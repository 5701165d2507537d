"""Make a Python process on Linux lack what Windows lacks, for the code of Workbench alone: libraries keep their parts for Linux.

Modules of Workbench see `sys.platform == "win32"`; neither fcntl, resource, pwd and grp nor the functions of os and signal that Windows has not. For
`msvcrt.locking` they get the locks of Linux that behave like it: they belong to an open file, not to a process. Links are refused, /proc is not there, folders
cannot be opened, files that this process has open or mapped cannot be renamed, replaced or deleted, names that Windows reserves are refused, and so are two
names in a folder that differ only in case. filelock keeps its lock for Linux, and os.sep stays `/`.

`environment` starts such processes, and all that they start.
"""

import builtins
import errno
import os
import re
import shutil
import struct
import sys
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGE = f"{ROOT / 'workbench'}{os.sep}"
STANDARD = f"{Path(os.__file__).parent}{os.sep}"
REFUSED = {"fcntl", "resource", "pwd", "grp", "termios", "pty", "posix", "syslog"}
OS = """fork forkpty register_at_fork killpg setsid setpgid getpgid getpgrp getuid geteuid getgid getegid getgroups posix_spawn posix_spawnp wait WNOHANG
    pread pwrite preadv pwritev readv writev sendfile posix_fadvise posix_fallocate lockf fchmod fchown chown lchown mkfifo mknod O_CLOEXEC
    O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_SYNC O_TMPFILE sched_getaffinity nice getloadavg statvfs uname sysconf sync set_blocking"""
SIGNAL = """SIGKILL SIGCHLD SIGHUP SIGPIPE SIGALRM SIGUSR1 SIGUSR2 SIGQUIT SIGXFSZ SIGSTOP SIGCONT SIG_BLOCK SIG_UNBLOCK SIG_SETMASK pthread_sigmask
    pthread_kill sigwait alarm setitimer siginterrupt"""
RESERVED = re.compile(r'(?i)(con|prn|aux|nul|com[1-9]|lpt[1-9])(\..*)?$|.*[<>:"|?*\\\x00-\x1f]|.*[. ]$')


class Seen(ModuleType):
    """A module of the standard library as Workbench sees it."""

    def __init__(self, module: ModuleType, missing: str = "", **changed: object) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(changed, _module=module, _missing=frozenset(missing.split()))

    def __getattr__(self, name: str) -> Any:
        if name in self._missing:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self._module, name)


def locking(descriptor: int, _: int, count: int) -> None:
    """Do what msvcrt does with LK_NBLCK: lock bytes from the position of an open file."""
    import fcntl

    # Windows locks a file that was opened to read or to write (LockFile). Linux has only a shared lock for the first, which no writer's can join.
    reads = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    wanted = struct.pack("hhqqi4x", fcntl.F_RDLCK if reads else fcntl.F_WRLCK, os.SEEK_CUR, 0, count, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)
    except BlockingIOError:
        raise PermissionError(errno.EACCES, "Permission denied") from None


def _own() -> bool:
    """Check whether a module of Workbench makes the present call, directly or through the standard library."""
    frame: FrameType | None = sys._getframe(1).f_back
    while frame and frame.f_code.co_filename.startswith((STANDARD, "<frozen")):
        frame = frame.f_back
    return bool(frame and frame.f_code.co_filename.startswith(PACKAGE))


def _in_use(path: str) -> bool:
    """Check whether this process has a file open or mapped, or one in a folder."""
    if os.path.islink(path) or not os.path.exists(path):
        return False
    files = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        files += [line.split(maxsplit=5)[5].rstrip("\n") for line in maps if "/" in line]
    place = os.path.realpath(path)
    return any(file == place or file.startswith(f"{place}{os.sep}") for file in files)


def _check_name(path: str) -> None:
    folder, name = os.path.split(os.path.abspath(path))
    if RESERVED.match(name) or len(name) > 255:
        raise OSError(errno.EINVAL, "Windows has no such name", path)
    if os.path.isdir(folder) and (others := [other for other in os.listdir(folder) if other != name and other.lower() == name.lower()]):
        raise OSError(errno.EEXIST, f"the same as {others[0]} on Windows", path)


def _checked(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what Windows refuses."""
    if event not in EVENTS or not arguments or not isinstance(arguments[0], str | bytes | os.PathLike) or not _own():
        return
    path = os.fsdecode(arguments[0])
    if event == "os.symlink":
        raise OSError(errno.EPERM, "A required privilege is not held by the client", path)
    if event == "open":
        flags = arguments[2] if isinstance(arguments[2], int) else 0
        if path.startswith("/proc/"):
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        if flags & os.O_CREAT and path != os.devnull:
            _check_name(path)
    elif event == "os.mkdir":
        _check_name(path)
    else:
        if event == "os.rename":
            target = os.fsdecode(arguments[1])
            _check_name(target)
            if _in_use(target) or os.path.isdir(target):
                raise PermissionError(errno.EACCES, "in use, or a folder", target)
        if _in_use(path):
            raise PermissionError(errno.EACCES, "in use", path)


EVENTS = {"open", "os.symlink", "os.rename", "os.remove", "os.rmdir", "os.mkdir"}


def begin() -> None:
    """Make this process lack them, before it imports Workbench."""
    import signal

    msvcrt = ModuleType("msvcrt")
    msvcrt.__dict__.update(locking=locking, LK_NBLCK=2)
    seen: dict[str, ModuleType] = {
        "os": Seen(os, OS),
        "signal": Seen(signal, SIGNAL),
        "sys": Seen(sys, platform="win32"),
        "msvcrt": msvcrt,
    }
    usual = builtins.__import__

    def imported(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> ModuleType:  # noqa: A002
        if level == 0 and str((globals or {}).get("__name__", "")).split(".")[0] == "workbench":
            if name in REFUSED:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            if name in seen:
                return seen[name]
        return usual(name, globals, locals, fromlist, level)

    builtins.__import__ = imported
    shutil._use_fd_functions = False  # type: ignore[attr-defined]  # Windows has none
    sys.addaudithook(_checked)


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of Python processes that lack them. A file in `folder` makes them do so."""
    start = f"from importlib.util import *\nspec = spec_from_file_location('like_windows', {__file__!r})\nmodule = module_from_spec(spec)\n"
    (folder / "sitecustomize.py").write_text(f"{start}spec.loader.exec_module(module)\nmodule.begin()\n", "utf-8")
    return {**os.environ, "PYTHONPATH": str(folder)}
