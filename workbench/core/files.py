"""Write files whole or not at all, and turn what the disk says into one line with its fix."""

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

from workbench.errors import StoreError, WorkbenchError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# SQLite and numpy have no number for it.
_SAYS_FULL = re.compile(r"disk is full|requested and \d+ written")
_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST, errno.ENOTDIR)


class store_errors:  # noqa: N801  # reads as a statement: with store_errors(folder)
    """Turns what the disk says while writing into one line with its fix; a full disk loses nothing that was finished."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, WorkbenchError):
            return
        number = error.errno if isinstance(error, OSError) else None
        if number in _FULL or _SAYS_FULL.search(str(error)):
            raise StoreError(f"the disk is full at {self.place}", "free space and run again: what was finished is kept") from error
        if number in _UNWRITABLE:
            raise StoreError(
                f"{getattr(error, 'filename', None) or self.place} cannot be written", "choose another --outputs or change its permissions"
            ) from error


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name in its folder, flush it and rename it: readers see the old one or the new one, whole."""
    with store_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            write(aside)
            sync(aside)
            os.replace(aside, path)
            sync(path.parent)
        finally:
            aside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, as UTF-8."""
    write_atomically(path, lambda aside: aside.write_text(text, "utf-8"))


def sync(path: Path) -> None:
    """Flush a file or a folder's names to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
