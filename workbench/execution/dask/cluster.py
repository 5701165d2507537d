"""Workers by Dask: processes on this machine, or those of a scheduler elsewhere."""

import logging
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

from workbench.core import cpu
from workbench.core.distribution import advice
from workbench.core.processes import skip_schema_grammar
from workbench.errors import InputError
from workbench.execution.dask.workers import Workers

# A task that has killed this many workers is given up.
_DEATHS = 3
_CONNECT_SECONDS = 10
_START_SECONDS = 60


@contextmanager
def connected(jobs: int | None, scheduler: str | None) -> Iterator[Workers]:
    """Worker processes on this machine, `jobs` of them, ended with the context, or those of the scheduler at an address."""
    try:
        import dask
        import distributed  # noqa: F401  # only whether it is installed
    except ImportError:
        raise InputError("--jobs and --scheduler need Dask", advice("cluster")) from None
    # The data set travels in one task; nothing serves pages.
    quiet: dict[str, Any] = {"distributed.admin.large-graph-warning-threshold": "10 GB", "distributed.admin.log-length": 0}
    pages: dict[str, Any] = {f"distributed.{who}.http.routes": [] for who in ("scheduler", "worker", "nanny")}
    with dask.config.set(quiet | pages), _quiet(), _here(jobs or 1) if scheduler is None else _at(scheduler) as workers:
        yield workers


@contextmanager
def _here(jobs: int) -> Iterator[Workers]:
    from distributed import Client, LocalCluster

    # BLAS reads its number of threads when it is imported.
    threads = {name: str(max(1, cpu.usable() // jobs)) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    with _interrupts_held():
        cluster = LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            # Without a limit: a worker that is killed for its memory could have finished where one process would.
            memory_limit=0,
            silence_logs=logging.CRITICAL,
            scheduler_kwargs={"allowed_failures": _DEATHS - 1, "dashboard": False},
            env=threads,
        )
    with cluster, Client(cluster, timeout=_CONNECT_SECONDS) as client:
        client.run(skip_schema_grammar)
        yield Workers(client, "this machine")


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Threads and processes started in the context, and their own, never see Ctrl-C: this process does, and ends them."""
    # Started later, the tracker would lift the mask of the thread that starts processes.
    resource_tracker.ensure_running()
    mask = getattr(signal, "pthread_sigmask", None)
    before = mask(signal.SIG_BLOCK, {signal.SIGINT}) if mask else set()
    try:
        yield
    finally:
        if mask:
            mask(signal.SIG_SETMASK, before)


@contextmanager
def _at(address: str) -> Iterator[Workers]:
    from distributed import Client

    class Closing(Client):  # type: ignore[misc]  # Dask is not typed here
        """A client that closes itself if it cannot connect: the garbage collector would close it later, under any lock of Dask."""

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
    """Silence what Dask logs about workers that come and go; failed tasks report it."""
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
