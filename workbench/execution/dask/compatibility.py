"""Workers are looked at before a sweep: whether they see its store, and would compute what this process would."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from workbench.errors import InputError
from workbench.execution.dask.tasks import JobContext, WorkerInfo, worker_info
from workbench.execution.dask.workers import Workers
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.storage.remote_store import RemoteStore


def _place(run: RunContext) -> str:
    """The store as workers are told it."""
    return run.workspace.url or str(run.workspace.store_root.resolve())


@contextmanager
def marked(run: RunContext) -> Iterator[str]:
    """A file in the store, and in outputs, while the sweep runs; who sees it sees the same store."""
    mark, workspace = f".sweep-{secrets.token_hex(8)}", run.workspace
    remote = RemoteStore(workspace.url, workspace.store_root) if workspace.url else None
    paths = [] if remote else [workspace.store_root / mark, workspace.outputs / mark]
    if remote:
        remote.put_mark(mark)
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    try:
        yield mark
    finally:
        if remote:
            remote.take_mark(mark)
        for path in paths:
            path.unlink(missing_ok=True)


def checked(run: RunContext, configurations: Sequence[Configuration], workers: Workers, mark: str) -> JobContext:
    """The site, after every worker was found to see the store and to compute what the driver would; InputError where one does not."""
    outputs, store = run.workspace.outputs.resolve(), _place(run)
    embedders = list(dict.fromkeys(one.embedding for one in configurations if one.embedding))
    found = workers.ask(worker_info, outputs, store, mark, embedders)
    own = worker_info(outputs, store, mark, embedders)
    faults = [f"the worker {address} {fault}" for address, one in found.items() if (fault := _fault(one, own, store))]
    faults += [
        f"the worker {address} runs {threads} tasks at once; start it with --nthreads 1"
        for address, threads in workers.addresses().items()
        if threads != 1
    ]
    if faults:
        raise InputError(faults[0] + (f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""))
    machines = [one.machine for one in found.values()]
    threads = {one.machine: max(1, one.cores // machines.count(one.machine)) for one in found.values()}
    # A copy has none of the tables that this process has made of the dataset.
    return JobContext(outputs, store, mark, replace(run), threads)


def _fault(found: Any, own: WorkerInfo, store: str) -> str:
    """Why a worker cannot help, with the fix; empty where it can."""
    if isinstance(found, BaseException):
        missing = isinstance(found, ImportError)
        return f"cannot run Workbench ({found}); install it there" if missing else " ".join(f"{found}".split())
    for name, here in own.versions.items():
        if found.versions.get(name) != here:
            return f"has {name} {found.versions.get(name)} and this process {here}; install the same on both"
    if not found.sees_store:
        return f"does not see the store {store}, or cannot write it; mount it there at the same path, or set WORKBENCH_STORE to a URL"
    if found.identities != own.identities:
        return "has other models, or runs them in another precision; use the same files, and backend: torch where processors differ"
    return ""
