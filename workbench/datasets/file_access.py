"""Read a dataset's files: regular files only, inside the folders that the user named, up to a size limit."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from workbench.core.formatting import count
from workbench.errors import InputError

# A file of text takes about five times its size in memory.
MAX_FILE_MB = 1024
MEGABYTE = 1_000_000
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


class RefusedFileError(ValueError):
    """A file of a dataset that is not read, with the reason and the fix."""


@dataclass(frozen=True, slots=True)
class FileAccess:
    """The paths that the user named, and the largest file that is read, in megabytes.

    A named path may be a link to any place. A file below a named folder must be inside that folder after all links are resolved, so
    that a dataset from elsewhere cannot import other files of this machine.
    """

    named: tuple[Path, ...] = ()
    max_file_mb: int = MAX_FILE_MB

    def read(self, path: Path) -> bytes:
        """Return a file's content. Raises RefusedFileError for a file that must not be read, and OSError for one that cannot be."""
        if reason := self.refusal(path):
            raise RefusedFileError(reason)
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            raw = stream.read(size + 1)
        if len(raw) != size:
            raise RefusedFileError("changed while it was read; wait until nothing writes to it")
        return raw

    def refusal(self, path: Path) -> str:
        """Return the reason not to read a file, or an empty text."""
        if outside := self.outside(path):
            return outside
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            return f"is {special_kind(path)}, not a file; put a file in its place"
        return self.too_large(found.st_size)

    def outside(self, path: Path) -> str:
        """Return the fault of a file or folder that a link places outside of its named folder, or an empty text."""
        above = [named for named in self.named if path.is_relative_to(named)]
        if not above or path in above:
            return ""
        root = max(above, key=lambda named: len(named.parts))
        target = Path(os.path.realpath(path))
        if target.is_relative_to(os.path.realpath(root)):
            return ""
        return f"is a link to {target}, outside of {root}; put a copy in its place"

    def too_large(self, size: int) -> str:
        """Return the fault of content of more bytes than allowed, or an empty text."""
        if size <= self.max_file_mb * MEGABYTE:
            return ""
        most = count(self.max_file_mb)
        return f"has {count(size / MEGABYTE)} MB, more than max_file_mb allows ({most}); split it, or raise max_file_mb (--max-file-mb)"


def special_kind(path: Path) -> str:
    """Name the kind of an existing path that is not a regular file: a folder, a device, a pipe or a socket. Otherwise return an empty text."""
    return _KINDS.get(stat.S_IFMT(path.stat().st_mode), "")


@contextmanager
def readable() -> Iterator[None]:
    """Turn the failure to read a path into an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{error.filename} cannot be read ({error.strerror})", "give a readable file or folder") from error
