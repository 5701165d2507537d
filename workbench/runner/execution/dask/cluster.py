"""Connect Dask workers, local or those of a scheduler, and check that they compute the same results as this process."""

import logging
import os
import secrets
import signal
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from typing import Any

from workbench.core.environment import SAFE_PATH, advice, modules_of_working_directory_ignored, skip_schema_grammar, usable_cores
from workbench.core.errors import InputError, WorkerError, error_line
from workbench.core.storage.remote_store import RemoteStore
from workbench.runner.execution.dask.tasks import JobContext, WorkerInfo, worker_info
from workbench.runner.execution.dask.workers import Workers
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext

# Give up a task after it has killed this many workers.
_DEATHS = 3
_CONNECT_SECONDS = 10
_START_SECONDS = 60


@contextmanager
def connected(jobs: int | None, scheduler: str | None) -> Iterator[Workers]:
    """Yield workers: `jobs` processes on this machine, which end with the context, or those of the scheduler at an address."""
    try:
        import dask
        import distributed  # noqa: F401  # checks only that it is installed
    except ImportError:
        raise InputError("--jobs and --scheduler need Dask", advice("cluster")) from None
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
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
