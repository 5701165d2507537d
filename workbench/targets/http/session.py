"""An open connection to a service over HTTP."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TypeVar

from pydantic import JsonValue

from workbench.answering.base import Answer
from workbench.core.batching import blocks
from workbench.llm.replies.rejections import error_in_text, reported_error
from workbench.models.http import LARGEST_HITS, AsyncClient, HttpRoute, Response, asynchronous_client
from workbench.records import Document, Passage, Query, TargetHit
from workbench.targets.base import BrokenOffError, TargetError, TargetSession
from workbench.targets.http.endpoints import AnswerEndpoint, DocumentsEndpoint, IngestEndpoint, ReadyEndpoint, SearchEndpoint
from workbench.targets.http.prepared import PreparedTarget
from workbench.targets.http.requests import ReportedError, Requester, Timed
from workbench.targets.http.streams import read_stream
from workbench.targets.parsing import parse_json
from workbench.targets.paths import MissingError
from workbench.targets.templates import Slots, document_slots, documents_slots, question_slots

T = TypeVar("T")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_NO_CONTENT = 204


@asynccontextmanager
async def open_session(target: PreparedTarget) -> AsyncIterator[TargetSession]:
    """Open clients for the addresses of a target, and close them at the end."""
    requesters = dict[str, Requester]()
    async with AsyncExitStack() as stack:
        clients = dict[str, AsyncClient]()
        for name, request in target.requests.items():
            server = "/".join(request.address.split("/")[:3])
            if server not in clients:
                clients[server] = await stack.enter_async_context(asynchronous_client(HttpRoute(server, LARGEST_HITS)))
            requesters[name] = Requester(clients[server], request, target.limits)
        yield HttpSession(target, requesters)


class HttpSession(TargetSession):
    """The requests of a target, by the names of its blocks."""

    def __init__(self, target: PreparedTarget, requesters: Mapping[str, Requester]) -> None:
        self._blocks = {name: request.block for name, request in target.requests.items()}
        self._requesters, self._k, self._more = requesters, target.k, {"model": target.model or None}

    async def search(self, query: Query, k: int) -> Sequence[TargetHit]:
        """Return at most k hits, best first."""
        block = self._blocks.get("search")
        if not isinstance(block, SearchEndpoint) or block.reply is None:
            return await super().search(query, k)
        hits = await self._read("search", self._slots(question_slots(query, k)), block.reply.read)
        return hits.value[:k]

    async def answer(self, query: Query, context: Sequence[Passage] | None = None) -> Answer:
        """Answer a question, from the given passages if the request has `{context}`."""
        block = self._blocks.get("answer")
        if not isinstance(block, AnswerEndpoint) or block.reply is None:
            return await super().answer(query, context)
        if context is not None and not block.takes_context:
            raise TargetError("the target takes no context: the request of an answer has no {context}")
        slots, paths, stream = self._slots(question_slots(query, self._k, context)), block.reply, block.stream
        if stream is None:
            answer = await self._read("answer", slots, paths.read)
        else:

            async def streamed(response: Response) -> Answer:
                return paths.read(await read_stream(response, stream))

            answer = await self._requesters["answer"].ask(slots, streamed)
        return replace(answer.value, seconds=answer.seconds)

    async def ingest(self, documents: Sequence[Document]) -> None:
        """Add documents, or replace those with the same ids, and wait until the service says that they can be found."""
        block = self._blocks.get("ingest")
        if not isinstance(block, IngestEndpoint):
            return await super().ingest(documents)
        if block.many:
            parts = [documents_slots(documents[part], block.document) for part in blocks(len(documents), block.batch)]
        else:
            parts = [document_slots(document) for document in documents]
        await self._send("ingest", block, parts)
        if block.ready:
            await self._wait(block.ready)
        return None

    async def remove(self, doc_ids: Sequence[str]) -> None:
        """Delete documents by their ids."""
        block = self._blocks.get("remove")
        if not isinstance(block, DocumentsEndpoint):
            return await super().remove(doc_ids)
        if block.many:
            parts: list[Slots] = [{"doc_ids": list(doc_ids[part])} for part in blocks(len(doc_ids), block.batch)]
        else:
            parts = [{"doc_id": doc_id} for doc_id in doc_ids]
        return await self._send("remove", block, parts)

    async def _send(self, name: str, block: DocumentsEndpoint, parts: Sequence[Slots]) -> None:
        """Make one request after the other, since a service may not take several at once."""

        async def read(response: Response) -> None:
            content = await response.aread()
            reply = parse_json(content) if block.degraded else None
            for marker in block.degraded:
                marker.check(reply)

        for slots in parts:
            await self._requesters[name].ask(self._slots(slots), read)

    async def _wait(self, block: ReadyEndpoint) -> None:
        pause, end = _FIRST_PAUSE, time.monotonic() + block.seconds
        while not (await self._read("ingest.ready", self._slots({}), block.ready)).value:
            if time.monotonic() + pause > end:
                raise TargetError(
                    f"the documents cannot be found after {block.seconds:g} seconds: {block.path} is not {json.dumps(block.equals)}"
                )
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE, 2 * pause)

    async def _read(self, name: str, slots: Slots, read: Callable[[JsonValue], T]) -> Timed[T]:
        async def parsed(response: Response) -> T:
            content = await response.aread()
            reply = None if response.status_code == _NO_CONTENT else parse_json(content)
            try:
                value = read(reply)
            except (MissingError, BrokenOffError):
                if error := reported_error(reply):
                    raise ReportedError(*error) from None
                raise
            if error := _reported(reply, value):
                raise ReportedError(*error)
            return value

        return await self._requesters[name].ask(slots, parsed)

    def _slots(self, slots: Slots) -> Slots:
        return {**slots, **self._more}


def _reported(reply: JsonValue, value: object) -> tuple[int, bytes] | None:
    """Return the error that a reply declares beside an answer, or beside no hits. Beside hits it leaves these."""
    if isinstance(value, Answer):
        return reported_error(reply, nothing=not value.text.strip()) or error_in_text(value.text)
    return reported_error(reply) if value == [] else None
