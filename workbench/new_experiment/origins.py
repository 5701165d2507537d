"""The record of an experiment's documents: the file that each was made from, and the files that were not read."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path, PurePath

from pydantic import BaseModel, ConfigDict

from workbench.core.files import write_text
from workbench.datasets.files import ORIGINS
from workbench.errors import InputError


class DocumentOrigin(BaseModel):
    """The file that a document was made from, with the hashes of both."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    doc_id: str
    file: str
    document: str
    sha256: str
    converter: str
    text_sha256: str
    notes: tuple[str, ...] = ()


class SkippedFile(BaseModel):
    """A file of the folder that is no document, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    reason: str


class Origins(BaseModel):
    """Where the documents of an experiment come from. `source` is the folder, relative to the experiment's folder if possible."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    documents: tuple[DocumentOrigin, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()

    @property
    def by_file(self) -> Mapping[str, DocumentOrigin]:
        """Return the origins by the path of their file."""
        return {origin.file: origin for origin in self.documents}


def read_origins(folder: Path) -> Origins | None:
    """Return the record in an experiment's folder, or None without one. Raises InputError for a damaged one."""
    file = folder / ORIGINS
    if not file.is_file():
        return None
    try:
        origins = Origins.model_validate_json(file.read_bytes())
        if wrong := next((origin.document for origin in origins.documents if not _is_below(origin.document)), None):
            raise ValueError(f"{wrong!r} is no path below {folder}")
        if "\0" in origins.source:
            raise ValueError("its source is no path")
    except (ValueError, OSError) as error:
        raise InputError(f"{file} cannot be read ({str(error).splitlines()[0]})", "restore it, or give another --name") from None
    return origins


def _is_below(path: str) -> bool:
    return "\0" not in path and not PurePath(path).is_absolute() and ".." not in PurePath(path).parts


def write_origins(folder: Path, origins: Origins) -> None:
    """Write the record, atomically."""
    write_text(folder / ORIGINS, json.dumps(origins.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n")


def text_digest(text: str) -> str:
    """Return the hash of a text, as that of its file."""
    return hashlib.sha256(text.encode()).hexdigest()
