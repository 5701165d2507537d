"""Run work on an event loop in a thread: a notebook has a running loop in its own."""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class StoppedError(Exception):
    """The work of a thread was stopped before its end."""


class LoopThread(Generic[T]):
    """A thread with an event loop, whose work delivers items to the caller.

    `within` is open while the loop runs, and closed after the threads of the loop have ended.
    """

    def __init__(self, name: str, within: contextlib.AbstractContextManager[object] | None = None) -> None:
        self._name, self._within = name, within or contextlib.nullcontext()
        # None comes after the last item, an error in its place.
        self._items: queue.SimpleQueue[tuple[T] | BaseException | None] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()

    def deliver(self, item: T) -> None:
        self._items.put((item,))

    def items(self, work: Callable[[], Coroutine[None, None, None]], stop: Future[None] | None = None) -> Iterator[T]:
        """Start the thread and yield what `work` delivers, then raise its error. If the caller stops, so does the work. The thread has then ended.

        Raises StoppedError once `stop` is done, from any thread.
        """
        if stop:
            stop.add_done_callback(lambda _: self._items.put(StoppedError()))
        thread = threading.Thread(target=self._run, args=(work,), name=self._name, daemon=True)
        thread.start()
        try:
            while (item := self._items.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item[0]
        finally:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(self._loop)])
            thread.join()

    def _run(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        last: BaseException | None = None
        try:
            with self._within, asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(work())
        except asyncio.CancelledError:  # the caller has stopped
            pass
        except BaseException as error:  # raised again in the caller's thread
            last = error
        self._items.put(last)


def run_in_thread(name: str, work: Callable[[], Coroutine[None, None, T]]) -> T:
    """Run work on an event loop in a thread and return its result."""
    thread = LoopThread[T](name)

    async def deliver() -> None:
        thread.deliver(await work())

    (result,) = thread.items(deliver)
    return result
