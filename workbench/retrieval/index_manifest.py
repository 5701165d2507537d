"""The manifest of an index: its key, a digest of the vectors and ids that went in, and the size and digest of every file.

Chroma answers from a damaged index without an error, so an index is compared with its manifest before it is used.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from workbench.core import batching
from workbench.errors import error_line
from workbench.records import Chunk
from workbench.storage.stored_files import StoredFiles, digest_once, file_fault
from workbench.storage.vector_cache import Vectors

MANIFEST = "workbench.json"


class IndexManifest(BaseModel):
    """An index as it was built: its key, the `recipe` of its settings, the number and digest of its vectors, size and digest of its files."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    key: str
    recipe: dict[str, int | str]
    vectors: int = Field(ge=0)
    content: str
    files: StoredFiles

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the manifest of an index. Raises ValueError unless it has all fields, of the right types, and OSError."""
        return cls.model_validate_json((folder / MANIFEST).read_bytes())


def verified_index(folder: Path) -> IndexManifest:
    """Return the manifest of an index whose files are as they were built. Raises ValueError with the difference if they are not."""
    try:
        manifest = IndexManifest.read(folder)
    except (OSError, ValueError) as error:
        raise ValueError(f"{MANIFEST} is missing, unreadable or of another version") from error
    if manifest.key != folder.name:
        raise ValueError(f"it is the index {manifest.key}")
    try:
        fault = file_fault(folder, manifest.files, digest_once)
    except OSError as error:
        raise ValueError(f"it cannot be read ({error_line(error)})") from error
    if fault:
        raise ValueError(fault)
    return manifest


def content_digest(chunks: Sequence[Chunk], vectors: Vectors) -> str:
    """Hash the ids and vectors of an index, in their order."""
    digest = hashlib.blake2b(json.dumps([chunk.chunk_id for chunk in chunks]).encode(), digest_size=16)
    for part in batching.blocks(len(vectors), batching.rows(4 * vectors.shape[1])):
        digest.update(np.ascontiguousarray(vectors[part], dtype=np.float32).tobytes())
    return digest.hexdigest()
