"""What a worker does for a sweep: it says what it is, encodes a batch of texts, or computes a stage into the shared store."""

import functools
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, NamedTuple

from workbench.core import cpu
from workbench.core.fingerprint import fingerprint
from workbench.embedding.base import Embedder, Role, Usage
from workbench.embedding.memory_cache import MemoryVectorCache
from workbench.errors import WorkbenchError, WorkerError
from workbench.metrics.names import Metric
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext, Workspace
from workbench.pipeline.stages import chunks_stage, embedded_stages, hits_stage, scores_stage
from workbench.records import Dataset
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
    """What all tasks of a sweep share: the data, the metrics, the place of the results, and how many threads a machine's workers have.

    `mark` is the name of a file that the driver put into the store for as long as it runs: who sees it sees the same store.
    """

    outputs: Path
    store: str
    mark: str
    dataset: Dataset
    metrics: tuple[Metric, ...]
    spans: Literal["exact", "chroma"]
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


class StageReport(NamedTuple):
    """What a task says of a stage whose result is in the store now: its seconds, and whether this task computed it."""

    seconds: float
    computed: bool


def worker_info(outputs: Path, store: str, mark: str, embedders: list[Embedder]) -> WorkerInfo:
    """What the process is that runs this; ModelError where it cannot have one of the models."""
    return WorkerInfo(socket.gethostname(), cpu.usable(), versions(), [identity_of(one) for one in embedders], sees(outputs, store, mark))


def versions() -> dict[str, str]:
    """Of Python, of Workbench by its code, and of the packages that decide results."""
    from workbench.notebook_runner.notebooks import code_digest

    found = {"Python": ".".join(map(str, sys.version_info[:2])), "Workbench": f"{version('workbench')} ({code_digest()[:8]})"}
    return found | {name: _version(name) for name in _PACKAGES}


def identity_of(embedder: Embedder) -> str:
    """A hash of all that decides its vectors in either role, in this process."""
    return fingerprint([embedder.identity("document"), embedder.identity("query")])


def sees(outputs: Path, store: str, mark: str) -> bool:
    """Whether the store here is the driver's, and can be written; of outputs the same, where they must be shared."""
    if is_url(store):
        return RemoteStore(store, mirror_of(store)).has_mark(mark)
    folders = (Path(store), outputs)
    return all((folder / mark).is_file() and os.access(folder, os.W_OK) for folder in folders)


def encode(site: JobContext, embedder: Embedder, role: Role, identity: str, texts: list[str]) -> Encoded:
    """The vectors of a batch; WorkerError where this machine would give others than the driver's."""
    _set_threads(site)
    if identity_of(embedder) != identity:
        raise WorkerError(f"the worker on {socket.gethostname()} has {embedder.model} otherwise: other files, or another precision", _EQUAL)
    if embedder.encoder().backend == "torch":
        import torch

        torch.set_num_threads(threads_of(site))
    started = time.perf_counter()
    vectors, usage = embedder.encode_metered(texts, role)
    return Encoded(vectors, usage, time.perf_counter() - started)


def stage(site: JobContext, name: str, key: str, configuration: Configuration) -> StageReport:
    """Compute one stage of a configuration into the store, unless it is there; what is before it is there."""
    _set_threads(site)
    _check_store(site)
    bench = bench_at(site)
    if getattr(bench.keys(configuration), name) != key:
        raise WorkerError(f"the worker on {socket.gethostname()} has other models or packages: it calls the {name} otherwise", _EQUAL)
    return _COMPUTE[name](bench, configuration)


@functools.lru_cache(maxsize=2)
def bench_at(site: JobContext) -> RunContext:
    """The bench of a site in this process, made once."""
    url = site.store if is_url(site.store) else ""
    root = mirror_of(site.store) if url else Path(site.store)
    return RunContext(WorkerWorkspace(site.outputs, root, url), site.dataset, site.metrics, site.spans)


def threads_of(site: JobContext) -> int:
    """This process's share of its machine's cores; all of them on a machine that came later."""
    return site.threads.get(socket.gethostname(), cpu.usable())


_EQUAL = "install the same versions and models on every machine, and of a model whose precision is the processor's say backend: torch"


def _set_threads(site: JobContext) -> None:
    # Dask's nanny sets one thread; OpenVINO's models read this when they are first compiled.
    os.environ["OMP_NUM_THREADS"] = str(threads_of(site))


def _check_store(site: JobContext) -> None:
    # At every stage: a worker may have joined since the others were looked at.
    try:
        there = sees(site.outputs, site.store, site.mark)
    except WorkbenchError as error:
        raise WorkerError(f"the worker on {socket.gethostname()}: {error.what}", error.fix) from error
    if not there:
        raise WorkerError(f"the worker on {socket.gethostname()} does not see the store {site.store}", "mount it there at the same path")


def _chunks(bench: RunContext, configuration: Configuration) -> StageReport:
    return _made(chunks_stage(bench, configuration))


def _index(bench: RunContext, configuration: Configuration) -> StageReport:
    embedded = embedded_stages(bench, configuration, chunks_stage(bench, configuration))
    return StageReport(embedded.index_seconds, embedded.index_built) if embedded else StageReport(0.0, False)


def _hits(bench: RunContext, configuration: Configuration) -> StageReport:
    chunks = chunks_stage(bench, configuration)
    return _made(hits_stage(bench, configuration, chunks, embedded_stages(bench, configuration, chunks)))


def _scores(bench: RunContext, configuration: Configuration) -> StageReport:
    chunks = chunks_stage(bench, configuration)
    hits = bench.workplace.store.get("hits", bench.keys(configuration).hits)
    if hits is None:
        raise WorkerError(f"the hits of {configuration.name} are gone from the store", "run again")
    return _made(scores_stage(bench, configuration, chunks, hits))


_COMPUTE: dict[str, Callable[[RunContext, Configuration], StageReport]] = {
    "chunks": _chunks,
    "index": _index,
    "hits": _hits,
    "scores": _scores,
}


def _made(entry: Entry) -> StageReport:
    return StageReport(entry.seconds, entry.computed)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
