"""Write files atomically and report disk errors in one line with a fix."""

import errno
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import InputError, StoreError, WorkbenchError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# SQLite and numpy raise this error without an error number.
_SAYS_FULL = re.compile(r"disk is full|requested and \d+ written")
_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST, errno.ENOTDIR, errno.ENAMETOOLONG)
# A broken disk, or one that was unplugged or unmounted.
_BROKEN = (errno.EIO, errno.ENXIO, errno.ENODEV, errno.ESTALE)


@contextmanager
def store_errors(place: Path) -> Iterator[None]:
    """Turn disk errors while reading or writing under `place` into one line with a fix. Finished results survive them."""
    try:
        yield
    except WorkbenchError:
        raise
    except BaseException as error:
        number = error.errno if isinstance(error, OSError) else None
        if number in _FULL or _SAYS_FULL.search(str(error)):
            raise StoreError(f"the disk is full at {place}", "free space and run again: finished results are kept") from error
        if number in _UNWRITABLE:
            what = f"{getattr(error, 'filename', None) or place} cannot be written"
            raise StoreError(what, "choose another folder or change its permissions") from error
        if number in _BROKEN:
            what = f"the disk failed at {getattr(error, 'filename', None) or place} ({os.strerror(number or 0)})"
            raise StoreError(what, "check the disk and run again: finished results are kept") from error
        raise


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name, flush it and rename it, so that readers see either the old file or the complete new one."""
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


def table_fault(error: Exception) -> str:
    """Say in words why a parquet file could not be read."""
    reason = error.strerror if isinstance(error, OSError) else ""
    return reason or "it is not a complete parquet file"


def require_folder(path: Path, name: str) -> Path:
    """Return the path of a folder that exists or can be made. Raises InputError with the `name` of the setting if a file is in its way."""
    nearest = next((place for place in (path, *path.parents) if place.exists()), path)
    if nearest.exists() and not nearest.is_dir():
        reason = "" if nearest == path else f", since {nearest} is a file"
        raise InputError(f"{name} {path} is not a folder{reason}", "name another one")
    return path


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
