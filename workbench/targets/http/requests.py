"""Make requests to a service, with retries, and describe what went wrong in one line."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import urlencode

from pydantic import JsonValue

from workbench.core.formatting import plural
from workbench.llm.replies.rejections import error_text
from workbench.llm.retries import LONGEST_WAIT, back_off, requested_wait, worth_retrying
from workbench.models.http import (
    AsyncClient,
    CompressedReplyError,
    ConnectError,
    HTTPError,
    InvalidURL,
    ProxyError,
    ReplyTooLargeError,
    Request,
    Response,
    redirection,
)
from workbench.printable import printable
from workbench.targets.base import BrokenOffError, TargetDownError, TargetError
from workbench.targets.http.endpoints import Endpoint
from workbench.targets.http.headers import RequestHeaders
from workbench.targets.parsing import not_json
from workbench.targets.templates import Slots, fill, fill_url

T = TypeVar("T")
_DETAIL = 200
# The caller has the same time limit, and does not know what happened before.
_SHARE_OF_TIME = 0.99


@dataclass(frozen=True)
class RequestLimits:
    """The seconds that a request may take with its retries, and the number of retries."""

    seconds: float
    retries: int


@dataclass(frozen=True)
class PreparedRequest:
    """A request that is ready to be made once its slots are filled."""

    block: Endpoint
    address: str
    headers: RequestHeaders


@dataclass(frozen=True)
class Timed(Generic[T]):
    """A value that was read from a reply, and the seconds of the try that succeeded."""

    value: T
    seconds: float


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


class Requester:
    """Makes the requests of one endpoint."""

    def __init__(self, client: AsyncClient, request: PreparedRequest, limits: RequestLimits) -> None:
        self._client, self._block, self._address, self._headers = client, request.block, request.address, request.headers
        self._limits = limits

    async def ask(self, slots: Slots, read: Callable[[Response], Awaitable[T]]) -> Timed[T]:
        """Make a request and read its reply, which has the status 2xx. Raises TargetError with one line, without secrets."""
        try:
            return await self._with_retries(slots, read)
        except TargetError as error:
            reason = " ".join(printable(str(error), self._headers.secrets).split())
            raise type(error)(f"{self._block.verb} {self._address}: {reason}") from None

    async def _with_retries(self, slots: Slots, read: Callable[[Response], Awaitable[T]]) -> Timed[T]:
        tries, last, clock = 0, "", asyncio.get_running_loop().time
        end = clock() + _SHARE_OF_TIME * self._limits.seconds
        try:
            async with asyncio.timeout_at(end):
                while True:
                    outcome = await self._try(slots, read)
                    if isinstance(outcome, Timed):
                        return outcome
                    tries, last = tries + 1, outcome.reason
                    wait = back_off(tries, outcome.status, outcome.wait)
                    if tries > self._limits.retries or (outcome.wait or 0) > LONGEST_WAIT or clock() + wait > end:
                        asked = f"; it asks to wait {outcome.wait:g} seconds" if outcome.wait else ""
                        raise TargetError(f"{last} ({plural(tries, 'try', 'tries')}{asked})")
                    await asyncio.sleep(wait)
        except TimeoutError:
            before = f"; before that, {last}" if last else ""
            raise TargetError(f"no complete reply within {self._limits.seconds:g} seconds{before}") from None

    async def _try(self, slots: Slots, read: Callable[[Response], Awaitable[T]]) -> "Timed[T] | _FailedTry":
        started = time.perf_counter()
        try:
            response = await self._client.send(self._request(slots), stream=True)
            try:
                if response.is_success:
                    return Timed(await read(response), time.perf_counter() - started)
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
        block, body = self._block, fill(self._block.body, slots)
        headers = {"accept": "application/json, text/event-stream", "user-agent": "rag-workbench", **self._headers.values}
        headers["accept-encoding"] = "identity"
        if body is not None:
            headers["content-type"] = "application/json"
        # In ASCII, since a question may contain half of a surrogate pair.
        content = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        return Request(block.verb, _with_query(fill_url(self._address, slots), fill(block.params, slots)), headers=headers, content=content)

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
