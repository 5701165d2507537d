"""A target of a file, and what it gives for a question."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from workbench.core.records import Answer, Passage, Query, TargetHit
from workbench.llm.session import CallResources
from workbench.systems.base import TargetResources
from workbench.systems.recorded.target import RecordedTarget

BERTH, PILOT = Query("q1", "What is a berth?"), Query("q2", "Who pays the pilot?")
WriteTarget = Callable[..., RecordedTarget]


@pytest.fixture
def recorded(tmp_path: Path) -> WriteTarget:
    """Write a file of rows, of text or of any JSON value, and return its target."""

    def write(file: str, content: Any, **settings: Any) -> RecordedTarget:
        path = tmp_path / file
        if isinstance(content, str):
            text = content
        elif path.suffix == ".json":
            text = json.dumps(content)
        else:
            text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in content)
        path.write_text(text, "utf-8", newline="")
        return RecordedTarget(**{"name": "other", "path": str(path)} | settings)

    return write


def search(target: RecordedTarget, query: Query = BERTH, k: int = 10) -> Sequence[TargetHit]:
    async def ask() -> Sequence[TargetHit]:
        async with target.session(TargetResources(CallResources())) as session:
            return await session.search(query, k)

    return asyncio.run(ask())


def answer(target: RecordedTarget, query: Query = BERTH, context: Sequence[Passage] | None = None) -> Answer:
    async def ask() -> Answer:
        async with target.session(TargetResources(CallResources())) as session:
            return await session.answer(query, context)

    return asyncio.run(ask())
