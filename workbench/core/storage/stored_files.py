"""The files of a store entry or an index: sizes and digests, as `entry.json` of an entry lists them, compared with those of today."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from workbench.core.files import FileState, file_state, in_order
from workbench.core.fingerprint import file_digest, fingerprint
from workbench.core.operating_system import sync

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
    return in_order(path for path in folder.rglob("*") if path.is_file())


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


MANIFEST = "entry.json"


class EntryManifest(BaseModel):
    """The kind and key of an entry, the seconds of its computation, and the size and BLAKE2b of each file.

    Entries of earlier versions of Workbench have no `digest`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: str
    key: str
    seconds: float = Field(ge=0, allow_inf_nan=False)
    files: StoredFiles
    digest: str | None = None

    @classmethod
    def of(cls, kind: str, key: str, seconds: float, files: StoredFiles) -> Self:
        return cls(kind=kind, key=key, seconds=seconds, files=files, digest=fingerprint(kind, key, float(seconds), files))

    @classmethod
    def read(cls, text: str | bytes) -> Self:
        """Read a manifest. Raises ValueError unless it has all fields, of the right types."""
        return cls.model_validate_json(text)

    def fault(self, kind: str, key: str) -> str:
        """Return why this cannot be the manifest of an entry, or an empty text."""
        if (self.kind, self.key) != (kind, key):
            return f"it is {self.kind}/{self.key}"
        if self.digest is None and not self.files:
            return f"{MANIFEST} lists no files"
        if self.digest is not None and self.digest != fingerprint(kind, key, self.seconds, self.files):
            return f"{MANIFEST} has changed since it was written"
        # A manifest under a URL must not name files outside the entry.
        strange = [name for name in self.files if name in ("", ".", "..", MANIFEST) or "/" in name or "\\" in name]
        return f"{MANIFEST} names the file {strange[0]!r}" if strange else ""


def verified_manifest(folder: Path, kind: str, key: str) -> EntryManifest:
    """Return the manifest of an entry whose files are as they were written. Raises ValueError with the difference if they are not.

    Raises OSError if they cannot be read, which says nothing about them.
    """
    try:
        manifest = EntryManifest.read((folder / MANIFEST).read_bytes())
    except ValueError as error:
        raise ValueError(f"{MANIFEST}: {type(error).__name__}") from error
    if fault := manifest.fault(kind, key) or file_fault(folder, manifest.files):
        raise ValueError(fault)
    return manifest


def entry_fault(folder: Path, kind: str, key: str) -> str:
    """Return how the entry in a folder differs from the entry that was written, or an empty text. Raises OSError if it cannot be read."""
    try:
        verified_manifest(folder, kind, key)
    except ValueError as error:
        return str(error)
    return ""
