import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from workbench.core.loop_thread import LoopThread, run_in_thread


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_the_caller_works_on_an_item_while_the_next_is_made() -> None:
    thread, times = LoopThread[int]("numbers"), list[float]()

    async def count() -> None:
        for number in range(3):
            await asyncio.sleep(0.05)
            times.append(time.perf_counter())
            thread.deliver(number)

    received = []
    for number in thread.items(count):
        received.append(number)
        time.sleep(0.1)
    assert received == [0, 1, 2]
    # All were made while the caller worked on the first two.
    assert times[-1] - times[0] < 0.19
    assert "numbers" not in threads()


def test_an_error_comes_after_the_items_that_were_delivered() -> None:
    thread = LoopThread[str]("failing")

    async def work() -> None:
        thread.deliver("first")
        raise ValueError("no more")

    items = thread.items(work)
    assert next(items) == "first"
    with pytest.raises(ValueError, match="no more"):
        next(items)
    assert "failing" not in threads()


def test_a_caller_that_stops_cancels_the_work_and_closes_what_was_open() -> None:
    events = list[str]()

    @contextmanager
    def opened() -> Iterator[None]:
        events.append("open")
        try:
            yield
        finally:
            events.append("closed")

    thread = LoopThread[int]("stopped", opened())

    async def endless() -> None:
        try:
            while True:
                thread.deliver(1)
                await asyncio.sleep(0.01)
        finally:
            events.append("cancelled")

    items = thread.items(endless)
    assert next(items) == 1
    items.close()
    assert events == ["open", "cancelled", "closed"]
    assert "stopped" not in threads()


def test_work_runs_although_the_callers_thread_has_a_running_loop() -> None:
    async def answer() -> int:
        return 42

    async def notebook() -> int:
        return run_in_thread("inner", answer)

    assert asyncio.run(notebook()) == 42


def test_an_error_of_the_work_is_the_callers() -> None:
    async def fail() -> int:
        raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        run_in_thread("inner", fail)
