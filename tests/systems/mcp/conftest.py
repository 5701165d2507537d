"""Servers at addresses of this process or as processes of their own, and sessions with them."""

import asyncio
import contextlib
import functools
import importlib.util
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest

from tests.loopback import serving_application
from workbench.llm.session import CallResources
from workbench.systems.base import System, TargetResources
from workbench.systems.mcp.target import McpTarget

ROOT = Path(__file__).parents[3]
NOTES = ROOT / "experiments" / "targets" / "notes_server.py"
STRANGE = Path(__file__).parent / "strange_server.py"
T = TypeVar("T")
# The tools of the notes server.
TOOLS: Mapping[str, Any] = {
    "search": {
        "tool": "semantic_search",
        "arguments": {"query": "{query}", "limit": "{k}"},
        "reply": {"hits": "$.results", "id": "note_id", "text": "content", "score": "score"},
    },
    "answer": {
        "tool": "semantic_search_answer",
        "arguments": {"query": "{query}"},
        "reply": {
            "text": "$.generated_answer",
            "sources": {"hits": "$.sources", "id": "note_id"},
            "degraded": [{"path": "$.search_method", "in": ["semantic_sampling_unsupported"]}],
        },
    },
    "ingest": {"tool": "update_note", "arguments": {"note_id": "{doc_id}", "title": "{title}", "content": "{text}", "create": True}},
    "remove": {"tool": "delete_note", "arguments": {"note_id": "{doc_id}"}},
}


def notes(**settings: Any) -> McpTarget:
    """The notes server, as a process unless the settings have a URL."""
    where = {"transport": "http"} if "url" in settings else {"command": "python", "args": [str(NOTES)]}
    return McpTarget(**{"name": "notes", **where, **TOOLS, **settings})


def strange(tool: str = "find", args: Sequence[str] = (), **settings: Any) -> McpTarget:
    """The strange server, searched by a tool of it, as a process unless the settings have a URL."""
    search = {"tool": tool, "arguments": {"query": "{query}"}, "reply": {"hits": "$.result", "id": "id"}}
    where = {"transport": "http"} if "url" in settings else {"command": "python", "args": [str(STRANGE), *args]}
    return McpTarget(**{"name": "strange", **where, "search": search, **settings})


def during(target: McpTarget, work: Callable[[System], Awaitable[T]], calls: CallResources | None = None, seconds: float = 60) -> T:
    """Return what `work` returns in a session."""

    async def run() -> T:
        async with asyncio.timeout(seconds), target.session(TargetResources(calls or CallResources())) as session:
            return await work(session)

    return asyncio.run(run())


@pytest.fixture(scope="session")
def served() -> Iterator[Callable[[Path], tuple[ModuleType, str]]]:
    """Serve the MCP server of a file at an address, and return its module and the address."""
    with contextlib.ExitStack() as stack:

        @functools.cache
        def serve(path: Path) -> tuple[ModuleType, str]:
            spec = importlib.util.spec_from_file_location(path.stem, path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module, f"{stack.enter_context(serving_application(module.server.streamable_http_app()))}/mcp"

        yield serve


@pytest.fixture
def notes_url(served: Callable[[Path], tuple[ModuleType, str]]) -> str:
    """The address of a notes server without notes."""
    module, url = served(NOTES)
    module.store = module.NoteStore()
    return url


@pytest.fixture
def strange_url(served: Callable[[Path], tuple[ModuleType, str]]) -> str:
    """The address of the strange server."""
    return served(STRANGE)[1]


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    """The value of SECRET_KEY, which only servers that name it get."""
    monkeypatch.setenv("SECRET_KEY", "s3cr3t-value")
    return os.environ["SECRET_KEY"]
