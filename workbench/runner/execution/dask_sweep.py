"""Precompute missing results on Dask workers: texts are encoded in batches, and results of the graph are tasks.

A task is named by the key of its result, so results that configurations share are computed once. Encoded batches return to the
driver, the only process that writes the vector cache. So stages that embed run on the driver, all others on the workers.
"""

import logging
import os
import secrets
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import resource_tracker
from typing import Any

from workbench.components.embedding.base import Embedder, Role
from workbench.components.embedding.embed import Batch, missing_batches, text_keys
from workbench.core.environment import SAFE_PATH, modules_of_working_directory_ignored, require_installed, skip_schema_grammar, usable_cores
from workbench.core.errors import InputError, WorkerError, error_line
from workbench.core.fingerprint import fingerprint
from workbench.core.operating_system import interrupts_deferred
from workbench.core.storage.remote_store import RemoteStore
from workbench.core.text.progress import ProgressBar
from workbench.runner.execution.dask_workers import JobContext, Task, WorkerInfo, Workers, compute, embedder_identity, encode, worker_info
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import EncodingCost, RunContext
from workbench.runner.pipeline.graph import Graph, NodePlan
from workbench.runner.pipeline.stage import Node


@dataclass
class _Sweep:
    """A sweep on workers, with the results that were missing before it and the errors of its tasks."""

    graph: Graph
    configurations: Sequence[Configuration]
    plan: NodePlan
    errors: dict[str, BaseException] = field(default_factory=dict)

    def missing(self, stages: Sequence[str] | None = None) -> list[Node]:
        """Return the nodes missing from the store, each result once, except those of failed configurations."""
        running = [configuration for configuration in self.configurations if not self.failed(configuration)]
        return [planned.node for nodes in self.plan.missing(running, stages).values() for planned in nodes]

    def failed(self, configuration: Configuration) -> list[BaseException]:
        return [self.errors[task] for node in self.graph.nodes(configuration) if (task := self.graph.task(node)) in self.errors]

    def run(self, workers: Workers) -> None:
        """Compute all missing results, wave by wave."""
        for wave in self._waves():
            self._encode(workers, wave)
            for ended in workers.run([self._task(node) for node in self.missing(wave)]):
                if ended.error is not None:
                    self.errors[ended.name] = ended.error
                    continue
                if ended.value.computed:
                    self.graph.precomputed[ended.name] = ended.value.seconds
                if not ended.value.complete:
                    # Made again, a failed call would be paid twice.
                    self.graph.incomplete[ended.name] = ended.value

    def _waves(self) -> list[list[str]]:
        """Group the stages into waves. A stage that embeds results of the current wave begins a new one."""
        waves: list[list[str]] = [[]]
        for name, stage in self.graph.stages.items():
            embeds = any(stage.embedder(each) for each in self.configurations if self.graph.has(each, stage))
            if embeds and set(stage.inputs) & set(waves[-1]):
                waves.append([])
            waves[-1].append(name)
        return waves

    def _task(self, node: Node) -> Task:
        name, needs = self.graph.task(node), tuple(map(self.graph.task, self.graph.before(node)))
        stage = self.graph.stages[node.stage]
        if stage.is_local(node):
            return Task(name, self.graph.obtain, lambda: (node,), needs, local=True)

        def arguments() -> tuple[Any, ...]:
            return node, self.graph.key(node), {need: entry for need in needs if (entry := self.graph.incomplete.get(need))}

        return Task(name, compute, arguments, needs)

    def _encode(self, workers: Workers, stages: Sequence[str]) -> None:
        wanted: dict[tuple[Embedder, Role], dict[Node, Sequence[str]]] = defaultdict(dict)
        for node in self.missing(stages):
            stage = self.graph.stages[node.stage]
            embedder = stage.embedder(node.configuration)
            if embedder and (texts := stage.texts(self.graph.inputs(node))) is not None:
                wanted[embedder, stage.role][node] = texts
        for (embedder, role), texts_of in wanted.items():
            self._encode_role(workers, embedder, role, texts_of)

    def _encode_role(self, workers: Workers, embedder: Embedder, role: Role, wanted: Mapping[Node, Sequence[str]]) -> None:
        """Encode the texts missing from the cache. An embedder's own error ends its encoding, and its stage meets and reports it."""
        cache, nodes, texts = self.graph.run.workspace.vectors, list(wanted), list(wanted.values())
        identity, batches = embedder_identity(embedder), missing_batches(texts, embedder, role, cache)
        by_name = {f"encode-{fingerprint(batch.keys.tobytes().hex())}": batch for batch in batches}

        def arguments(batch: Batch) -> tuple[Any, ...]:
            # Create the texts of a batch when a worker is free: all batches together are as large as the corpus.
            return embedder, role, identity, batch.texts(texts)

        planned = [Task(name, encode, partial(arguments, batch)) for name, batch in by_name.items()]
        total = sum(int(batch.tokens.sum()) for batch in batches)
        with ProgressBar(total=total, unit="tok", unit_scale=True, desc="embed on workers", disable=not total) as bar:
            for ended in workers.run(planned):
                batch = by_name[ended.name]
                if isinstance(ended.error, WorkerError):
                    # Do not retry texts that killed workers on the driver: the stages that need one of them fail.
                    keys = set(batch.cache_keys)
                    lost = [node for node in nodes if not keys.isdisjoint(text_keys(wanted[node], embedder, role))]
                    self.errors = {self.graph.task(node): ended.error for node in lost} | self.errors
                elif ended.error is not None:
                    break
                else:
                    vectors, cost = ended.value
                    cache.put(batch.cache_keys, vectors)
                    self._charge([nodes[sequence] for sequence in batch.sequences.tolist()], batch, cost)
                    bar.update(int(batch.tokens.sum()))

    def _charge(self, owners: Sequence[Node], batch: Batch, cost: EncodingCost) -> None:
        """Charge each text's tokens to the first node that needs it, as in one process, and the cost to the first text's node."""
        spent = self.graph.run.workspace.spent
        costs = [EncodingCost(tokens) for tokens in batch.tokens.tolist()]
        for node, part in [*zip(owners, costs, strict=True), (owners[0], cost)]:
            key = self.graph.key(node)
            spent[key] = spent.get(key, EncodingCost()) + part


def precompute(
    graph: Graph, configurations: Sequence[Configuration], say: Callable[[str], None], jobs: int | None = None, scheduler: str | None = None
) -> dict[str, BaseException]:
    """Compute missing results on workers and return each configuration's first error. Raises InputError without usable workers."""
    plan = graph.plan(configurations)
    plan.check(configurations)
    sweep = _Sweep(graph, configurations, plan)
    if not sweep.missing():
        return {}
    with connected(jobs, scheduler) as workers, marked(graph.run) as mark:
        job = checked(graph.run, configurations, workers, mark)
        workers.share(job, fingerprint([str(job.outputs), job.store])[:8])
        threads = ", ".join(f"{threads} threads each on {name}" for name, threads in job.threads.items())
        say(f"workers: {len(workers.addresses())}, {threads}")
        sweep.run(workers)
    return {configuration.name: errors[0] for configuration in configurations if (errors := sweep.failed(configuration))}


# Give up a task after it has killed this many workers.
_DEATHS = 3
_CONNECT_SECONDS = 10
_START_SECONDS = 60


@contextmanager
def connected(jobs: int | None, scheduler: str | None) -> Iterator[Workers]:
    """Yield workers: `jobs` processes on this machine, which end with the context, or those of the scheduler at an address."""
    require_installed("--jobs or --scheduler", "dask", "distributed")
    import dask
    import distributed  # noqa: F401  # it gives Dask its defaults

    # The dataset travels in one task, and nothing serves pages.
    quiet: dict[str, Any] = {"distributed.admin.large-graph-warning-threshold": "10 GB", "distributed.admin.log-length": 0}
    pages: dict[str, Any] = {f"distributed.{server}.http.routes": [] for server in ("scheduler", "worker", "nanny")}
    # Also for a worker in place of one that died. What a worker starts is started as usual.
    safe = {"distributed.nanny.pre-spawn-environ": {**dask.config.get("distributed.nanny.pre-spawn-environ"), SAFE_PATH: "1"}}
    with dask.config.set(quiet | pages | safe), _quiet(), _local_workers(jobs or 1) if scheduler is None else _at(scheduler) as workers:
        yield workers


@contextmanager
def _local_workers(jobs: int) -> Iterator[Workers]:
    from distributed import Client, LocalCluster

    # BLAS reads its number of threads on import.
    threads = {name: str(max(1, usable_cores() // jobs)) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    with ExitStack() as open_ones:
        # Again at the end, since a worker may be started in place of one that died.
        open_ones.enter_context(_environment_kept())
        try:
            with _interrupts_deferred(), _environment_kept():
                cluster = LocalCluster(
                    n_workers=jobs,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    worker_dashboard_address="127.0.0.1:0",
                    # No memory limit: a worker killed for its memory might have finished as a single process would.
                    memory_limit=0,
                    silence_logs=logging.CRITICAL,
                    scheduler_kwargs={"allowed_failures": _DEATHS - 1, "dashboard": False},
                    env={**threads, SAFE_PATH: os.environ.get(SAFE_PATH, "")},
                )
            client = open_ones.enter_context(Client(open_ones.enter_context(cluster), timeout=_CONNECT_SECONDS))
        except Exception as error:  # Dask reports a worker that dies at its start with errors of many kinds
            fix = "check whether the machine ran out of memory (dmesg), then run again: finished results are kept"
            raise WorkerError(f"the workers did not start ({error_line(error)})", fix) from error
        # This only saves time, and a worker that dies now is started again.
        client.run(skip_schema_grammar, on_error="return")
        yield Workers(client, "this machine")


@contextmanager
def _environment_kept() -> Iterator[None]:
    """Restore the variables that Dask's nannies set in this process before they start a worker: one thread for all that runs here."""
    import dask

    names = [*dask.config.get("distributed.nanny.pre-spawn-environ"), "PYTHONHASHSEED"]
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Hide Ctrl-C from threads and processes started in the context and their children. This process receives it and ends them."""
    # Start the tracker now: later, it would lift the mask of the thread that starts processes.
    with modules_of_working_directory_ignored():
        resource_tracker.ensure_running()
    with interrupts_deferred():
        yield


@contextmanager
def _at(address: str) -> Iterator[Workers]:
    from distributed import Client

    class Closing(Client):  # type: ignore[misc]  # Dask is not typed here
        """A client that closes itself if it cannot connect, because the garbage collector would close it later under any lock of Dask."""

        def __init__(self) -> None:
            try:
                super().__init__(address, timeout=_CONNECT_SECONDS)
            except BaseException:
                self.close()
                raise

    fix = "start it with: dask scheduler, and workers with: dask worker ADDRESS --nthreads 1"
    try:
        client = Closing()
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"no Dask scheduler answers at {address} ({type(error).__name__})", fix) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_START_SECONDS)
        except TimeoutError:
            raise InputError(f"the scheduler at {address} has no workers", fix) from None
        yield Workers(client, address)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Dask's logs and warnings about workers that come and go. Failed tasks report the loss."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado.application")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"distributed\..*")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def marked(run: RunContext) -> Iterator[str]:
    """Keep a marker file in the store and in outputs during the sweep. A worker that sees it shares the driver's store."""
    mark, workspace = f".sweep-{secrets.token_hex(8)}", run.workspace
    with ExitStack() as marks:
        if isinstance(workspace.store, RemoteStore):
            workspace.store.put_mark(mark)
            marks.callback(workspace.store.take_mark, mark)
        else:
            for folder in (workspace.store_root, workspace.outputs):
                folder.mkdir(parents=True, exist_ok=True)
                (folder / mark).touch()
                marks.callback((folder / mark).unlink, missing_ok=True)
        yield mark


def _place(run: RunContext) -> str:
    # A test replaces it by the place of another machine.
    return run.workspace.url or str(run.workspace.store_root.resolve())


def checked(run: RunContext, configurations: Sequence[Configuration], workers: Workers, mark: str) -> JobContext:
    """Return the context of all tasks. Raises InputError if a worker does not see the store or would compute other results."""
    outputs, store = run.workspace.outputs.resolve(), _place(run)
    embedders = list(dict.fromkeys(configuration.embedding for configuration in configurations if configuration.embedding))
    infos, local = workers.ask(worker_info, outputs, store, mark, embedders), worker_info(outputs, store, mark, embedders)
    faults = [f"the worker {address} {fault}" for address, info in infos.items() if (fault := _fault(info, local, store))]
    faults += [
        f"the worker {address} runs {threads} tasks at once; start it with --nthreads 1"
        for address, threads in workers.addresses().items()
        if threads != 1
    ]
    if faults:
        raise InputError(faults[0] + (f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""))
    machines = Counter(info.machine for info in infos.values())
    threads = {info.machine: max(1, info.cores // machines[info.machine]) for info in infos.values()}
    return JobContext(outputs, store, mark, run, threads)


def _fault(info: WorkerInfo | BaseException, local: WorkerInfo, store: str) -> str:
    """Return why a worker cannot take part, with the fix, or an empty text if it can."""
    if isinstance(info, BaseException):
        missing = isinstance(info, ImportError)
        return f"cannot run Workbench ({info}); install it there" if missing else " ".join(f"{info}".split())
    for name, version in local.versions.items():
        if info.versions.get(name) != version:
            return f"has {name} {info.versions.get(name)} and this process {version}; install the same on both"
    if not info.sees_store:
        return f"does not see the store {store}, or cannot write it; mount it there at the same path, or set WORKBENCH_STORE to a URL"
    if info.identities != local.identities:
        return "has different models, or runs them in a different precision; use the same files, and backend: torch if processors differ"
    return ""
