"""A session with a target that a whole test run shares."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from workbench.core.records import Answer, Document, Query, TargetHit
from workbench.systems.base import System, Target, TargetResources

T = TypeVar("T")
# A small model on a busy machine reads five notes in minutes.
SEARCHED, SECONDS = 10, 300.0


class SharedSession:
    """An open session, whose requests run on an event loop in a thread, so that tests need no loop."""

    def __init__(self, session: System, loop: asyncio.AbstractEventLoop) -> None:
        self._session, self._loop = session, loop

    def search(self, query: Query) -> Sequence[TargetHit]:
        """The ten best hits."""
        return self._wait(self._session.search(query, SEARCHED), SECONDS)

    def answer(self, query: Query) -> Answer:
        """An answer from the five best notes."""
        return self._wait(self._session.answer(query), SECONDS)

    def ingest(self, documents: Sequence[Document], seconds: float) -> None:
        """Add documents, within a time limit."""
        self._wait(self._session.ingest(documents), seconds)

    def _wait(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, seconds), self._loop).result()


@contextmanager
def shared_session(target: Target, resources: TargetResources) -> Iterator[SharedSession]:
    """Open a session in a thread. It is opened and closed by one task, as the MCP SDK requires."""
    loop, opened, closing = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    sessions: list[System] = []
    errors: list[BaseException] = []

    async def hold() -> None:
        async with target.session(resources) as session:
            sessions.append(session)
            opened.set()
            await closing.wait()

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(hold())
        except BaseException as error:  # raised again below
            errors.append(error)
        finally:
            opened.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    opened.wait()
    if errors:
        raise errors[0]
    try:
        yield SharedSession(sessions[0], loop)
    finally:
        loop.call_soon_threadsafe(closing.set)
        thread.join(60)
