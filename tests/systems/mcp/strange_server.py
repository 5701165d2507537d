"""A server with the faults that real ones have. It prints on stdout where only messages belong, and on stderr what it was started with."""

import asyncio
import contextlib
import itertools
import os
import subprocess
import time
from pathlib import Path
from typing import Annotated

from mcp.server.mcpserver import Context, MCPServer, Resolve, Sample
from mcp.types import (
    BlobResourceContents,
    ContentBlock,
    CreateMessageResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)

server = MCPServer("strange")
COLLECTIONS = {"notes": ["a", "b"]}
LATER: list[asyncio.Task[None]] = []


@server.tool()
def find(query: str, collection: str = "notes") -> list[dict[str, str]]:
    """As many servers do, find nothing in a collection that does not exist."""
    print("this line is no message")
    match query.split():
        case ["die"]:
            os._exit(1)
        case ["die", "once", path] if not Path(path).exists():
            Path(path).touch()
            os._exit(1)
        case ["hatch", path]:
            _hatch(Path(path))
        case ["hang"]:
            time.sleep(60)
        case ["raise"]:
            raise ValueError("the disk is full")
    return [{"id": name} for name in COLLECTIONS.get(collection, [])]


@server.tool()
def add(name: str) -> dict[str, int]:
    """Keep a name in memory."""
    COLLECTIONS["notes"].append(name)
    return {"names": len(COLLECTIONS["notes"])}


@server.tool(structured_output=False)
def find_as_text(query: str) -> str:  # noqa: ARG001
    """Return hits as JSON in a text, in columns."""
    return '{"ids": [["b", "a"]], "documents": [["bees", "ants"]], "distances": [[0.1, 0.2]]}'


@server.tool(structured_output=False)
def answer_as_text(query: str) -> str:
    """Return an answer that is no JSON."""
    return f"The answer to {query} is 42."


@server.tool(structured_output=False)
def parts(query: str) -> list[ContentBlock]:
    """Return the parts that the question names, divided by bars: texts, `@text` in a resource, `image`, `binary` and `link`."""
    return [_part(name) for name in query.split("|") if name]


@server.tool()
def answer_nothing(query: str) -> dict[str, str | None]:  # noqa: ARG001
    """Report a success without an answer."""
    return {"status": "success", "answer": None}


@server.tool()
def environment(query: str) -> list[dict[str, str]]:  # noqa: ARG001
    """Return the names of the variables that the process has."""
    return [{"id": name} for name in sorted(os.environ)]


def first(query: str) -> Sample:
    """Ask the client for a text."""
    return _request(f"first {query}")


def second(query: str, one: Annotated[CreateMessageResult, Resolve(first)]) -> Sample:
    """Ask the client again, with its first text."""
    assert isinstance(one.content, TextContent)
    return _request(f"second {query} {one.content.text}")


@server.tool()
def answer_in_two_steps(query: str, two: Annotated[CreateMessageResult, Resolve(second)]) -> dict[str, str]:
    """Answer with two texts of the client."""
    assert isinstance(two.content, TextContent)
    return {"query": query, "answer": two.content.text}


@server.tool()
async def answer_in_the_old_way(query: str, context: Context) -> dict[str, str]:
    """Ask the client as servers of the older protocol do, and call a failure a success."""
    try:
        reply = await context.session.create_message([_message(query)], max_tokens=10)
    except Exception as error:
        if "REPORT" in os.environ:
            Path(os.environ["REPORT"]).write_text(str(error), "utf-8")
        return {"answer": "I could not answer."}
    assert isinstance(reply.content, TextContent)
    return {"answer": reply.content.text}


@server.tool()
async def answer_and_ask_later(query: str, context: Context) -> dict[str, str]:
    """Answer, and ask the client for a text a little later."""

    async def ask() -> None:
        await asyncio.sleep(0.2)
        await answer_in_the_old_way(query, context)

    LATER.append(asyncio.create_task(ask()))
    return {"answer": "yes"}


@server.tool()
async def answer_after_asking_for_ever(query: str, context: Context) -> dict[str, str]:
    """Ask the client until the end, whatever it says."""
    for number in itertools.count():
        with contextlib.suppress(Exception):
            await context.session.create_message([_message(f"{query} {number}")], max_tokens=10)
        await asyncio.sleep(0.01)
    return {}


def _message(text: str) -> SamplingMessage:
    return SamplingMessage(role="user", content=TextContent(type="text", text=text))


def _request(text: str) -> Sample:
    return Sample([_message(text)], max_tokens=10)


def _hatch(path: Path) -> None:
    """Start a process, one that ignores SIGTERM, and one whose parent has ended. Write their numbers."""
    started = [
        subprocess.Popen(["sh", "-c", f"{trap} while true; do sleep 0.1; done"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for trap in ("", "trap '' TERM;")
    ]
    orphan = subprocess.run(["sh", "-c", "sleep 600 </dev/null >/dev/null 2>&1 & echo $!"], capture_output=True, text=True).stdout
    written = path.with_suffix(".part")
    written.write_text(" ".join([*(str(each.pid) for each in started), orphan]))
    written.rename(path)


if __name__ == "__main__":
    server.run("stdio")


def _part(name: str) -> ContentBlock:
    if name.startswith("@"):
        return EmbeddedResource(resource=TextResourceContents(uri="note://1", text=name[1:]))
    if name == "image":
        return ImageContent(data="AA==", mime_type="image/png")
    if name == "binary":
        return EmbeddedResource(resource=BlobResourceContents(uri="note://1", blob="AA=="))
    return ResourceLink(name="cats", uri="note://cats") if name == "link" else TextContent(text=name)
