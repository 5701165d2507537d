"""Build one Chroma collection per (chunks, embedding), each in its own folder: built once, audited, renamed, then only read.

Two processes that write to one collection lose vectors, and builds are not reproducible. So a build uses a temporary folder and a lock.
Chroma trusts its files, so an index is checked before it is searched, and rebuilt from the stored vectors if it is damaged.
"""

import functools
import hashlib
import json
import os
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field

from workbench.core import batching
from workbench.core.environment import require_installed
from workbench.core.errors import IndexBuildError, StoreError, error_line
from workbench.core.files import store_errors
from workbench.core.operating_system import link_or_copy, move, scratch_folder, sync
from workbench.core.records import Chunk
from workbench.core.storage.stored_files import StoredFiles, digest_once, file_fault, file_paths, write_through
from workbench.core.storage.vector_cache import Vectors
from workbench.core.text.progress import notice

MANIFEST = "workbench.json"

VERSION = 4
COLLECTION = "chunks"
SPACE = "cosine"
# By default the graph of the last 1,000 vectors is not on disk. Each opening builds it anew, on threads, and not always the same one.
_GRAPH_ON_DISK = {"sync_threshold": 2}
# The beginning of a copy's name, before the process, by which doctor finds the copies of killed processes.
COPY = "workbench-index-"
_DATABASE, _GRAPH = "chroma.sqlite3", "index_metadata.pickle"
# In hnswlib's header, four numbers follow the format's version: an offset, the room for rows, the rows, and the bytes of a row.
_HEADER_START, _LENGTH_BYTES = 4, 4
_SELF_RECALL = 0.95
_AUDITED = 200
# Ids to request from Chroma at once.
_ASKED = 1_000
_REBUILD = "delete the folder and run again to rebuild it"
# The folders and manifests of indexes that this process has searched for their own vectors. Their files are compared each time.
_SOUND: set[tuple[Path, str]] = set()


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


def index_recipe() -> dict[str, Any]:
    """Return the settings of an index besides its vectors: the space and the version of Chroma, which reads only files of that version."""
    return {"version": VERSION, "space": SPACE, "chromadb": version("chromadb")}


def is_built(folder: Path) -> bool:
    """Return True if the folder contains a finished index. Its content is checked on opening."""
    return (folder / MANIFEST).is_file()


def build_index(folder: Path, chunks: Sequence[Chunk], vectors: Vectors) -> bool:
    """Build the index in `folder` unless it exists, and return whether this call built it. Raises IndexBuildError if its audit fails."""
    if is_built(folder):
        return False
    with _locked(folder):
        if is_built(folder):
            return False
        _build(folder, chunks, vectors)
    return True


def ensure_index(folder: Path, chunks: Sequence[Chunk], vectors: Vectors) -> None:
    """Check that an index contains these chunks and finds their vectors. If not, rebuild it and say so."""
    if not (fault := _damage(folder, chunks, vectors)):
        return
    with _locked(folder):
        # Another process may have rebuilt it in the meantime.
        if _damage(folder, chunks, vectors):
            _build(folder, chunks, vectors)
    notice(f"the index {folder} was damaged ({fault}), so it was rebuilt")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with store_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{folder.name}.lock")):
            yield


def _build(folder: Path, chunks: Sequence[Chunk], vectors: Vectors) -> None:
    """Build an index in place of whatever the folder contains. The caller must have its lock."""
    _check_space(folder.parent, vectors)
    aside = folder.with_name(f"{folder.name}.tmp")
    # A temporary folder was left by a killed process.
    shutil.rmtree(aside, ignore_errors=True)
    try:
        _fill(aside, chunks, vectors)
        _clear_unused(aside)
        _describe(aside, folder.name, chunks, vectors)
        if folder.is_symlink():
            folder.unlink()
        elif folder.exists():
            shutil.rmtree(folder)
        move(aside, folder)
        sync(folder.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _clear_unused(folder: Path) -> None:
    """Overwrite the rows of the graph's files that have no vector. hnswlib fills them with memory of this process, which can contain keys."""
    for header in folder.glob("*/header.bin"):
        _, _, rows, row_bytes = struct.unpack_from("<4Q", header.read_bytes(), _HEADER_START)
        for name, size in (("data_level0.bin", row_bytes), ("length.bin", _LENGTH_BYTES)):
            path = header.with_name(name)
            whole = path.stat().st_size
            os.truncate(path, min(whole, rows * size))
            # A file that is extended gets zeros.
            os.truncate(path, whole)


def _describe(folder: Path, key: str, chunks: Sequence[Chunk], vectors: Vectors) -> None:
    """Flush all files of a finished index to disk, and write its manifest."""
    manifest = IndexManifest(
        key=key, recipe=index_recipe(), vectors=len(chunks), content=content_digest(chunks, vectors), files=write_through(folder)
    )
    (folder / MANIFEST).write_bytes(manifest.model_dump_json().encode())
    for path in (folder / MANIFEST, *(path for path in folder.rglob("*") if path.is_dir()), folder):
        sync(path)


@contextmanager
def open_collection(folder: Path) -> Iterator[Any]:
    """Open the collection of a finished index for reading. Raises IndexBuildError if the index has changed since it was built."""
    try:
        manifest = verified_index(folder)
    except ValueError as error:
        raise IndexBuildError(f"the index {folder} is damaged ({error})", _REBUILD) from error
    with _collection(folder, manifest) as collection:
        yield collection


@contextmanager
def _collection(folder: Path, manifest: IndexManifest) -> Iterator[Any]:
    """Open the collection of an index that is as its manifest says."""
    with store_errors(Path(tempfile.gettempdir())), _copied(folder, manifest) as copy, open_client(copy, folder) as client:
        yield client.get_collection(COLLECTION, embedding_function=None)


@contextmanager
def _copied(folder: Path, manifest: IndexManifest) -> Iterator[Path]:
    """Yield a temporary folder with the index, since Chroma writes into a folder that it opens. Large files are links."""
    with scratch_folder(f"{COPY}{os.getpid()}-") as copy:
        try:
            for name in manifest.files:
                _copy_file(folder / name, copy / name)
            same = IndexManifest.read(folder) == manifest
        except (FileNotFoundError, ValueError):
            same = False
        if not same:
            raise IndexBuildError(f"the index {folder} was rebuilt by another process while it was opened", "run again")
        yield copy


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Chroma only reads a graph that it has finished. That of a single vector it writes anew at every opening.
    if source.with_name(_GRAPH).exists():
        link_or_copy(source, target)
    else:
        shutil.copyfile(source, target)


def folder_bytes(folder: Path) -> int:
    """Return the size of an index on disk in bytes."""
    return sum(path.stat().st_size for path in file_paths(folder))


@contextmanager
def open_client(folder: Path, index: Path | None = None) -> Iterator[Any]:
    """Open Chroma's client of a folder, which can be a copy of an `index`."""
    # Set both the setting and the variable: versions of Chroma differ in which one they obey.
    os.environ["ANONYMIZED_TELEMETRY"] = "False"
    require_installed("an index", "chromadb")
    import chromadb
    from chromadb.errors import ChromaError

    try:
        with closing(chromadb.PersistentClient(str(folder), settings=_settings().model_copy())) as client:
            yield client
    except BaseException as error:
        # A panic of Chroma's Rust code is not an Exception, and its class cannot be imported.
        if not (isinstance(error, ChromaError) or type(error).__name__ == "PanicException") or "disk is full" in str(error):
            raise
        what = f"Chroma cannot use the index {index or folder} ({error})"
        raise IndexBuildError(what, f"check that the disk has room; {_REBUILD}") from error


@functools.cache
def _settings() -> Any:
    """Chroma's settings, into which a client writes its folder. Making them takes as long as opening a small index."""
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)


def _fill(folder: Path, chunks: Sequence[Chunk], vectors: Vectors) -> None:
    with open_client(folder) as client:
        collection = client.create_collection(
            COLLECTION, configuration={"hnsw": {"space": SPACE} | _GRAPH_ON_DISK}, embedding_function=None
        )
        for part in batching.blocks(len(chunks), client.get_max_batch_size()):
            some = chunks[part]
            # The id names the searched slice, the metadata the slice to deliver.
            about = [{"doc_id": chunk.doc_id, "start": chunk.delivered[0], "end": chunk.delivered[1]} for chunk in some]
            collection.add(ids=[chunk.chunk_id for chunk in some], embeddings=np.asarray(vectors[part]), metadatas=about)
        _audit(collection, chunks, vectors)
    # Chroma leaves the space of its log empty: six sevenths of the file, which every opening copies.
    with closing(sqlite3.connect(folder / _DATABASE)) as database:
        database.execute("VACUUM")


def _audit(collection: Any, chunks: Sequence[Chunk], vectors: Vectors) -> None:
    """Check that the collection contains exactly these chunks, and that a sample of the vectors finds itself."""
    parts = batching.blocks(len(chunks), _ASKED)
    stored = sum(len(collection.get(ids=[chunk.chunk_id for chunk in chunks[part]], include=[])["ids"]) for part in parts)
    if not stored == collection.count() == len(chunks):
        what = f"the index has {stored} of the {len(chunks)} ids that were added, and {collection.count()} in all"
        raise IndexBuildError(what, "run again and report it if it persists")
    if fault := _recall_fault(collection, _sample(vectors)):
        raise IndexBuildError(fault, "run again and report it if it persists")


def _sample(vectors: Vectors) -> Vectors:
    return np.asarray(vectors[np.linspace(0, len(vectors) - 1, min(_AUDITED, len(vectors))).astype(int)])


def _recall_fault(collection: Any, sample: Vectors) -> str:
    """Return the fault of a collection in which too few of the sampled vectors find themselves, or an empty text."""
    answer = collection.query(query_embeddings=sample, n_results=1, include=["distances"])
    nearest = np.array([distances[0] if distances else np.inf for distances in answer["distances"]])
    # Duplicate texts share a vector, so a vector has found itself if its nearest is at distance 0.
    recall = float(np.mean(nearest < 1e-4))
    return "" if recall >= _SELF_RECALL else f"only {recall:.0%} of the sampled vectors find themselves in the index"


def _check_space(folder: Path, vectors: Vectors) -> None:
    # Chroma takes about 1.5 times the vectors, and a build that fills the disk could harm other programs too.
    needed = 3 * vectors.nbytes + 50_000_000
    free = shutil.disk_usage(folder).free
    if free < needed:
        fix = "free space and run again: finished results are kept"
        raise IndexBuildError(f"the index needs about {needed / 1e6:.0f} MB and {folder} has {free / 1e6:.0f} MB free", fix)


def check_index(folder: Path) -> str:
    """Return the fault of an index, compared with its manifest and its own vectors, or an empty text if it is sound."""
    try:
        manifest = verified_index(folder)
    except ValueError as error:
        return str(error)
    # Chroma reads only files that the same version wrote.
    return _collection_damage(folder, manifest) if manifest.recipe == index_recipe() else ""


def _damage(folder: Path, chunks: Sequence[Chunk], vectors: Vectors) -> str:
    """Return the fault of an index of these chunks, or an empty text."""
    try:
        manifest = verified_index(folder)
    except ValueError as error:
        return str(error)
    if (manifest.recipe, manifest.vectors, manifest.content) != (index_recipe(), len(chunks), content_digest(chunks, vectors)):
        return "it was built from other vectors"
    known = (folder, manifest.model_dump_json())
    if known not in _SOUND:
        if fault := _collection_damage(folder, manifest, _sample(vectors)):
            return fault
        _SOUND.add(known)
    return ""


def _collection_damage(folder: Path, manifest: IndexManifest, sample: Vectors | None = None) -> str:
    """Return the fault of the collection of an index whose files are unchanged. The sample is read from it by default."""
    try:
        with _collection(folder, manifest) as collection:
            if collection.count() != manifest.vectors:
                return f"it has {collection.count()} of {manifest.vectors} vectors"
            if sample is None:
                sample = np.asarray(collection.get(limit=_AUDITED, include=["embeddings"])["embeddings"], dtype=np.float32)
            return _recall_fault(collection, sample)
    except StoreError:
        raise
    except Exception as error:  # Chroma raises errors of many kinds, and each means that the index cannot be used
        return error_line(error)
