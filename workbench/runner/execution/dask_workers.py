"""Run tasks on Dask workers, each after the tasks it needs.

At most one task per worker is submitted. Dask blames a dead worker on all of its tasks, and a task that kills its worker can
still run beside others while the worker restarts. So a blamed task is tried once more, alone.
"""

import functools
import os
import queue
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, NamedTuple

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

_ANSWER_SECONDS = 120
_WITHOUT_WORKERS_SECONDS = 60
_TICK_SECONDS = 2.0


@dataclass(frozen=True)
class Task:
    """A named call, on a worker (with the shared value first) or `local`, once its `needs` succeed. `arguments` makes its arguments then."""

    name: str
    work: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    needs: tuple[str, ...] = ()
    local: bool = False


class TaskResult(NamedTuple):
    """A task with its value, or with the error of itself or of a task that it needed."""

    name: str
    value: Any
    error: BaseException | None


class TaskQueue:
    """The tasks that wait, can start or are running."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = {task.name: task for task in tasks}
        self._order = TopologicalSorter({task.name: [need for need in task.needs if need in self._tasks] for task in tasks})
        self._order.prepare()
        self._ready: dict[bool, deque[Task]] = {True: deque(), False: deque()}
        self._errors: dict[str, BaseException] = {}
        self._out: dict[str, Task] = {}
        self._suspects: deque[Task] = deque()
        self._alone: set[str] = set()
        for name in self._order.get_ready():
            self._ready[self._tasks[name].local].append(self._tasks[name])

    @property
    def unfinished(self) -> bool:
        return self._order.is_active()

    def startable(self, room: int) -> Iterator[Task]:
        """Yield the tasks to start now: one here, `room` on workers, or a suspect once the workers have no other task."""
        for local, most in ((True, 1), (False, room)):
            while self._ready[local] and self._busy(local) < most and (local or self._alone.isdisjoint(self._out)):
                yield self._started(self._ready[local].popleft())
        if self._suspects and not self._ready[False] and not self._busy(local=False):
            self._alone.add(self._suspects[0].name)
            yield self._started(self._suspects.popleft())

    def _busy(self, local: bool) -> int:
        return sum(task.local is local for task in self._out.values())

    def _started(self, task: Task) -> Task:
        self._out[task.name] = task
        return task

    def alone(self, name: str) -> bool:
        """Return True if a task started with no other task on the workers."""
        return name in self._alone

    def suspect(self, name: str) -> None:
        """Schedule a task once more, alone, since workers died during it, perhaps because of another task."""
        self._suspects.append(self._out.pop(name))

    def end(self, ended: TaskResult) -> Iterator[TaskResult]:
        """Yield the result of a task and, if it failed, those of the dependent tasks that can no longer start."""
        self._out.pop(ended.name, None)
        self._order.done(ended.name)
        if ended.error is not None:
            self._errors[ended.name] = ended.error
        yield ended
        for task in [self._tasks[name] for name in self._order.get_ready()]:
            error = next((self._errors[need] for need in task.needs if need in self._errors), None)
            if error is None:
                self._ready[task.local].append(task)
            else:
                yield from self.end(TaskResult(task.name, None, error))


class _DeadWorkersError(WorkerError):
    """A task killed workers, or ran on a worker that another task killed."""


class Workers:
    """Connected workers. Every wait has a time limit."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address
        self._shared: Any = None
        self._place = ""
        self._room = 0
        self._counted_at = 0.0
        self._deserted_since: float | None = None

    def addresses(self) -> dict[str, int]:
        """Return the number of threads of each worker by address."""
        return dict(self._client.nthreads())

    def ask(self, work: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Return the value or error of a call on every worker, by address."""
        token = f"{work.__name__}-{time.monotonic_ns()}"
        futures: dict[str, Any] = {}
        ends = time.monotonic() + _ANSWER_SECONDS
        while time.monotonic() < ends:
            # Lost workers are not waited for, and new ones are asked too.
            futures = {
                at: futures.get(at)
                or self._client.submit(work, *arguments, key=f"{token}-{at}", workers=[at], allow_other_workers=False, pure=False)
                for at in self.addresses()
            }
            if futures and all(future.done() for future in futures.values()):
                break
            time.sleep(_TICK_SECONDS / 20)
        silent = WorkerError(f"did not answer in {_ANSWER_SECONDS} s", "check whether it is busy with another sweep")
        answers = {at: _outcome("", future).error or future.result() if future.done() else silent for at, future in futures.items()}
        self._client.cancel(list(futures.values()))
        return answers

    def share(self, value: Any, place: str) -> None:
        """Give all later tasks this value as their first argument. `place` keeps task names apart from other sweeps on the scheduler."""
        self._place = place
        self._shared = self._client.submit(_itself, value, key=f"site-{place}-{time.monotonic_ns()}", pure=False)

    def run(self, tasks: Sequence[Task]) -> Iterator[TaskResult]:
        """Run tasks and yield each when it ends. Raises WorkerError when no worker is left."""
        run = TaskQueue(tasks)
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        names: dict[Any, str] = {}
        pool = ThreadPoolExecutor(1)
        self._deserted_since = None
        try:
            while run.unfinished:
                if time.monotonic() - self._counted_at > _TICK_SECONDS:
                    self._count()
                for task in run.startable(self._room):
                    future = pool.submit(task.work, *task.arguments()) if task.local else self._submit(task, run.alone(task.name))
                    names[future] = task.name
                    future.add_done_callback(ended.put)
                try:
                    future = ended.get(timeout=_TICK_SECONDS)
                except queue.Empty:
                    continue
                name = names.pop(future)
                outcome = _outcome(name, future)
                if isinstance(outcome.error, _DeadWorkersError) and not run.alone(name):
                    run.suspect(name)
                else:
                    yield from run.end(outcome)
        finally:
            self._client.cancel([future for future in names if hasattr(future, "key")])
            pool.shutdown(wait=True, cancel_futures=True)

    def _submit(self, task: Task, alone: bool) -> Any:
        # The second try needs another name, or the scheduler would return the first one's error.
        key = f"{task.name}-{self._place}" + ("-alone" if alone else "")
        return self._client.submit(task.work, self._shared, *task.arguments(), key=key, pure=True)

    def _count(self) -> None:
        """Count the workers, which limits the tasks submitted at once. Raises WorkerError when all are permanently lost."""
        fix = "restart it and run again: finished results are kept"
        if self._client.status != "running":
            raise WorkerError(f"the connection to the scheduler at {self._address} was lost", fix)
        count, self._counted_at = len(self._client.nthreads()), time.monotonic()
        # Submit at least one, which waits at the scheduler for a restarting worker.
        self._room = max(1, count)
        self._deserted_since = None if count else self._deserted_since or self._counted_at
        if self._deserted_since and self._counted_at - self._deserted_since > _WITHOUT_WORKERS_SECONDS:
            raise WorkerError(f"no worker is left at {self._address}", fix)


def _outcome(name: str, future: Any) -> TaskResult:
    """Return a finished future's value or error. Repeated deaths of workers become a one-line error."""
    if future.cancelled():
        return TaskResult(name, None, WorkerError("the scheduler dropped the task", "check that it runs and run again"))
    error = future.exception()
    if error is None:
        return TaskResult(name, future.result(), None)
    if type(error).__name__ == "KilledWorker":
        what = f"workers died while they ran {getattr(error, 'task', name)}"
        error = _DeadWorkersError(what, "check whether their machine ran out of memory (dmesg), then run again: finished results are kept")
    return TaskResult(name, None, error)


def _itself(value: Any) -> Any:
    return value


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
