"""Check workers before a sweep: they must see its store and compute what this process would."""

import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from workbench.errors import InputError
from workbench.execution.dask.tasks import JobContext, WorkerInfo, worker_info
from workbench.execution.dask.workers import Workers
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.storage.remote_store import RemoteStore


def _place(run: RunContext) -> str:
    """The store as workers name it."""
    return run.workspace.url or str(run.workspace.store_root.resolve())


@contextmanager
def marked(run: RunContext) -> Iterator[str]:
    """A file in the store, and in outputs, while the sweep runs; a worker that sees it sees the same store."""
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


def checked(run: RunContext, configurations: Sequence[Configuration], workers: Workers, mark: str) -> JobContext:
    """The context of all tasks, for workers of which each sees the store and computes what the driver would. Errors: InputError for others."""
    outputs, store = run.workspace.outputs.resolve(), _place(run)
    embedders = list(dict.fromkeys(one.embedding for one in configurations if one.embedding))
    infos, own = workers.ask(worker_info, outputs, store, mark, embedders), worker_info(outputs, store, mark, embedders)
    faults = [f"the worker {address} {fault}" for address, info in infos.items() if (fault := _fault(info, own, store))]
    faults += [
        f"the worker {address} runs {threads} tasks at once; start it with --nthreads 1"
        for address, threads in workers.addresses().items()
        if threads != 1
    ]
    if faults:
        raise InputError(faults[0] + (f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""))
    machines = Counter(info.machine for info in infos.values())
    threads = {info.machine: max(1, info.cores // machines[info.machine]) for info in infos.values()}
    # A copy has none of the tables that this process has made of the dataset.
    return JobContext(outputs, store, mark, replace(run), threads)


def _fault(info: WorkerInfo | BaseException, own: WorkerInfo, store: str) -> str:
    """Why a worker cannot help, with the fix; empty if it can."""
    if isinstance(info, BaseException):
        missing = isinstance(info, ImportError)
        return f"cannot run Workbench ({info}); install it there" if missing else " ".join(f"{info}".split())
    for name, here in own.versions.items():
        if info.versions.get(name) != here:
            return f"has {name} {info.versions.get(name)} and this process {here}; install the same on both"
    if not info.sees_store:
        return f"does not see the store {store}, or cannot write it; mount it there at the same path, or set WORKBENCH_STORE to a URL"
    if info.identities != own.identities:
        return "has other models, or runs them in another precision; use the same files, and backend: torch where processors differ"
    return ""
