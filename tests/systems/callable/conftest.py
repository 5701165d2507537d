import asyncio
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from workbench.core.records import Answer, Passage, Query, TargetHit
from workbench.llm.session import CallResources
from workbench.systems.base import Target, TargetResources

RESOURCES = TargetResources(CallResources())


def searched(target: Target, text: str = "leave", k: int = 3, where: Mapping[str, Any] | None = None) -> list[TargetHit]:
    """The hits of one question, in a session of its own."""

    async def ask() -> list[TargetHit]:
        async with target.session(RESOURCES) as session:
            return list(await session.search(Query("q", text, where=where or {}), k))

    return asyncio.run(ask())


def answered(target: Target, text: str = "leave", context: list[Passage] | None = None, where: Mapping[str, Any] | None = None) -> Answer:
    """The answer to one question, in a session of its own."""

    async def ask() -> Answer:
        async with target.session(RESOURCES) as session:
            return await session.answer(Query("q", text, where=where or {}), context)

    return asyncio.run(ask())


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Write a module into the working directory, as a person has it beside an experiment."""
    monkeypatch.chdir(tmp_path)

    def write(source: str) -> str:
        name = f"system_{tmp_path.name.replace('-', '_')}"
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return write


def fields(hit: TargetHit) -> dict[str, Any]:
    """What a hit gives."""
    return {name: value for name, value in vars(hit).items() if value not in (None, {})}
