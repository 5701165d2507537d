"""Build one Chroma collection per (chunks, embedding), each in its own folder: built once, audited, renamed, then only read.

Two processes that write to one collection lose vectors, and builds are not reproducible. So a build uses a temporary folder and a lock.
"""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from workbench.core import batching
from workbench.core.files import store_errors, sync
from workbench.errors import IndexBuildError
from workbench.records import Chunk
from workbench.storage.vector_cache import Vectors

VERSION = 3
COLLECTION = "chunks"
SPACE = "cosine"
MANIFEST = "workbench.json"
_SELF_RECALL = 0.95
_AUDITED = 200
# Ids to request from Chroma at once.
_ASKED = 1_000
_REBUILD = "delete the folder and run again to rebuild it"


def index_recipe() -> dict[str, Any]:
    """Return the settings of an index besides its vectors: the space and the version of Chroma, which reads only files of that version."""
    return {"version": VERSION, "space": SPACE, "chromadb": version("chromadb")}


def is_built(folder: Path) -> bool:
    """Return whether the folder contains a finished index. Its content is checked on opening."""
    return (folder / MANIFEST).is_file()


def build_index(folder: Path, chunks: Sequence[Chunk], vectors: Vectors) -> bool:
    """Build the index in `folder` unless it exists, and return whether this call built it. Raises IndexBuildError if its audit fails."""
    if is_built(folder):
        return False
    with store_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{folder.name}.lock")):
            if is_built(folder):
                return False
            _check_space(folder.parent, vectors)
            # Under this lock, a folder without a manifest and a temporary folder were left by a killed process.
            aside = folder.with_name(f"{folder.name}.tmp")
            shutil.rmtree(aside, ignore_errors=True)
            shutil.rmtree(folder, ignore_errors=True)
            try:
                _fill(aside, chunks, vectors)
                (aside / MANIFEST).write_text(json.dumps({"vectors": len(chunks), "space": SPACE, "files": _sizes(aside)}))
                for path in (*aside.rglob("*"), aside):
                    sync(path)
                os.rename(aside, folder)
                sync(folder.parent)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
    return True


@contextmanager
def open_collection(folder: Path) -> Iterator[Any]:
    """Open the collection of a finished index for reading. Raises IndexBuildError if the index has changed since it was built."""
    expected = _expected(folder)
    with store_errors(folder), _client(folder) as client:
        collection = client.get_collection(COLLECTION, embedding_function=None)
        if collection.count() != expected:
            raise IndexBuildError(f"the index {folder} has {collection.count()} of {expected} vectors", _REBUILD)
        yield collection


def _expected(folder: Path) -> int:
    """Return how many vectors an index should contain. Raises IndexBuildError if one of its files is missing or shorter than it was."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        # Chroma silently searches the rest of a damaged index. Reading changes its files but never makes them smaller.
        cut = [name for name, size in manifest["files"].items() if (folder / name).stat().st_size < size]
        expected = int(manifest["vectors"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IndexBuildError(f"the index {folder} is incomplete ({type(error).__name__})", _REBUILD) from error
    if cut:
        raise IndexBuildError(f"the index {folder} is incomplete ({cut[0]} is truncated)", _REBUILD)
    return expected


def folder_bytes(folder: Path) -> int:
    """Return the size of an index on disk in bytes."""
    return sum(_sizes(folder).values())


def _sizes(folder: Path) -> dict[str, int]:
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()}


@contextmanager
def _client(folder: Path) -> Iterator[Any]:
    # Set both the setting and the variable: versions of Chroma differ in which one they obey.
    os.environ["ANONYMIZED_TELEMETRY"] = "False"
    import chromadb
    from chromadb.config import Settings
    from chromadb.errors import ChromaError

    try:
        with closing(chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))) as client:
            yield client
    except ChromaError as error:
        if "disk is full" in str(error):
            raise
        raise IndexBuildError(f"Chroma cannot use the index {folder} ({error})", f"check that the disk has room; {_REBUILD}") from error


def _fill(folder: Path, chunks: Sequence[Chunk], vectors: Vectors) -> None:
    with _client(folder) as client:
        collection = client.create_collection(COLLECTION, configuration={"hnsw": {"space": SPACE}}, embedding_function=None)
        for part in batching.blocks(len(chunks), client.get_max_batch_size()):
            some = chunks[part]
            # The id names the searched slice, the metadata the slice to deliver.
            about = [{"doc_id": chunk.doc_id, "start": chunk.delivered[0], "end": chunk.delivered[1]} for chunk in some]
            collection.add(ids=[chunk.chunk_id for chunk in some], embeddings=np.asarray(vectors[part]), metadatas=about)
        _audit(collection, chunks, vectors)


def _audit(collection: Any, chunks: Sequence[Chunk], vectors: Vectors) -> None:
    """Check that the collection contains exactly these chunks, and that a sample of the vectors finds itself."""
    parts = batching.blocks(len(chunks), _ASKED)
    stored = sum(len(collection.get(ids=[chunk.chunk_id for chunk in chunks[part]], include=[])["ids"]) for part in parts)
    if not stored == collection.count() == len(chunks):
        what = f"the index has {stored} of the {len(chunks)} ids that were added, and {collection.count()} in all"
        raise IndexBuildError(what, "run again and report it if it persists")
    sample = np.linspace(0, len(chunks) - 1, min(_AUDITED, len(chunks))).astype(int)
    answer = collection.query(query_embeddings=np.asarray(vectors[sample]), n_results=1, include=["distances"])
    nearest = np.array([distances[0] if distances else np.inf for distances in answer["distances"]])
    # Duplicate texts share a vector, so a vector has found itself if its nearest is at distance 0.
    recall = float(np.mean(nearest < 1e-4))
    if recall < _SELF_RECALL:
        raise IndexBuildError(
            f"only {recall:.0%} of the sampled vectors find themselves in the index", "run again and report it if it persists"
        )


def _check_space(folder: Path, vectors: Vectors) -> None:
    # Chroma takes about 1.5 times the vectors, and a build that fills the disk could harm other programs too.
    needed = 3 * vectors.nbytes + 50_000_000
    free = shutil.disk_usage(folder).free
    if free < needed:
        fix = "free space and run again: finished results are kept"
        raise IndexBuildError(f"the index needs about {needed / 1e6:.0f} MB and {folder} has {free / 1e6:.0f} MB free", fix)


def check_index(folder: Path) -> str:
    """Return what is damaged in the finished index of a folder, or an empty text."""
    try:
        with open_collection(folder):
            return ""
    except IndexBuildError as error:
        return error.what
