"""The tasks of a worker: describe itself, encode a batch of texts, compute a stage into the shared store."""

import functools
import os
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from workbench import __version__
from workbench.components.embedding.base import Embedder, Role
from workbench.components.embedding.embed import MemoryVectorCache, encode_checked
from workbench.core.environment import installed_version, usable_cores
from workbench.core.errors import WorkbenchError, WorkerError
from workbench.core.fingerprint import code_digest, fingerprint
from workbench.core.storage.layout import INDEXES
from workbench.core.storage.remote_store import RemoteStore, is_url, mirror_of
from workbench.core.storage.result_store import StoredResult
from workbench.core.storage.vector_cache import VectorCache, Vectors
from workbench.runner.pipeline.context import EncodingCost, RunContext, Workspace
from workbench.runner.pipeline.graph import Graph
from workbench.runner.pipeline.stage import Node

# Packages that determine results besides Workbench's own code.
_PACKAGES = ("bm25s", "chromadb", "numpy", "openvino", "regex", "sentence-transformers", "tokenizers", "torch", "transformers")


@dataclass(frozen=True)
class WorkerWorkspace(Workspace):
    """The workspace of a worker. Only the driver writes the vector cache, so a worker keeps its own vectors in memory."""

    @cached_property
    def vectors(self) -> VectorCache:
        """Return the vector cache in this process's memory."""
        return MemoryVectorCache()

    @property
    def indexes(self) -> Path:
        """Return a folder under the shared outputs, or one on the worker's machine if the store is under a URL."""
        return self.store_root / INDEXES if self.url else super().indexes


@dataclass(frozen=True, eq=False)
class JobContext:
    """State shared by all tasks: the run, its folders, each machine's threads, and the `mark` by which workers recognise the store."""

    outputs: Path
    store: str
    mark: str
    run: RunContext
    threads: Mapping[str, int]


class WorkerInfo(NamedTuple):
    """The properties of a worker that affect results. `identities` are those of the embedders."""

    machine: str
    cores: int
    versions: dict[str, str]
    identities: list[str]
    sees_store: bool


def worker_info(outputs: Path, store: str, mark: str, embedders: list[Embedder]) -> WorkerInfo:
    """Describe the process that runs this. Raises ModelError if a model is missing."""
    versions = {"Python": ".".join(map(str, sys.version_info[:2])), "Workbench": f"{__version__} ({code_digest()[:8]})"}
    versions |= {name: installed_version(name) or "missing" for name in _PACKAGES}
    identities = [embedder_identity(embedder) for embedder in embedders]
    return WorkerInfo(socket.gethostname(), usable_cores(), versions, identities, can_use_store(outputs, store, mark))


def embedder_identity(embedder: Embedder) -> str:
    """Hash everything that determines an embedder's vectors in either role in this process."""
    return fingerprint([embedder.identity("document"), embedder.identity("query")])


def can_use_store(outputs: Path, store: str, mark: str) -> bool:
    """Return True if this process can write the driver's store, and also the outputs unless the store has a URL."""
    if is_url(store):
        return RemoteStore(store, mirror_of(store)).has_mark(mark)
    folders = (Path(store), outputs)
    return all((folder / mark).is_file() and os.access(folder, os.W_OK) for folder in folders)


def encode(job: JobContext, embedder: Embedder, role: Role, identity: str, texts: list[str]) -> tuple[Vectors, EncodingCost]:
    """Encode a batch as float32 (n, dimension) and return its cost. Raises WorkerError if the driver's vectors would differ."""
    threads = _set_threads(job)
    if embedder_identity(embedder) != identity:
        raise WorkerError(f"the worker on {socket.gethostname()} has different files or another precision of {embedder.model}", _EQUAL)
    if embedder.encoder().backend == "torch":
        import torch

        torch.set_num_threads(threads)
    started = time.perf_counter()
    vectors, usage = encode_checked(texts, embedder, role)
    return vectors, EncodingCost(0, usage, time.perf_counter() - started)


def compute(job: JobContext, node: Node, key: str, incomplete: Mapping[str, StoredResult]) -> StoredResult:
    """Compute one result into the store unless it is already stored. Its inputs must be stored, or among the `incomplete` ones by task."""
    _set_threads(job)
    _check_store(job)
    graph = graph_at(job)
    if graph.key(node) != key:
        raise WorkerError(f"the worker on {socket.gethostname()} has different models or packages for the stage {node.stage}", _EQUAL)
    graph.incomplete = dict(incomplete)
    return graph.obtain(node)


@functools.lru_cache(maxsize=2)
def graph_at(job: JobContext) -> Graph:
    """Return the graph of a job, built once per process."""
    return Graph(replace(job.run, workspace=WorkerWorkspace.at(job.outputs, job.store)))


_EQUAL = "install the same versions and models on every machine, and set backend: torch if the precision depends on the processor"


def _set_threads(job: JobContext) -> int:
    """Take this process's share of its machine's cores, or all of them on a machine that joined late."""
    threads = job.threads.get(socket.gethostname(), usable_cores())
    # Dask's nanny sets one thread; OpenVINO reads this when it first compiles a model.
    os.environ["OMP_NUM_THREADS"] = str(threads)
    return threads


def _check_store(job: JobContext) -> None:
    # Check at every stage, since a worker may have joined after the others were checked.
    try:
        visible = can_use_store(job.outputs, job.store, job.mark)
    except WorkbenchError as error:
        raise WorkerError(f"the worker on {socket.gethostname()}: {error.what}", error.fix) from error
    if not visible:
        raise WorkerError(f"the worker on {socket.gethostname()} does not see the store {job.store}", "mount it there at the same path")
