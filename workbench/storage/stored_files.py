"""The files of a store entry or an index: their sizes and digests when they were written, and a comparison with those of today."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path, PurePath
from typing import TypeAlias

from workbench.core.files import FileState, file_state, sync
from workbench.core.fingerprint import file_digest

# The bytes and BLAKE2b of each file, by its path in the folder.
StoredFiles: TypeAlias = dict[str, tuple[int, str]]


def write_through(folder: Path) -> StoredFiles:
    """Flush every file under a folder to disk, and return their sizes and digests."""
    files: StoredFiles = {}
    for path in file_paths(folder):
        sync(path)
        files[path.relative_to(folder).as_posix()] = (path.stat().st_size, digest(path))
    return files


def file_paths(folder: Path) -> list[Path]:
    """Return the files under a folder, sorted."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def digest(path: Path) -> str:
    """Return the BLAKE2b of a file."""
    return file_digest(path, "blake2b")


def digest_once(path: Path) -> str:
    """Return the BLAKE2b of a file, which a process reads only once while it is the same to the file system."""
    return _digest(path, file_state(path))


@lru_cache(maxsize=256)
def _digest(path: Path, _state: FileState) -> str:
    return digest(path)


def file_fault(folder: Path, files: StoredFiles, digest_of: Callable[[Path], str] = digest) -> str:
    """Return which file in the folder is missing or has changed, or an empty text."""
    for name, (size, written) in files.items():
        path = folder / name
        if ".." in PurePath(name).parts or not path.is_relative_to(folder):
            return f"its manifest names {name}, which is outside"
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size or digest_of(path) != written:
            return f"{name} has changed since it was written"
    return ""
