"""The file `entry.json` of a stored result: whose result it is, its files with their digests, and a digest of all this."""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from workbench.core.fingerprint import fingerprint
from workbench.storage.stored_files import StoredFiles, file_fault

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
        """Return the manifest with its digest."""
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
