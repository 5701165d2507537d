"""Tasks by name, each after the tasks it needs: which can start, and which fail with another."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Task:
    """A call by name, on a worker (after the shared value that all get) or `here`, once the tasks that it `needs` have succeeded.

    `given` makes its arguments when it starts, so that those of waiting tasks take no memory.
    """

    name: str
    work: Callable[..., Any]
    given: Callable[[], tuple[Any, ...]]
    needs: tuple[str, ...] = ()
    here: bool = False


class TaskResult(NamedTuple):
    """A task with its value, or the error of itself or of a task that it needed."""

    name: str
    value: Any
    error: BaseException | None


class Run:
    """Tasks that wait, can start or are out."""

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
            self._ready[self._tasks[name].here].append(self._tasks[name])

    @property
    def unfinished(self) -> bool:
        """Whether a task has not ended."""
        return self._order.is_active()

    def startable(self, room: int) -> Iterator[Task]:
        """The tasks to start now: one here, `room` on workers, or a suspect when no other task is left for the workers."""
        for here, most in ((True, 1), (False, room)):
            while self._ready[here] and self._busy(here) < most and (here or self._alone.isdisjoint(self._out)):
                yield self._started(self._ready[here].popleft())
        if self._suspects and not self._ready[False] and not self._busy(here=False):
            self._alone.add(self._suspects[0].name)
            yield self._started(self._suspects.popleft())

    def _busy(self, here: bool) -> int:
        return sum(task.here is here for task in self._out.values())

    def _started(self, task: Task) -> Task:
        self._out[task.name] = task
        return task

    def alone(self, name: str) -> bool:
        """Whether a task was started with no other on the workers."""
        return name in self._alone

    def suspect(self, name: str) -> None:
        """Have a task tried once more, alone: workers died under it, perhaps because of another task."""
        self._suspects.append(self._out.pop(name))

    def end(self, ended: TaskResult) -> Iterator[TaskResult]:
        """The result of a task and, if it failed, of the tasks that needed it and now cannot start."""
        self._out.pop(ended.name, None)
        self._order.done(ended.name)
        if ended.error is not None:
            self._errors[ended.name] = ended.error
        yield ended
        for task in [self._tasks[name] for name in self._order.get_ready()]:
            error = next((self._errors[need] for need in task.needs if need in self._errors), None)
            if error is None:
                self._ready[task.here].append(task)
            else:
                yield from self.end(TaskResult(task.name, None, error))
