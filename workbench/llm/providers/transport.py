"""The HTTP client of chat models, and what its exceptions mean for a call."""

import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from urllib.request import getproxies

import httpx2

from workbench.llm.base import CallFailure
from workbench.models.replies import LARGEST_ANSWER, CompressedReplyError, ReplyTooLargeError, answer_limit

_KEEP_ALIVE = 60


class LaneTransport(httpx2.AsyncBaseTransport):
    """Connections that are taken and returned in turn, one for each request in flight.

    The usual pool searches all of its connections and requests at each request and reply, which takes more time than the rest of a call.
    """

    def __init__(self, verify: ssl.SSLContext | bool) -> None:
        self._verify = verify
        self._lanes: list[httpx2.AsyncHTTPTransport] = []
        self._free: list[httpx2.AsyncHTTPTransport] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request on a free connection or a new one, which is free again once the response was read or closed."""
        lane = self._free.pop() if self._free else self._new_lane()
        try:
            response = await lane.handle_async_request(request)
        except BaseException:
            self._free.append(lane)
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _LaneStream(response.stream, lambda: self._free.append(lane))
        return response

    def _new_lane(self) -> httpx2.AsyncHTTPTransport:
        limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEEP_ALIVE)
        self._lanes.append(httpx2.AsyncHTTPTransport(verify=self._verify, limits=limits, trust_env=False))
        return self._lanes[-1]

    async def aclose(self) -> None:
        """Close all connections."""
        for lane in self._lanes:
            await lane.aclose()


class _LaneStream(httpx2.AsyncByteStream):
    """The body of a response that frees its connection when it is closed."""

    def __init__(self, stream: httpx2.AsyncByteStream, free: Callable[[], None]) -> None:
        self._stream, self._free = stream, free
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield part

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                await self._stream.aclose()
            finally:
                self._free()


def asynchronous_client(local: bool, encrypted: bool, largest: int = LARGEST_ANSWER) -> httpx2.AsyncClient:
    """Return a client without time limits, since a try has one as a whole, and without redirects, which could lead anywhere.

    Requests to a server on this machine bypass proxies. The number of connections is limited by the number of calls at once.
    A reply has at most `largest` bytes.
    """
    # Reading the certificates takes longer than many calls, and connections share a context also if they are not encrypted.
    verify = httpx2.create_ssl_context(verify=encrypted)
    proxied = not local and bool(getproxies())
    return httpx2.AsyncClient(
        trust_env=proxied,
        verify=True if proxied else verify,
        transport=None if proxied else LaneTransport(verify),
        follow_redirects=False,
        timeout=None,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=_KEEP_ALIVE),
        event_hooks={"response": [answer_limit(largest)]},
    )


def unconnected_client() -> httpx2.Client:
    """Return a client that sends nothing, for objects that need one but make no request. It reads no certificates."""
    return httpx2.Client(transport=httpx2.BaseTransport(), trust_env=False)


async def post(client: httpx2.AsyncClient, address: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> httpx2.Response:
    """Send a body as JSON and read the response, whatever its status.

    The methods of OpenAI's and Anthropic's clients build and validate requests anew, which takes as long as sending them.
    """
    # In ASCII, since a prompt may contain half of a surrogate pair.
    content = json.dumps(body, separators=(",", ":")).encode()
    return await client.send(httpx2.Request("POST", address, headers={**headers, "accept-encoding": "identity"}, content=content))


def failed_request(error: Exception) -> tuple[CallFailure, bool, bool]:
    """Return the failure of a request without a response, whether to try again, and whether it may have been sent. Raises any other error."""
    if isinstance(error, ReplyTooLargeError | CompressedReplyError):
        return CallFailure(f"the server sent {error}", "reply"), False, True
    if isinstance(error, httpx2.HTTPError | OSError):
        return (
            CallFailure(f"no answer ({type(error).__name__})"),
            True,
            not isinstance(error, httpx2.ConnectError | httpx2.UnsupportedProtocol),
        )
    raise error
