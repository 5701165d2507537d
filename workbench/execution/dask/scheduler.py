"""Tasks by name, each after what it needs: which can start, and what ends with one that fails."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Task:
    """A call by name, on a worker (after the shared value that all get) or `here`, once the tasks that it `needs` have ended well.

    `given` makes its arguments when it starts, so that those of tasks that wait are not held.
    """

    name: str
    work: Callable[..., Any]
    given: Callable[[], tuple[Any, ...]]
    needs: tuple[str, ...] = ()
    here: bool = False


class TaskResult(NamedTuple):
    """A task with its value, or the error of its own or of one that it needed."""

    name: str
    value: Any
    error: BaseException | None


class Run:
    """Which tasks can start, and what ends with them."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = {task.name: task for task in tasks}
        self._lacks = {task.name: {need for need in task.needs if need in self._tasks} for task in tasks}
        self._wanted_by: dict[str, list[str]] = {}
        for name, lacks in self._lacks.items():
            for need in lacks:
                self._wanted_by.setdefault(need, []).append(name)
        self._ready = {here: deque(task for task in tasks if task.here is here and not self._lacks[task.name]) for here in (True, False)}
        self._out: dict[str, Task] = {}
        self._suspects: deque[Task] = deque()
        self._alone: set[str] = set()
        self.unfinished = len(self._tasks)

    def startable(self, room: int) -> Iterator[Task]:
        """The tasks to start now: one here, on workers as many as there is room for; a suspect when nothing else is left for them."""
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
        """Whether a task was started with nothing beside it on the workers."""
        return name in self._alone

    def suspect(self, name: str) -> None:
        """Have a task that was out tried once more, alone: workers died under it, perhaps by what stood beside it."""
        self._suspects.append(self._out.pop(name))

    def end(self, ended: TaskResult) -> Iterator[TaskResult]:
        """What has ended with a task: itself and, where it failed, all that needed it."""
        self._out.pop(ended.name, None)
        if ended.name not in self._lacks:
            return
        del self._lacks[ended.name]
        self.unfinished -= 1
        yield ended
        for name in self._wanted_by.get(ended.name, []):
            if name not in self._lacks:
                continue
            if ended.error is not None:
                yield from self.end(TaskResult(name, None, ended.error))
                continue
            self._lacks[name].discard(ended.name)
            if not self._lacks[name]:
                self._ready[self._tasks[name].here].append(self._tasks[name])
