"""What a worker does for a sweep: it says what it is, encodes a batch of texts, or computes a stage into the shared store."""

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
from workbench.core import cpu
from workbench.core.distribution import installed_version
from workbench.core.fingerprint import fingerprint
from workbench.embedding.base import Embedder, Role, Usage
from workbench.embedding.memory_cache import MemoryVectorCache
from workbench.errors import WorkbenchError, WorkerError
from workbench.pipeline.context import RunContext, Workspace
from workbench.pipeline.graph import Graph
from workbench.pipeline.stage import Node
from workbench.storage.remote_store import RemoteStore, is_url, mirror_of
from workbench.storage.result_store import Entry
from workbench.storage.vector_cache import VectorCache, Vectors

# What decides results besides Workbench's own code.
_PACKAGES = ("bm25s", "chromadb", "numpy", "openvino", "sentence-transformers", "tokenizers", "torch", "transformers")


@dataclass(frozen=True)
class WorkerWorkspace(Workspace):
    """The workplace as a worker has it. The cache of vectors is the driver's: what a worker embeds by itself it keeps in memory."""

    @cached_property
    def vectors(self) -> VectorCache:
        """This process's memory."""
        return MemoryVectorCache()

    @property
    def indexes(self) -> Path:
        """Beside the shared outputs; with a store under a URL nothing else is shared, and indexes stay on the worker's machine."""
        return self.store_root / "indexes" if self.url else super().indexes


@dataclass(frozen=True, eq=False)
class JobContext:
    """What all tasks of a sweep share: the run, the place of the results, and how many threads a machine's workers have.

    `mark` is the name of a file that the driver put into the store for as long as it runs: who sees it sees the same store.
    """

    outputs: Path
    store: str
    mark: str
    run: RunContext
    threads: Mapping[str, int]


class WorkerInfo(NamedTuple):
    """What a worker is, as far as results depend on it: `versions` by what has them, `threads` that tasks of it run on at once."""

    machine: str
    cores: int
    versions: dict[str, str]
    identities: list[str]
    sees_store: bool


class Encoded(NamedTuple):
    """Vectors float32 (n, dimension), what a provider counted for them, and the seconds it took."""

    vectors: Vectors
    usage: Usage
    seconds: float


def worker_info(outputs: Path, store: str, mark: str, embedders: list[Embedder]) -> WorkerInfo:
    """What the process is that runs this; ModelError where it cannot have one of the models."""
    return WorkerInfo(
        socket.gethostname(), cpu.usable(), versions(), [embedder_identity(one) for one in embedders], sees(outputs, store, mark)
    )


def versions() -> dict[str, str]:
    """Of Python, of Workbench by its code, and of the packages that decide results."""
    from workbench.notebook_runner.notebooks import code_digest

    found = {"Python": ".".join(map(str, sys.version_info[:2])), "Workbench": f"{__version__} ({code_digest()[:8]})"}
    return found | {name: installed_version(name) or "missing" for name in _PACKAGES}


def embedder_identity(embedder: Embedder) -> str:
    """A hash of all that decides its vectors in either role, in this process."""
    return fingerprint([embedder.identity("document"), embedder.identity("query")])


def sees(outputs: Path, store: str, mark: str) -> bool:
    """Whether the store here is the driver's, and can be written; of outputs the same, where they must be shared."""
    if is_url(store):
        return RemoteStore(store, mirror_of(store)).has_mark(mark)
    folders = (Path(store), outputs)
    return all((folder / mark).is_file() and os.access(folder, os.W_OK) for folder in folders)


def encode(job: JobContext, embedder: Embedder, role: Role, identity: str, texts: list[str]) -> Encoded:
    """The vectors of a batch; WorkerError where this machine would give others than the driver's."""
    _set_threads(job)
    if embedder_identity(embedder) != identity:
        raise WorkerError(f"the worker on {socket.gethostname()} has {embedder.model} otherwise: other files, or another precision", _EQUAL)
    if embedder.encoder().backend == "torch":
        import torch

        torch.set_num_threads(threads_of(job))
    started = time.perf_counter()
    vectors, usage = embedder.encode_metered(texts, role)
    return Encoded(vectors, usage, time.perf_counter() - started)


def compute(job: JobContext, node: Node, key: str) -> Entry:
    """Compute one result of the graph into the store, unless it is there; what is before it is there."""
    _set_threads(job)
    _check_store(job)
    graph = graph_at(job)
    if graph.key(node) != key:
        raise WorkerError(f"the worker on {socket.gethostname()} has other models or packages: it calls the {node.stage} otherwise", _EQUAL)
    return graph.obtain(node)


@functools.lru_cache(maxsize=2)
def graph_at(job: JobContext) -> Graph:
    """The graph of a job in this process, made once."""
    url = job.store if is_url(job.store) else ""
    root = mirror_of(job.store) if url else Path(job.store)
    return Graph(replace(job.run, workspace=WorkerWorkspace(job.outputs, root, url)))


def threads_of(job: JobContext) -> int:
    """This process's share of its machine's cores; all of them on a machine that came later."""
    return job.threads.get(socket.gethostname(), cpu.usable())


_EQUAL = "install the same versions and models on every machine, and of a model whose precision is the processor's say backend: torch"


def _set_threads(job: JobContext) -> None:
    # Dask's nanny sets one thread; OpenVINO's models read this when they are first compiled.
    os.environ["OMP_NUM_THREADS"] = str(threads_of(job))


def _check_store(job: JobContext) -> None:
    # At every stage: a worker may have joined since the others were looked at.
    try:
        there = sees(job.outputs, job.store, job.mark)
    except WorkbenchError as error:
        raise WorkerError(f"the worker on {socket.gethostname()}: {error.what}", error.fix) from error
    if not there:
        raise WorkerError(f"the worker on {socket.gethostname()} does not see the store {job.store}", "mount it there at the same path")
