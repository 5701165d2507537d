"""Questions and documents for an MCP server."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import JsonValue

from workbench.records import Document, Passage, Query
from workbench.targets.base import TargetAnswer, TargetError, TargetHit, TargetResources, TargetSession
from workbench.targets.mcp.contract import check_tools
from workbench.targets.mcp.results import read_result
from workbench.targets.mcp.sampler import Sampler, SamplingRecord
from workbench.targets.mcp.server import McpServer
from workbench.targets.mcp.tools import McpReady, McpTool
from workbench.targets.paths import MissingError
from workbench.targets.replies import DegradedMarker
from workbench.targets.templates import Slots, document_slots, documents_slots, fill, question_slots

if TYPE_CHECKING:
    from workbench.targets.mcp.target import McpTarget

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


@asynccontextmanager
async def open_session(target: "McpTarget", resources: TargetResources) -> AsyncIterator[TargetSession]:
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

    def __init__(self, target: "McpTarget", server: McpServer, sampler: Sampler | None) -> None:
        self._target, self._server, self._sampler = target, server, sampler
        self._turn = asyncio.Lock()

    async def search(self, query: Query, k: int) -> Sequence[TargetHit]:
        """Return at most k hits, best first."""
        if (tool := self._target.search) is None:
            return await super().search(query, k)
        reply, _ = await self._call(tool, question_slots(query, k))
        return tool.reply.read(reply)[:k]

    async def answer(self, query: Query, context: Sequence[Passage] | None = None) -> TargetAnswer:
        """Answer a question. An answer that is empty although the server could ask for a text is a failure."""
        if (tool := self._target.answer) is None:
            return await super().answer(query, context)
        reply, record = await self._call(tool, question_slots(query, self._target.k, context))
        try:
            answer = tool.reply.read(reply)
        except MissingError as error:
            raise TargetError(f"{error}{self._not_sampled(record)}") from None
        if not answer.text.strip():
            raise TargetError(f"the answer is empty{self._not_sampled(record)}")
        return replace(answer, samples=tuple(record.samples), **record.use())

    async def ingest(self, documents: Sequence[Document]) -> None:
        """Add documents, or replace those with the same ids, and wait until they can be found."""
        if (tool := self._target.ingest) is None:
            raise TargetError("the target takes no documents")
        if tool.takes_many:
            batches = [documents[start : start + tool.batch] for start in range(0, len(documents), tool.batch)]
            requests = [documents_slots(batch, tool.document) for batch in batches]
        else:
            requests = [document_slots(document) for document in documents]
        await self._call_each(tool, tool.degraded, requests)
        if tool.ready:
            await self._wait(tool.ready)

    async def remove(self, doc_ids: Sequence[str]) -> None:
        """Delete documents by their ids."""
        if (tool := self._target.remove) is None:
            raise TargetError("the target deletes no documents")
        requests: list[Slots] = [{"doc_ids": list(doc_ids)}] if tool.takes_many else [{"doc_id": doc_id} for doc_id in doc_ids]
        await self._call_each(tool, tool.degraded, requests)

    async def _call_each(self, tool: McpTool, degraded: Sequence[DegradedMarker], requests: Sequence[Slots]) -> None:
        for slots in requests:
            reply, _ = await self._call(tool, slots)
            for marker in degraded:
                marker.check(reply)

    async def _wait(self, ready: McpReady) -> None:
        """Wait until documents can be found."""
        pause = _FIRST_PAUSE
        with suppress(TimeoutError):
            async with asyncio.timeout(ready.seconds):
                while not ready.reached((await self._call(ready, {}))[0]):
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)
                return
        raise TargetError(
            f"the documents cannot be found after {ready.seconds:g} seconds: {ready.path} of {ready.tool!r} is not {ready.equals!r}"
        )

    async def _call(self, tool: McpTool, slots: Slots) -> tuple[JsonValue, SamplingRecord]:
        """Call a tool. Return the value in its result, and the texts that it asked for."""
        arguments = fill(tool.arguments, slots)
        assert isinstance(arguments, dict)
        async with await self._alone():
            with self._recording() as record:
                result = await self._server.call(tool.tool, arguments)
                try:
                    return read_result(result), record
                except TargetError as error:
                    raise TargetError(f"the tool {tool.tool!r} failed: {self._server.cleaned(str(error))}") from None

    async def _alone(self) -> "asyncio.Lock | nullcontext[None]":
        """Return a lock if requests of the server do not say which of several calls they belong to."""
        return self._turn if self._sampler and (await self._server.connection()).one_at_a_time else nullcontext()

    def _recording(self) -> AbstractContextManager[SamplingRecord]:
        return self._sampler.recording() if self._sampler else nullcontext(SamplingRecord())

    def _not_sampled(self, record: SamplingRecord) -> str:
        if self._sampler and not record.requests:
            return ", and the server asked for no text (sampling): try mode: legacy"
        return ""
