"""Ask a target one thing in a session of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import pytest

from tests.systems.http.service import Service
from workbench.core.records import Answer, Passage, Query, TargetHit
from workbench.llm.session import CallResources
from workbench.systems.base import System, TargetError, TargetResources
from workbench.systems.http.target import HttpTarget

T = TypeVar("T")
QUERY = Query("q1", "why do cats purr?")
SEARCH = {"url": "search", "body": {"q": "{query}", "n": "{k}"}, "reply": {"hits": "$.results", "id": "doc_id", "text": "text"}}
ANSWER = {"url": "answer", "body": {"q": "{query}"}, "reply": {"text": "$.answer"}}


def target_of(service: Service | str, **settings: Any) -> HttpTarget:
    url = service if isinstance(service, str) else service.host
    return HttpTarget(**{"name": "service", "url": url, "retries": 1, "timeout": 20, **settings})


def in_session(target: HttpTarget, use: Callable[[System], Awaitable[T]]) -> T:
    async def run() -> T:
        async with target.session(TargetResources(CallResources())) as session:
            return await use(session)

    return asyncio.run(run())


def searched(target: HttpTarget, k: int = 3) -> Sequence[TargetHit]:
    return in_session(target, lambda session: session.search(QUERY, k))


def answered(target: HttpTarget, context: Sequence[Passage] | None = None) -> Answer:
    return in_session(target, lambda session: session.answer(QUERY, context))


def failure(target: HttpTarget, use: Callable[[System], Awaitable[Any]] | None = None) -> TargetError:
    """Return the error of a search or an answer, which is one line."""

    async def usual(session: System) -> None:
        await (session.search(QUERY, 3) if target.searches else session.answer(QUERY))

    with pytest.raises(TargetError) as caught:
        in_session(target, use or usual)
    assert "\n" not in str(caught.value)
    return caught.value
