"""The manifest of an index: its key, a digest of the vectors and ids that went in, and the size and digest of every file.

Chroma answers from a damaged index without an error, so an index is compared with its manifest before it is used.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workbench.core import batching
from workbench.core.files import sync
from workbench.core.fingerprint import file_digest
from workbench.errors import error_line
from workbench.records import Chunk
from workbench.storage.vector_cache import Vectors

FILE = "workbench.json"


class IndexManifest(NamedTuple):
    """An index as it was built: its key, the `recipe` of its settings, the number and digest of its vectors, size and digest of its files."""

    key: str
    recipe: dict[str, Any]
    vectors: int
    content: str
    files: dict[str, list[Any]]


def write_manifest(folder: Path, key: str, recipe: dict[str, Any], chunks: Sequence[Chunk], vectors: Vectors) -> None:
    """Describe a finished index in its folder, and flush all of its files to disk."""
    files = {name: [size, file_digest(folder / name, "blake2b")] for name, size in sizes(folder).items()}
    manifest = IndexManifest(key, recipe, len(chunks), content_digest(chunks, vectors), files)
    (folder / FILE).write_text(json.dumps(manifest._asdict()), "utf-8")
    for path in (*folder.rglob("*"), folder):
        sync(path)


def read_manifest(folder: Path) -> IndexManifest | None:
    """Return the manifest of an index, or None if it is missing, unreadable or of another version of Workbench."""
    try:
        manifest = IndexManifest(**json.loads((folder / FILE).read_text("utf-8")))
        entries = list(manifest.files.values())
        sound = all(isinstance(size, int) and isinstance(digest, str) for size, digest in entries) and isinstance(manifest.vectors, int)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    return manifest if sound else None


def content_digest(chunks: Sequence[Chunk], vectors: Vectors) -> str:
    """Hash the ids and vectors of an index, in their order."""
    digest = hashlib.blake2b(json.dumps([chunk.chunk_id for chunk in chunks]).encode(), digest_size=16)
    for part in batching.blocks(len(vectors), batching.rows(4 * vectors.shape[1])):
        digest.update(np.ascontiguousarray(vectors[part], dtype=np.float32).tobytes())
    return digest.hexdigest()


def file_damage(folder: Path) -> str:
    """Return how a folder differs from the index that its manifest describes, or an empty text."""
    manifest = read_manifest(folder)
    if manifest is None:
        return f"{FILE} is missing, unreadable or of another version"
    if manifest.key != folder.name:
        return f"it is the index {manifest.key}"
    try:
        found = sizes(folder)
        for name, (size, digest) in manifest.files.items():
            if name not in found:
                return f"{name} is missing"
            if found[name] != size or _digest(folder / name, *_state(folder / name)) != digest:
                return f"{name} has changed since it was built"
    except OSError as error:
        return f"it cannot be read ({error_line(error)})"
    return ""


def sizes(folder: Path) -> dict[str, int]:
    """Return the size of each file of an index in bytes."""
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()}


@lru_cache(maxsize=256)
def _digest(path: Path, *_state: int) -> str:
    # A notebook searches one index many times: a file that is the same to the file system is read once in a process.
    return file_digest(path, "blake2b")


def _state(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
