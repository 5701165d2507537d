"""Threads for functions of other people, which may never return."""

import asyncio
import contextlib
import contextvars
import functools
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class DaemonThreads:
    """Threads that call functions for an event loop. The end of the process does not wait for a function that hangs.

    A thread that is free is used again, so calls one after the other are made by one thread: a connection of sqlite3 works. asyncio's own
    threads are waited for when the loop ends.
    """

    def __init__(self) -> None:
        self._free: list[queue.SimpleQueue[Callable[[], None] | None]] = []

    async def run(self, function: Callable[[], T]) -> T:
        """Call the function in a thread and return its result, or raise its exception."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()
        jobs = self._free.pop() if self._free else _started()

        def done(settle: Callable[[], None]) -> None:
            self._free.append(jobs)
            if not result.done():
                settle()

        def job() -> None:
            try:
                settle = functools.partial(result.set_result, context.run(function))
            except BaseException as error:  # the caller gets it
                settle = functools.partial(_fail, result, error)
            with contextlib.suppress(RuntimeError):  # the loop ended meanwhile
                loop.call_soon_threadsafe(done, settle)

        jobs.put(job)
        return await result

    def close(self) -> None:
        """Let the threads that are free end."""
        while self._free:
            self._free.pop().put(None)


def _started() -> "queue.SimpleQueue[Callable[[], None] | None]":
    jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
    threading.Thread(target=_work, args=(jobs,), name="workbench-target", daemon=True).start()
    return jobs


def _work(jobs: "queue.SimpleQueue[Callable[[], None] | None]") -> None:
    while job := jobs.get():
        job()


def _fail(result: "asyncio.Future[T]", error: BaseException) -> None:
    # A future takes no StopIteration, and SystemExit would end the event loop.
    result.set_exception(error if isinstance(error, Exception) and not isinstance(error, StopIteration) else FunctionExitError(error))


class FunctionExitError(Exception):
    """A function that tried to end the process, or to end an iteration that it is not part of."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"the function raised {type(cause).__name__}: {cause}")
