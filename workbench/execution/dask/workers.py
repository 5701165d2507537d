"""Run tasks on Dask workers, each after the tasks it needs.

No more tasks are out than there are workers. Dask blames the death of a worker on every task that the worker held, and a task that kills
its worker can still run beside others while the worker is restarted: so a blamed task is tried once more, alone.
"""

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
    """A task killed workers, or was on a worker that another task killed."""


class Workers:
    """Connected workers; every wait is bounded."""

    def __init__(self, client: Any, where: str) -> None:
        self._client, self._where = client, where
        self._shared: Any = None
        self._place = ""
        self._room = 0
        self._counted_at = 0.0
        self._deserted_since: float | None = None

    def addresses(self) -> dict[str, int]:
        """The threads of each worker by its address."""
        return dict(self._client.nthreads())

    def ask(self, work: Callable[..., Any], *given: Any) -> dict[str, Any]:
        """The value of a call on every worker, or its error, by address."""
        token = f"{work.__name__}-{time.monotonic_ns()}"
        asked: dict[str, Any] = {}
        ends = time.monotonic() + _ANSWER_SECONDS
        while time.monotonic() < ends:
            # Workers that are gone are not waited for, and new ones are asked too.
            asked = {address: asked.get(address) or self._sent(address, work, given, f"{token}-{address}") for address in self.addresses()}
            if asked and all(future.done() for future in asked.values()):
                break
            time.sleep(_TICK_SECONDS / 20)
        silent = WorkerError(f"did not answer in {_ANSWER_SECONDS} s", "see whether it is busy with another sweep")
        answers = {address: _outcome("", future).error or future.result() if future.done() else silent for address, future in asked.items()}
        self._client.cancel(list(asked.values()))
        return answers

    def _sent(self, address: str, work: Callable[..., Any], given: tuple[Any, ...], key: str) -> Any:
        return self._client.submit(work, *given, key=key, workers=[address], allow_other_workers=False, pure=False)

    def share(self, value: Any, place: str) -> None:
        """Give all later tasks this as their first argument; `place` keeps their names from those of other sweeps on the scheduler."""
        self._place = place
        self._shared = self._client.submit(_itself, value, key=f"site-{place}-{time.monotonic_ns()}", pure=False)

    def run(self, tasks: Sequence[Task]) -> Iterator[TaskResult]:
        """Run tasks and yield each when it ends. Errors: WorkerError when no worker is left."""
        run = Run(tasks)
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        names: dict[Any, str] = {}
        pool = ThreadPoolExecutor(1)
        self._deserted_since = None
        try:
            while run.unfinished:
                if time.monotonic() - self._counted_at > _TICK_SECONDS:
                    self._count()
                for task in run.startable(self._room):
                    future = pool.submit(task.work, *task.given()) if task.here else self._submit(task, run.alone(task.name))
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
        # A second try is another task to the scheduler, which would give back the first one's error.
        key = f"{task.name}-{self._place}" + ("-alone" if alone else "")
        return self._client.submit(task.work, self._shared, *task.given(), key=key, pure=True)

    def _count(self) -> None:
        """Count the workers, for which one task each may be out; WorkerError when they are gone for good."""
        fix = "start it again and run again: what was finished is kept"
        if self._client.status != "running":
            raise WorkerError(f"the scheduler at {self._where} is gone", fix)
        count, self._counted_at = len(self._client.nthreads()), time.monotonic()
        # At least one, which waits at the scheduler for a worker that is restarted.
        self._room = max(1, count)
        self._deserted_since = None if count else self._deserted_since or self._counted_at
        if self._deserted_since and self._counted_at - self._deserted_since > _WITHOUT_WORKERS_SECONDS:
            raise WorkerError(f"no worker is left at {self._where}", fix)


def _outcome(name: str, future: Any) -> TaskResult:
    """A finished future as its value or its error; workers that died again and again as one line."""
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
