"""Servers as real processes, and sessions with them."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.loopback import closed_port
from workbench.llm.session import CallResources
from workbench.targets.base import TargetResources, TargetSession
from workbench.targets.mcp.target import McpTarget

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
    """The strange server, searched by a tool of it."""
    search = {"tool": tool, "arguments": {"query": "{query}"}, "reply": {"hits": "$.result", "id": "id"}}
    return McpTarget(**{"name": "strange", "command": "python", "args": [str(STRANGE), *args], "search": search, **settings})


def during(target: McpTarget, work: Callable[[TargetSession], Awaitable[T]], calls: CallResources | None = None, seconds: float = 60) -> T:
    """Return what `work` returns in a session."""

    async def run() -> T:
        async with asyncio.timeout(seconds), target.session(TargetResources(calls or CallResources())) as session:
            return await work(session)

    return asyncio.run(run())


@pytest.fixture(scope="module")
def notes_url() -> Iterator[str]:
    """The address of a notes server that runs during a module."""
    port = closed_port()
    process = subprocess.Popen([sys.executable, str(NOTES), "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, "the notes server ended"
            assert time.monotonic() < deadline, "the notes server does not listen"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    """The value of SECRET_KEY, which only servers that name it get."""
    monkeypatch.setenv("SECRET_KEY", "s3cr3t-value")
    return os.environ["SECRET_KEY"]
