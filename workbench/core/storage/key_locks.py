"""Locks by key that all processes with one file share, and that end with their process."""

import errno
import fcntl
import hashlib
import os
import threading
import weakref
from pathlib import Path

from workbench.core.files import store_errors

_HELD = (errno.EACCES, errno.EAGAIN)
# What file systems without locks answer.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
# Offsets of a file are signed 64-bit numbers.
_OFFSETS = 2**62


class KeyLocks:
    """Locks named by keys of any text, shared by the threads of this process and by all processes with the same file.

    Each key locks one byte of the file, at an offset computed from the key, so any number of locks needs one file and one descriptor. The
    system frees the locks of a process that ends in any way. On a file system without locks, only the threads of one process share them.

    Examples
    --------
    >>> import tempfile; from pathlib import Path
    >>> locks = KeyLocks(Path(tempfile.mkdtemp()) / "calls.lock")
    >>> locks.try_lock("a key"), locks.try_lock("a key"), locks.try_lock("another")
    (True, False, True)
    >>> locks.unlock("a key")
    >>> locks.try_lock("a key")
    True
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _lock_file(path)

    def try_lock(self, key: str) -> bool:
        """Lock a key without waiting. Return False if a thread or process has it, this thread included."""
        with store_errors(self.path):
            return self._own_file().try_lock(_offset(key))

    def unlock(self, key: str) -> None:
        """Free a key that this process has locked."""
        with store_errors(self.path):
            self._own_file().unlock(_offset(key))

    def _own_file(self) -> "_LockFile":
        # A forked process inherits the object and the descriptor, but none of the locks.
        if self._file.process != os.getpid():
            self._file = _lock_file(self.path)
        return self._file


class _LockFile:
    """The one descriptor of a file in this process: closing any descriptor of the file would free all locks of the process."""

    def __init__(self, descriptor: int) -> None:
        self.process = os.getpid()
        self._descriptor = descriptor
        self._locked: set[int] = set()
        self._guard = threading.Lock()
        weakref.finalize(self, _close, descriptor, self.process)

    def try_lock(self, offset: int) -> bool:
        with self._guard:
            # The system lets a process lock its own locks again.
            if offset in self._locked:
                return False
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
            except OSError as error:
                if error.errno in _HELD:
                    return False
                if error.errno not in _NO_LOCKS:
                    raise
            self._locked.add(offset)
            return True

    def unlock(self, offset: int) -> None:
        with self._guard:
            if offset in self._locked:
                self._locked.remove(offset)
                try:
                    fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, offset)
                except OSError as error:
                    if error.errno not in _NO_LOCKS:
                        raise


def _close(descriptor: int, process: int) -> None:
    # In a forked process, closing the inherited descriptor would free the locks that it has by its own one.
    if process == os.getpid():
        os.close(descriptor)


_files: weakref.WeakValueDictionary[tuple[int, int, int], _LockFile] = weakref.WeakValueDictionary()
_opening = threading.Lock()


def _lock_file(path: Path) -> _LockFile:
    """Return this process's object for a file, which is opened at most once at a time."""
    with _opening, store_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and (file := _files.get(_identity(path.stat()))):
            return file
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        # The file may have been replaced since by one that is open already, whose locks closing this descriptor would free.
        file = _files.get(key := _identity(os.fstat(descriptor))) or _LockFile(descriptor)
        _files[key] = file
        return file


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_dev, status.st_ino, os.getpid()


def _offset(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()) % _OFFSETS
