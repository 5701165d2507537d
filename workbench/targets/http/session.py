"""An open connection to a service over HTTP."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TypeVar

from pydantic import JsonValue

from workbench.llm.replies.rejections import error_in_text, reported_error
from workbench.models.http import LARGEST_HITS, AsyncClient, HttpRoute, Response, asynchronous_client
from workbench.records import Answer, TargetHit
from workbench.targets.base import BrokenOffError, System
from workbench.targets.http.endpoints import MODEL_SLOT, AnswerEndpoint
from workbench.targets.http.requests import PreparedRequest, ReportedError, Requester, RequestLimits, Timed
from workbench.targets.http.streams import read_stream
from workbench.targets.operations import AnswerOperation, DocumentsOperation, Operation, OperationSession, ReadyOperation, SearchOperation
from workbench.targets.parsing import parse_json
from workbench.targets.paths import MissingError
from workbench.targets.templates import Slots

T = TypeVar("T")
_NO_CONTENT = 204


@asynccontextmanager
async def open_session(requests: Mapping[str, PreparedRequest], limits: RequestLimits, k: int, model: str) -> AsyncIterator[System]:
    """Open clients for the addresses of requests, and close them at the end."""
    requesters = dict[str, Requester]()
    async with AsyncExitStack() as stack:
        clients = dict[str, AsyncClient]()
        for role, request in requests.items():
            server = "/".join(request.address.split("/")[:3])
            if server not in clients:
                clients[server] = await stack.enter_async_context(asynchronous_client(HttpRoute(server, LARGEST_HITS)))
            requesters[role] = Requester(clients[server], request, limits)
        session = HttpSession({role: request.block for role, request in requests.items()}, k)
        session.requesters, session.more = requesters, {MODEL_SLOT: model or None}
        yield session


class HttpSession(OperationSession):
    """The requests of a target by role, and the slots that all of them have."""

    requesters: Mapping[str, Requester]
    more: Slots

    async def hits(self, operation: SearchOperation, values: Slots) -> Sequence[TargetHit]:
        """Search, again if the reply reports an error that may pass."""
        assert operation.reply
        return (await self._read(operation, values, operation.reply.read)).value

    async def answered(self, operation: AnswerOperation, values: Slots) -> Answer:
        """Answer, from the events of a stream if the reply is one."""
        assert operation.reply
        paths, stream = operation.reply, operation.stream if isinstance(operation, AnswerEndpoint) else None
        if stream is None:
            answer = await self._read(operation, values, paths.read)
        else:

            async def streamed(response: Response) -> Answer:
                return paths.read(await read_stream(response, stream))

            answer = await self._ask(operation, values, streamed)
        return replace(answer.value, seconds=answer.seconds)

    async def call(self, operation: DocumentsOperation | ReadyOperation, values: Slots) -> bool:
        """Call an operation of documents. Their replies are only parsed if they can have the sign of a failure."""
        if isinstance(operation, ReadyOperation):
            return (await self._read(operation, values, operation.read)).value

        async def parsed(response: Response) -> bool:
            content = await response.aread()
            return operation.read(parse_json(content) if operation.degraded else None)

        return (await self._ask(operation, values, parsed)).value

    async def _ask(self, operation: Operation, values: Slots, read: Callable[[Response], Awaitable[T]]) -> Timed[T]:
        return await self.requesters[operation.role].ask({**values, **self.more}, read)

    async def _read(self, operation: Operation, values: Slots, read: Callable[[JsonValue], T]) -> Timed[T]:
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

        return await self._ask(operation, values, parsed)


def _reported(reply: JsonValue, value: object) -> tuple[int, bytes] | None:
    """Return the error that a reply declares beside an answer, or beside no hits. Beside hits it leaves these."""
    if isinstance(value, Answer):
        return reported_error(reply, nothing=not value.text.strip()) or error_in_text(value.text)
    return reported_error(reply) if value == [] else None
