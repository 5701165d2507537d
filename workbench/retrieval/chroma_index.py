"""One Chroma collection for each (chunks, embedding), each in its directory: built once, audited, renamed, then only read.

Two processes that write one collection lose vectors, and builds are not reproducible: so a build is made aside and under a lock.
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
_MANIFEST = "workbench.json"
_SELF_RECALL = 0.95
_AUDITED = 200
# Ids that Chroma is asked for at once.
_ASKED = 1_000
_REBUILD = "delete the folder and run again, it will be built anew"


def index_recipe() -> dict[str, Any]:
    """The settings of an index besides its vectors: the space and the version of Chroma, whose files do not outlive an upgrade."""
    return {"version": VERSION, "space": SPACE, "chromadb": version("chromadb")}


def is_built(folder: Path) -> bool:
    """Whether the folder holds a finished index; its content is checked when it is opened."""
    return (folder / _MANIFEST).is_file()


def build_index(folder: Path, chunks: Sequence[Chunk], vectors: Vectors) -> bool:
    """Build the index in `folder` unless it exists; True if this call built it. IndexBuildError if its audit fails."""
    if is_built(folder):
        return False
    with store_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{folder.name}.lock")):
            if is_built(folder):
                return False
            _check_space(folder.parent, vectors)
            # The lock is held: a folder without a manifest, or one aside, was left by a killed process.
            aside = folder.with_name(f"{folder.name}.tmp")
            shutil.rmtree(aside, ignore_errors=True)
            shutil.rmtree(folder, ignore_errors=True)
            try:
                _fill(aside, chunks, vectors)
                (aside / _MANIFEST).write_text(json.dumps({"vectors": len(chunks), "space": SPACE, "files": _sizes(aside)}))
                for path in (*aside.rglob("*"), aside):
                    sync(path)
                os.rename(aside, folder)
                sync(folder.parent)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
    return True


@contextmanager
def open_collection(folder: Path) -> Iterator[Any]:
    """Open the collection of a finished index for reading; IndexBuildError if it is not as it was built."""
    expected = _expected(folder)
    with store_errors(folder), _client(folder) as client:
        collection = client.get_collection(COLLECTION, embedding_function=None)
        if collection.count() != expected:
            raise IndexBuildError(f"the index {folder} holds {collection.count()} of {expected} vectors", _REBUILD)
        yield collection


def _expected(folder: Path) -> int:
    """How many vectors an index should hold; IndexBuildError if one of its files is missing or shorter than it was."""
    try:
        manifest = json.loads((folder / _MANIFEST).read_text("utf-8"))
        # Chroma searches the rest of a damaged index without a word. Reading changes its files but never makes them smaller.
        cut = [name for name, size in manifest["files"].items() if (folder / name).stat().st_size < size]
        expected = int(manifest["vectors"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IndexBuildError(f"the index {folder} is not whole ({type(error).__name__})", _REBUILD) from error
    if cut:
        raise IndexBuildError(f"the index {folder} is not whole ({cut[0]} is cut)", _REBUILD)
    return expected


def folder_bytes(folder: Path) -> int:
    """The size of an index on disk."""
    return sum(_sizes(folder).values())


def _sizes(folder: Path) -> dict[str, int]:
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()}


@contextmanager
def _client(folder: Path) -> Iterator[Any]:
    # Both the setting and the variable: versions differ in which of the two they obey.
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
        raise IndexBuildError(f"Chroma cannot use the index {folder} ({error})", f"see that the disk has room; {_REBUILD}") from error


def _fill(folder: Path, chunks: Sequence[Chunk], vectors: Vectors) -> None:
    with _client(folder) as client:
        collection = client.create_collection(COLLECTION, configuration={"hnsw": {"space": SPACE}}, embedding_function=None)
        for part in batching.blocks(len(chunks), client.get_max_batch_size()):
            some = chunks[part]
            # The id names the slice that is searched, the metadata the one that is delivered for it.
            about = [{"doc_id": chunk.doc_id, "start": chunk.delivered[0], "end": chunk.delivered[1]} for chunk in some]
            collection.add(ids=[chunk.chunk_id for chunk in some], embeddings=np.asarray(vectors[part]), metadatas=about)
        _audit(collection, chunks, vectors)


def _audit(collection: Any, chunks: Sequence[Chunk], vectors: Vectors) -> None:
    """The collection holds exactly these chunks, and a sample of the vectors finds itself."""
    parts = batching.blocks(len(chunks), _ASKED)
    stored = sum(len(collection.get(ids=[chunk.chunk_id for chunk in chunks[part]], include=[])["ids"]) for part in parts)
    if not stored == collection.count() == len(chunks):
        what = f"the index holds {stored} of the {len(chunks)} ids that were added, and {collection.count()} in all"
        raise IndexBuildError(what, "run again; if it stays, report it")
    sample = np.linspace(0, len(chunks) - 1, min(_AUDITED, len(chunks))).astype(int)
    answer = collection.query(query_embeddings=np.asarray(vectors[sample]), n_results=1, include=["distances"])
    nearest = np.array([distances[0] if distances else np.inf for distances in answer["distances"]])
    # Duplicates of a text share its vector, so a vector has found itself if its nearest is at distance 0.
    recall = float(np.mean(nearest < 1e-4))
    if recall < _SELF_RECALL:
        raise IndexBuildError(f"only {recall:.0%} of the sampled vectors find themselves in the index", "run again; if it stays, report it")


def _check_space(folder: Path, vectors: Vectors) -> None:
    # Chroma takes about 1.5 times the vectors; a build that fills the disk could harm more than itself.
    needed = 3 * vectors.nbytes + 50_000_000
    free = shutil.disk_usage(folder).free
    if free < needed:
        fix = "free space and run again: what was finished is kept"
        raise IndexBuildError(f"the index needs about {needed / 1e6:.0f} MB and {folder} has {free / 1e6:.0f} MB free", fix)
