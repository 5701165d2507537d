"""Questions and documents for an MCP server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import replace

from mcp_types import CallToolResult
from pydantic import JsonValue

from workbench.answering.base import Answer
from workbench.records import Document, Passage, Query, TargetHit
from workbench.targets.base import TargetError, TargetResources, TargetSession
from workbench.targets.mcp.connection import McpConnection
from workbench.targets.mcp.contract import check_tools
from workbench.targets.mcp.results import ToolReply, read_result
from workbench.targets.mcp.sampler import Sampler, SamplingRecord
from workbench.targets.mcp.server import McpServer
from workbench.targets.mcp.settings import McpSettings
from workbench.targets.mcp.tools import McpIngest, McpReady, McpTool
from workbench.targets.paths import MissingError
from workbench.targets.replies import ReplySign
from workbench.targets.templates import Slots, document_slots, documents_slots, fill, question_slots

Call = Callable[[str, dict[str, JsonValue]], Awaitable[CallToolResult]]
Ask = Callable[[McpTool, Slots], Awaitable[JsonValue]]
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


@asynccontextmanager
async def open_session(target: McpSettings, resources: TargetResources) -> AsyncIterator[TargetSession]:
    """Connect to the server, and check its tools. Raises TargetDownError if it cannot be used."""
    sampler = Sampler(target.sampling, resources.calls) if target.sampling else None
    server = McpServer(target, sampler)
    try:
        check_tools(target.tools, await server.tools())
        yield McpSession(target, server, sampler)
    finally:
        await server.close()


class McpSession(TargetSession):
    """A connection to a server, whose tools it calls."""

    def __init__(self, target: McpSettings, server: McpServer, sampler: Sampler | None) -> None:
        self._target, self._server, self._sampler = target, server, sampler
        self._turn = asyncio.Lock()
        # What the server was given. One that is started again may have kept it in memory.
        self._documents: dict[str, Document] = {}
        server.restore = self._restore

    async def search(self, query: Query, k: int) -> Sequence[TargetHit]:
        """Return at most k hits, best first."""
        if (tool := self._target.search) is None:
            return await super().search(query, k)
        reply, _ = await self._call(tool, question_slots(query, k))
        return reply.hits(tool.reply)[:k]

    async def answer(self, query: Query, context: Sequence[Passage] | None = None) -> Answer:
        """Answer a question. An answer that is empty because the server did not ask for a text is a failure."""
        if (tool := self._target.answer) is None:
            return await super().answer(query, context)
        reply, record = await self._call(tool, question_slots(query, self._target.k, context))
        try:
            answer = reply.answer(tool.reply.read)
        except MissingError as error:
            raise TargetError(f"{error}{self._not_sampled(record)}") from None
        if not answer.text.strip() and (why := self._not_sampled(record)):
            raise TargetError(f"the answer is empty{why}")
        return replace(answer, samples=tuple(record.samples), unread=reply.unread, **record.use())

    async def ingest(self, documents: Sequence[Document]) -> None:
        """Add documents, or replace those with the same ids, and wait until they can be found."""
        if (tool := self._target.ingest) is None:
            raise TargetError("the target takes no documents")
        await self._add(tool, documents, self._ask)
        self._documents.update((document.doc_id, document) for document in documents)

    async def remove(self, doc_ids: Sequence[str]) -> None:
        """Delete documents by their ids."""
        if (tool := self._target.remove) is None:
            raise TargetError("the target deletes no documents")
        requests: list[Slots] = [{"doc_ids": list(doc_ids)}] if tool.takes_many else [{"doc_id": doc_id} for doc_id in doc_ids]
        await _ask_each(self._ask, tool, tool.degraded, requests)
        for doc_id in doc_ids:
            self._documents.pop(doc_id, None)

    async def _restore(self, connection: McpConnection) -> None:
        """Give a server whose process or session ended the documents of this session."""

        async def ask(tool: McpTool, slots: Slots) -> JsonValue:
            return (await self._reply(tool, slots, connection.client.call_tool)).value

        if self._documents and self._target.ingest:
            await self._add(self._target.ingest, tuple(self._documents.values()), ask)

    async def _add(self, tool: McpIngest, documents: Sequence[Document], ask: Ask) -> None:
        if tool.takes_many:
            batches = [documents[start : start + tool.batch] for start in range(0, len(documents), tool.batch)]
            requests = [documents_slots(batch, tool.document) for batch in batches]
        else:
            requests = [document_slots(document) for document in documents]
        await _ask_each(ask, tool, tool.degraded, requests)
        if tool.ready:
            await _wait(ask, tool.ready)

    async def _ask(self, tool: McpTool, slots: Slots) -> JsonValue:
        return (await self._call(tool, slots))[0].value

    async def _call(self, tool: McpTool, slots: Slots) -> tuple[ToolReply, SamplingRecord]:
        """Call a tool. Return its reply, and the texts that it asked for."""
        async with await self._alone(), self._recording() as record:
            return await self._reply(tool, slots, self._server.call), record

    async def _reply(self, tool: McpTool, slots: Slots, call: Call) -> ToolReply:
        arguments = fill(tool.arguments, slots)
        assert isinstance(arguments, dict)
        result = await call(tool.tool, arguments)
        try:
            return read_result(result)
        except TargetError as error:
            raise TargetError(f"the tool {tool.tool!r} failed: {self._server.cleaned(str(error))}") from None

    async def _alone(self) -> "asyncio.Lock | nullcontext[None]":
        """Return a lock if requests of the server do not say which of several calls they belong to."""
        return self._turn if self._sampler and (await self._server.connection()).one_at_a_time else nullcontext()

    def _recording(self) -> AbstractAsyncContextManager[SamplingRecord]:
        return self._sampler.recording() if self._sampler else nullcontext(SamplingRecord())

    def _not_sampled(self, record: SamplingRecord) -> str:
        if self._sampler and not record.requests:
            return ", and the server asked for no text (sampling): try mode: legacy"
        return ""


async def _ask_each(ask: Ask, tool: McpTool, degraded: Sequence[ReplySign], requests: Sequence[Slots]) -> None:
    for slots in requests:
        reply = await ask(tool, slots)
        for marker in degraded:
            marker.check(reply)


async def _wait(ask: Ask, ready: McpReady) -> None:
    """Wait until documents can be found."""
    pause = _FIRST_PAUSE
    with suppress(TimeoutError):
        async with asyncio.timeout(ready.seconds):
            while not ready.reached(await ask(ready, {})):
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            return
    raise TargetError(
        f"the documents cannot be found after {ready.seconds:g} seconds: {ready.path} of {ready.tool!r} is not {ready.equals!r}"
    )
