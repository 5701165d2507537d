"""An open connection to a service over HTTP: requests with retries, and answers that arrive as server-sent events."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlencode

from pydantic import JsonValue

from workbench.core.records import Answer
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import plural
from workbench.core.text.printable import printable
from workbench.llm.models.http import (
    LARGEST_HITS,
    AsyncClient,
    CompressedReplyError,
    ConnectError,
    EventSource,
    HTTPError,
    HttpRoute,
    InvalidURL,
    ProxyError,
    ReplyTooLargeError,
    Request,
    Response,
    asynchronous_client,
    redirection,
)
from workbench.llm.replies.answers import has_reasoning
from workbench.llm.replies.rejections import error_in_text, error_text, reported_error
from workbench.llm.retries import LONGEST_WAIT, back_off, requested_wait, worth_retrying
from workbench.systems.base import BrokenOffError, System, TargetDownError, TargetError
from workbench.systems.contents import is_content, text_of_parts
from workbench.systems.http.endpoints import MODEL_SLOT, AnswerEndpoint, Endpoint, RequestHeaders, StreamPaths
from workbench.systems.operations import DocumentsOperation, Slots, TemplateSession, fill, fill_url
from workbench.systems.replies import MissingError, Paths, find_one, holder, not_json, parse_json, shape

T = TypeVar("T")
_DETAIL = 200
# The caller has the same time limit, and does not know what happened before.
_SHARE_OF_TIME = 0.99


@dataclass(frozen=True)
class _FailedTry:
    """A failed try that may be repeated, after the server's `wait` if it named one."""

    reason: str
    status: int | None = None
    wait: float | None = None


class ReportedError(TargetError):
    """A reply with a status of success that reports an error in place of its content."""

    def __init__(self, status: int, content: bytes, what: str = "the reply is") -> None:
        super().__init__(f"{what} an error: {_detail(content)[:_DETAIL]}")
        self.status = status


@dataclass(frozen=True)
class Requester:
    """Makes the requests of an endpoint, each in these seconds with its retries. `read` reads a reply with the status 2xx."""

    block: Endpoint
    address: str
    headers: RequestHeaders
    seconds: float
    retries: int

    @property
    def server(self) -> str:
        """Return the scheme, the name and the port of the server."""
        return "/".join(self.address.split("/")[:3])

    async def ask(self, client: AsyncClient, slots: Slots, read: Callable[[Response], Awaitable[T]]) -> tuple[T, float]:
        """Return the values read from the reply, and the seconds of the try that succeeded. Raises TargetError with one line, without secrets."""
        try:
            return await self._with_retries(client, slots, read)
        except TargetError as error:
            reason = " ".join(printable(str(error), self.headers.secrets).split())
            raise type(error)(f"{self.block.verb} {self.address}: {reason}") from None

    async def _with_retries(self, client: AsyncClient, slots: Slots, read: Callable[[Response], Awaitable[T]]) -> tuple[T, float]:
        tries, last, clock = 0, "", asyncio.get_running_loop().time
        end = clock() + _SHARE_OF_TIME * self.seconds
        try:
            async with asyncio.timeout_at(end):
                while True:
                    outcome = await self._try(client, slots, read)
                    if isinstance(outcome, tuple):
                        return outcome
                    tries, last = tries + 1, outcome.reason
                    wait = back_off(tries, outcome.status, outcome.wait)
                    if tries > self.retries or (outcome.wait or 0) > LONGEST_WAIT or clock() + wait > end:
                        asked = f"; it asks to wait {outcome.wait:g} seconds" if outcome.wait else ""
                        raise TargetError(f"{last} ({plural(tries, 'try', 'tries')}{asked})")
                    await asyncio.sleep(wait)
        except TimeoutError:
            before = f"; before that, {last}" if last else ""
            raise TargetError(f"no complete reply within {self.seconds:g} seconds{before}") from None

    async def _try(self, client: AsyncClient, slots: Slots, read: Callable[[Response], Awaitable[T]]) -> tuple[T, float] | _FailedTry:
        started = time.perf_counter()
        try:
            response = await client.send(self._request(slots), stream=True)
            try:
                if response.is_success:
                    return await read(response), time.perf_counter() - started
                await response.aread()
            finally:
                await response.aclose()
        except ReportedError as error:
            if not worth_retrying(error.status):
                raise TargetError(str(error)) from None
            return _FailedTry(str(error), error.status, requested_wait(response.headers))
        except BrokenOffError as error:
            return _FailedTry(str(error))
        except (ReplyTooLargeError, CompressedReplyError) as error:
            raise TargetError(f"the service sent {error}") from None
        except InvalidURL:
            raise TargetError("the address with its slots filled is not valid") from None
        except (ConnectError, ProxyError) as error:
            return _FailedTry(
                f"no connection ({error}); is the service running?" if str(error) else "no connection; is the service running?"
            )
        except (HTTPError, OSError) as error:
            return _FailedTry(f"the connection broke before the reply was complete ({type(error).__name__})")
        return self._rejected(response)

    def _request(self, slots: Slots) -> Request:
        block, body = self.block, fill(self.block.body, slots)
        headers = {"accept": "application/json, text/event-stream", "user-agent": "rag-workbench", **self.headers.values}
        headers["accept-encoding"] = "identity"
        if body is not None:
            headers["content-type"] = "application/json"
        # In ASCII, since a question may contain half of a surrogate pair.
        content = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        return Request(block.verb, _with_query(fill_url(self.address, slots), fill(block.params, slots)), headers=headers, content=content)

    def _rejected(self, response: Response) -> _FailedTry:
        """Return the failed try of a status that may be repeated. Raises TargetError for others."""
        status = response.status_code
        if redirected := redirection(response):
            raise TargetError(f"{redirected}, which is not followed; write the final address as url")
        detail = _detail(response.content)[:_DETAIL]
        reason = f"status {status}: {detail}" if detail else f"status {status}"
        if status == 401:
            raise TargetDownError(f"{reason}; check headers_env")
        if not worth_retrying(status):
            raise TargetError(reason)
        return _FailedTry(reason, status, requested_wait(response.headers))


def _with_query(address: str, params: JsonValue) -> str:
    if not isinstance(params, dict) or not params:
        return address
    pairs = [(name, item) for name, value in params.items() for item in (value if isinstance(value, list) else [value])]
    query = urlencode([(name, item if isinstance(item, str) else json.dumps(item)) for name, item in pairs])
    return f"{address}{'&' if '?' in address else '?'}{query}"


def _detail(content: bytes) -> str:
    text = content[:20_000].decode("utf-8", "replace")
    return not_json(text).removesuffix(", not JSON") if text.lstrip().startswith("<") else error_text(content)


_EVENTS, _REPORTS = "text/event-stream", "the stream reports"
# What a reply without a text can have instead, in the fields beside the parts of a text.
_INSTEAD = ("tool_calls", "function_call", "refusal")


async def read_stream(response: Response, paths: StreamPaths) -> JsonValue:
    """Return `{text: the joined parts, events: the JSON of each event}`. Raises TargetError for another reply, an incomplete stream, or an error in it.

    Bytes that are not UTF-8 become U+FFFD, as the format of server-sent events requires.
    """
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != _EVENTS:
        text = (await response.aread()).decode("utf-8", "replace")
        what = (
            not_json(text)
            if text.lstrip().startswith("<")
            else f"{content_type or 'without a type'} that begins with {excerpt(text, 40)!r}"
        )
        raise TargetError(f"the reply is no stream of events ({_EVENTS}) but {what}")
    parts, replies, instead = list[str](), list[JsonValue](), dict[str, JsonValue]()
    # The size of the whole reply is limited.
    async with aclosing(aiter(EventSource(response, max_event_size=None))) as events:  # type: ignore[type-var]
        async for event in events:
            if paths.end and paths.end in (event.data, event.event):
                break
            if event.event == "error":
                raise ReportedError(*_error(event.data), _REPORTS)
            if paths.delta and event.data:
                replies.append(value := parse_json(event.data))
                instead |= _read_event(value, paths.delta, parts, f"event {len(replies)}")
            elif event.data:
                parts.append(event.data)
        else:
            if paths.end:
                raise TargetError(f"the stream ended before {paths.end}")
    text = "".join(parts)
    if not parts and not instead:
        first = f"of the first, {shape(replies[0])}" if replies else "there is none"
        raise MissingError(f"no event of the stream has a part of the answer; {first}")
    return {**({} if text.strip() else instead), "text": text, "events": replies}


def _read_event(value: JsonValue, paths: Paths, parts: list[str], name: str) -> dict[str, JsonValue]:
    """Add the part of the text in an event, and return what it has in its place."""
    if error := reported_error(value, nothing=False):
        raise ReportedError(*error, _REPORTS)
    if part := find_one(paths, value, _text, name):
        parts.append(part[0] or "")
    instead = dict[str, JsonValue]()
    for fields in (holder(path, value) for path in paths):
        instead |= {name: fields[name] for name in _INSTEAD if fields.get(name)}
        instead |= {"reasoning": True} if has_reasoning(fields) else {}
    return instead


def _error(data: str) -> tuple[int, bytes]:
    """Return the error in an event of that name, with its status."""
    try:
        found = reported_error(parse_json(data))
    except TargetError:
        found = reported_error({"error": data})
    return found or (400, data.encode("utf-8", "replace"))


def _text(value: JsonValue) -> str:
    """Return a part of a text. A part in a list, such as of reasoning, is read as that of a message."""
    if isinstance(value, list) and is_content(value):
        return text_of_parts(value)
    if not isinstance(value, str):
        raise TypeError("a text")
    return value


_NO_CONTENT = 204


@asynccontextmanager
async def open_session(requesters: Mapping[str, Requester], k: int, model: str) -> AsyncIterator[System]:
    """Open clients for the addresses of requests, and close them at the end."""
    async with AsyncExitStack() as stack:
        servers = {requester.server for requester in requesters.values()}
        clients = {server: await stack.enter_async_context(asynchronous_client(HttpRoute(server, LARGEST_HITS))) for server in servers}
        yield HttpSession(requesters, clients, {MODEL_SLOT: model or None}, k)


class HttpSession(TemplateSession):
    """The requests of a target by role, the clients by server, and the slots that all requests have."""

    def __init__(self, requesters: Mapping[str, Requester], clients: Mapping[str, AsyncClient], slots: Slots, k: int) -> None:
        super().__init__({role: requester.block for role, requester in requesters.items()}, k)
        self._requesters, self._clients, self._slots = requesters, clients, slots

    async def call(self, role: str, values: Slots) -> Any:
        """Make a request, again if its reply reports an error that may pass."""
        operation = self.operations[role]
        stream = operation.stream if isinstance(operation, AnswerEndpoint) else None

        async def read(response: Response) -> Any:
            if stream:
                return operation.read(await read_stream(response, stream))
            content = await response.aread()
            # Other replies about documents need not be JSON.
            if isinstance(operation, DocumentsOperation):
                return operation.read(parse_json(content) if operation.degraded else None)
            reply = None if response.status_code == _NO_CONTENT else parse_json(content)
            try:
                value = operation.read(reply)
            except (MissingError, BrokenOffError):
                if error := reported_error(reply):
                    raise ReportedError(*error) from None
                raise
            # An error that a reply declares beside an answer, or beside no hits. Beside hits it leaves these.
            error = reported_error(reply) if value == [] else None
            if isinstance(value, Answer):
                error = reported_error(reply, nothing=not value.text.strip()) or error_in_text(value.text)
            if error:
                raise ReportedError(*error)
            return value

        requester = self._requesters[role]
        client = self._clients[requester.server]
        value, seconds = await requester.ask(client, {**values, **self._slots}, read)
        return replace(value, seconds=seconds) if isinstance(value, Answer) else value
