"""Threads for functions of other people, which may block, exit, fork or never return."""

import asyncio
import contextvars
import os
import queue
import threading
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

from workbench.core.text.formatting import listed, plural

T = TypeVar("T")
_Jobs = queue.SimpleQueue[Callable[[], None] | None]
# The seconds that a coroutine has to end after it is cancelled, and a loop after its last call.
_GRACE = 1.0


class DaemonThreads:
    """Threads that call functions for an event loop, and one with a loop for coroutines. The end of the process waits for none of them.

    A thread that is free is used again, so calls one after the other are made by one thread: a connection of sqlite3 works. All coroutines run on
    one loop, so they can share clients. A coroutine that blocks it past its time keeps it, and the next ones get another.
    """

    def __init__(self) -> None:
        self._free: list[_Jobs] = []
        self._loop: _DaemonLoop | None = None

    async def run(self, label: str, function: Callable[[], T]) -> T:
        """Call the function in a thread and return its result, or raise its exception. `label` names a call that is left running."""
        call, context = _Call[T](label), contextvars.copy_context()
        jobs = self._free.pop() if self._free else _started()

        def job() -> None:
            try:
                settle = partial(call.result.set_result, context.run(function))
            except BaseException as error:  # the caller gets it
                settle = partial(_fail, call.result, error)
            call.end(settle, lambda: self._free.append(jobs))

        jobs.put(job)
        return await call.outcome()

    async def run_coroutine(self, label: str, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine as `run` calls a function. It is cancelled if nobody waits for it any more."""
        call, loop = _Call[T](label), self._loop or _DaemonLoop()
        self._loop = loop

        async def job() -> None:
            try:
                settle = partial(call.result.set_result, await function())
            except BaseException as error:  # the caller gets it
                settle = partial(_fail, call.result, error)
            call.end(settle)

        cancel = loop.start(job)
        try:
            return await call.outcome(cancel)
        finally:
            if call.left and self._loop is loop:
                self._loop = None
                loop.stop()

    def close(self) -> None:
        """Let the threads that are free end."""
        while self._free:
            self._free.pop().put(None)
        if self._loop:
            self._loop.stop()
            self._loop.thread.join(_GRACE)


def left_running() -> list[str]:
    """Return a line that names the calls of functions which still run although nobody waits for them, or no line."""
    counts = Counter(call.label for call in list(_left))
    if not counts:
        return []
    names = listed([f"{number} × {label}" if number > 1 else label for label, number in sorted(counts.items())])
    return [
        f"{plural(counts.total(), 'call')} that took too long still {'runs' if counts.total() == 1 else 'run'} in this process: {names}"
    ]


class _Call(Generic[T]):
    """A call in another thread, whose `result` the loop of this thread waits for."""

    def __init__(self, label: str) -> None:
        self.label, self.left = label, False
        self._caller, self._process = asyncio.get_running_loop(), os.getpid()
        self._ended, self._over = False, asyncio.Event()
        self.result: asyncio.Future[T] = self._caller.create_future()

    async def outcome(self, cancel: Callable[[], object] | None = None) -> T:
        """Wait for the result. If the wait is cancelled, `cancel` the call, and note in the error that it is left running if it does not end."""
        try:
            return await self.result
        except asyncio.CancelledError as error:
            if cancel:
                with suppress(TimeoutError):
                    cancel()
                    await asyncio.wait_for(self._over.wait(), _GRACE)
            _left.add(self)
            if self._ended:
                _left.discard(self)
            else:
                self.left = True
                error.add_note(f"{self.label} is still running")
            raise

    def end(self, settle: Callable[[], None], then: Callable[[], None] = lambda: None) -> None:
        """Hand over the result, from the thread of the call, and continue with `then` on the loop that waits."""
        if os.getpid() != self._process:
            # The function has forked, and this is the child: it has the locks of the run, and nobody waits for it.
            os._exit(0)
        self._ended = True
        _left.discard(self)

        def done() -> None:
            self._over.set()
            then()
            if not self.result.done():
                settle()

        with suppress(RuntimeError):  # the loop ended meanwhile
            self._caller.call_soon_threadsafe(done)


class _DaemonLoop:
    """An event loop in a daemon thread."""

    def __init__(self) -> None:
        self._loop, self._stopped = asyncio.new_event_loop(), asyncio.Event()
        self._tasks = set[asyncio.Task[None]]()
        self._loop.set_default_executor(_DaemonExecutor())
        self.thread = threading.Thread(target=self._run, name="workbench-target-loop", daemon=True)
        self.thread.start()

    def start(self, job: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], object]:
        """Start a coroutine. Return the function that cancels it."""
        task: list[asyncio.Task[None]] = []

        def begin() -> None:
            task.append(self._loop.create_task(job()))
            self._tasks.add(task[0])
            task[0].add_done_callback(self._tasks.discard)

        self._soon(begin)
        return lambda: self._soon(lambda: task[0].cancel())

    def stop(self) -> None:
        """End the thread once its coroutines have ended."""
        self._soon(self._stopped.set)

    def _soon(self, function: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(function)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            end = runner.get_loop().create_task(self._until_stopped())
            while not end.done():
                with suppress(SystemExit, KeyboardInterrupt):  # of a task that a function has started; it stops the loop
                    self._loop.run_until_complete(end)

    async def _until_stopped(self) -> None:
        await self._stopped.wait()
        while self._tasks:
            await asyncio.wait(self._tasks)


class _DaemonExecutor(ThreadPoolExecutor):
    """The threads of `asyncio.to_thread`. Those of Python's own executor are waited for at the end of the process."""

    def submit(self, function: Callable[..., T], /, *args: Any, **named: Any) -> Future[T]:
        """Call a function in a new thread."""
        future = Future[T]()

        def work() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*args, **named))
                except BaseException as error:  # whoever waits gets it
                    future.set_exception(error)

        threading.Thread(target=work, daemon=True).start()
        return future


# Calls that nobody waits for any more. A thread cannot be stopped.
_left: set[_Call[Any]] = set()


def _started() -> _Jobs:
    jobs: _Jobs = queue.SimpleQueue()

    def work() -> None:
        while job := jobs.get():
            job()

    threading.Thread(target=work, name="workbench-target", daemon=True).start()
    return jobs


def _fail(result: "asyncio.Future[Any]", error: BaseException) -> None:
    # A future takes no StopIteration, and SystemExit would end the event loop.
    result.set_exception(error if isinstance(error, Exception) and not isinstance(error, StopIteration) else FunctionExitError(error))


class FunctionExitError(Exception):
    """A function that tried to end the process, or to end an iteration that it is not part of."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"the function raised {type(cause).__name__}: {cause}")
