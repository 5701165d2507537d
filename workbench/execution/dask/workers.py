"""Tasks on workers of Dask by name, each after what it needs.

No more tasks are out than there are workers. Dask blames the death of a worker on every task that it held, and a task that kills
its worker may stand beside others all the same, while a killed worker is started anew: so who is blamed is tried once more, alone.
"""

import contextlib
import functools
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from workbench.errors import WorkerError
from workbench.execution.dask.scheduler import Run, Task, TaskResult

_ANSWER_SECONDS = 120
_WITHOUT_WORKERS_SECONDS = 60
_TICK_SECONDS = 2.0


class _DeadWorkersError(WorkerError):
    """A task that took workers with it, or stood beside one that did."""


class Workers:
    """Workers that are connected; every wait is bounded."""

    def __init__(self, client: Any, where: str) -> None:
        self._client, self._where = client, where
        self._shared: Any = None
        self._place = ""

    def addresses(self) -> dict[str, int]:
        """The threads of each worker by its address."""
        return dict(self._client.nthreads())

    def ask(self, work: Callable[..., Any], *given: Any) -> dict[str, Any]:
        """What a call gives on every worker, or its error, by address."""
        from distributed import wait

        token = f"{work.__name__}-{time.monotonic_ns()}"
        asked: dict[str, Any] = {}
        ends = time.monotonic() + _ANSWER_SECONDS
        while time.monotonic() < ends:
            # Who is gone is not waited for, and who came is asked too.
            asked = {address: asked.get(address) or self._sent(address, work, given, f"{token}-{address}") for address in self.addresses()}
            if asked and all(future.done() for future in asked.values()):
                break
            with contextlib.suppress(TimeoutError):
                wait([future for future in asked.values() if not future.done()], timeout=_TICK_SECONDS)
            if not asked:
                time.sleep(_TICK_SECONDS)
        silent = WorkerError(f"did not answer in {_ANSWER_SECONDS} s", "see whether it is busy with another sweep")
        found = {address: _outcome("", future).error or future.result() if future.done() else silent for address, future in asked.items()}
        self._client.cancel(list(asked.values()))
        return found

    def _sent(self, address: str, work: Callable[..., Any], given: tuple[Any, ...], key: str) -> Any:
        return self._client.submit(work, *given, key=key, workers=[address], allow_other_workers=False, pure=False)

    def share(self, value: Any, place: str) -> None:
        """Give all later tasks this as their first argument; `place` keeps their names from those of other sweeps on the scheduler."""
        self._place = place
        self._shared = self._client.submit(_itself, value, key=f"site-{place}-{time.monotonic_ns()}", pure=False)

    def run(self, tasks: Sequence[Task]) -> Iterator[TaskResult]:
        """Run tasks, each with what it needs before it; they come as they end. WorkerError when no worker is left."""
        run = Run(tasks)
        ended: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        out: dict[str, Any] = {}
        watch = _Watch(self._client, self._where)
        pool = ThreadPoolExecutor(1)
        try:
            while run.unfinished:
                for task in run.startable(watch.room):
                    out[task.name] = future = (
                        pool.submit(task.work, *task.given()) if task.here else self._submit(task, run.alone(task.name))
                    )
                    future.add_done_callback(functools.partial(_put, ended, task.name))
                try:
                    name, future = ended.get(timeout=_TICK_SECONDS)
                except queue.Empty:
                    watch.look()
                    continue
                del out[name]
                outcome = _outcome(name, future)
                if isinstance(outcome.error, _DeadWorkersError) and not run.alone(name):
                    run.suspect(name)
                else:
                    yield from run.end(outcome)
        finally:
            here = [future for future in out.values() if not hasattr(future, "key")]
            self._client.cancel([future for future in out.values() if hasattr(future, "key")])
            for future in here:
                future.cancel()
            pool.shutdown(wait=True)

    def _submit(self, task: Task, alone: bool) -> Any:
        # A second try is another task to the scheduler, which would give back the first one's error.
        key = f"{task.name}-{self._place}" + ("-alone" if alone else "")
        return self._client.submit(task.work, self._shared, *task.given(), key=key, pure=True)


def _put(ended: "queue.SimpleQueue[tuple[str, Any]]", name: str, future: Any) -> None:
    ended.put((name, future))


class _Watch:
    """How many tasks the workers have room for, looked up now and then; WorkerError when they are gone for good."""

    def __init__(self, client: Any, where: str) -> None:
        self._client, self._where = client, where
        self._alone_since: float | None = None
        self._looked = 0.0
        self._room = 0

    @property
    def room(self) -> int:
        if time.monotonic() - self._looked > _TICK_SECONDS:
            self.look()
        return self._room

    def look(self) -> None:
        fix = "start it again and run again: what was finished is kept"
        if self._client.status != "running":
            raise WorkerError(f"the scheduler at {self._where} is gone", fix)
        self._looked = time.monotonic()
        # One at least, so that tasks wait at the scheduler for a worker that is started anew.
        self._room = max(1, len(self._client.nthreads()))
        if self._client.nthreads():
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = self._looked
        elif self._looked - self._alone_since > _WITHOUT_WORKERS_SECONDS:
            raise WorkerError(f"no worker is left at {self._where}", fix)


def _outcome(name: str, future: Any) -> TaskResult:
    """A future that is done as its value or its error; a worker that died again and again as one line."""
    if future.cancelled():
        return TaskResult(name, None, WorkerError("the scheduler dropped the task", "see that it runs and run again"))
    error = future.exception()
    if error is None:
        return TaskResult(name, future.result(), None)
    if type(error).__name__ == "KilledWorker":
        what = f"workers died while they ran {getattr(error, 'task', name)}"
        error = _DeadWorkersError(what, "see whether their machine ran out of memory (dmesg), then run again: what was finished is kept")
    return TaskResult(name, None, error)


def _itself(value: Any) -> Any:
    return value
