"""The only way out of this machine by HTTP: requests to one server, redirects that nobody follows, limits on replies.

Every client of Workbench sends through the two transports here, those of other packages too. No other module imports a library for HTTP.
"""

import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from httpx2 import (
    URL,
    AsyncBaseTransport,
    AsyncByteStream,
    AsyncClient,
    AsyncHTTPTransport,
    BaseTransport,
    Client,
    ConnectError,
    EventSource,
    HTTPError,
    HTTPTransport,
    InvalidURL,
    Limits,
    ProxyError,
    ReadTimeout,
    RemoteProtocolError,
    Request,
    Response,
    ServerSentEvent,
    SyncByteStream,
    Timeout,
    UnsupportedProtocol,
    create_ssl_context,
)

from workbench.core.environment import is_local
from workbench.core.errors import InputError
from workbench.core.text.printable import printable

__all__ = [
    "AsyncClient",
    "Client",
    "ConnectError",
    "EventSource",
    "HTTPError",
    "InvalidURL",
    "ProxyError",
    "RemoteProtocolError",
    "Request",
    "Response",
    "ServerSentEvent",
    "Timeout",
    "UnsupportedProtocol",
]

# Vectors of 2,048 texts have about half of this.
LARGEST_REPLY = 128 * 2**20
# A reply of 10 MB is no answer: the longest that models write have less than 1 MB.
LARGEST_ANSWER = 8 * 2**20
# A reply of more is no list of hits.
LARGEST_HITS = 16 * 2**20
_KEEP_ALIVE = 60
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5
_SHOWN = 200


class ReplyTooLargeError(OSError):
    """A reply is larger than its limit in bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit

    def __str__(self) -> str:
        return f"more than {self.limit // 2**20} MB in one reply"


class CompressedReplyError(OSError):
    """A reply is compressed although the request refused that."""

    def __str__(self) -> str:
        return "a compressed reply"


class DownloadError(OSError):
    """A file could not be read from an address. `status` is that of an error of the server."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class HttpRoute:
    """The way to one server: the origin of `address` and no other, which a proxy of the environment may lead to unless it is this machine.

    A reply has at most `largest` bytes, and its body takes at most `seconds` if they are given.
    """

    address: str
    largest: int
    seconds: float | None = None
    proxies: bool = True

    @cached_property
    def _origin(self) -> tuple[str, str, int | None]:
        parts = urlsplit(self.address)
        return _origin_of(URL(f"{parts.scheme}://{parts.netloc}"))

    def check(self, request: Request) -> None:
        """Raise UnsupportedProtocol for a request to another server, such as one that a reply named."""
        if _origin_of(request.url) != self._origin:
            raise UnsupportedProtocol("a request to another server", request=request)

    def settings(self) -> dict[str, Any]:
        """Return the settings of a transport. Reading the certificates takes longer than many calls, so connections share a context."""
        context = create_ssl_context(verify=self.address.startswith("https:"))
        return {"verify": context, "proxy": self._proxy() if self.proxies else None, "trust_env": False}

    def _proxy(self) -> str | None:
        parts, proxies = urlsplit(self.address), getproxies()
        if is_local(self.address) or proxy_bypass(parts.netloc):
            return None
        proxy = proxies.get(parts.scheme) or proxies.get("all")
        return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _origin_of(url: URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _transport(make: Callable[..., Any], **settings: Any) -> Any:
    """Return a transport. Raises InputError for a proxy that cannot be used."""
    try:
        return make(**settings)
    except (ImportError, ValueError, InvalidURL) as error:
        reason = " ".join(str(error).split())[:_SHOWN]
        raise InputError(f"the proxy of the environment cannot be used ({printable(reason)})", "correct HTTPS_PROXY or NO_PROXY") from None


class LaneTransport(AsyncBaseTransport):
    """Connections that are taken and returned in turn, one for each request in flight.

    The usual pool searches all of its connections and requests at each request and reply, which takes more time than the rest of a call.
    """

    def __init__(self, route: HttpRoute) -> None:
        self._route, self._settings = route, route.settings()
        self._lanes: list[AsyncHTTPTransport] = []
        self._free = [self._new_lane()]

    async def handle_async_request(self, request: Request) -> Response:
        """Send a request on a free connection or a new one, which is free again once the response was read or closed."""
        self._route.check(request)
        lane = self._free.pop() if self._free else self._new_lane()
        try:
            response = await lane.handle_async_request(request)
        except BaseException:
            self._free.append(lane)
            raise
        assert isinstance(response.stream, AsyncByteStream)
        response.stream = _LaneBody(response.stream, _Body(response, self._route), lane, self._free)
        return response

    def _new_lane(self) -> AsyncHTTPTransport:
        limits = Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEEP_ALIVE)
        self._lanes.append(_transport(AsyncHTTPTransport, limits=limits, **self._settings))
        return self._lanes[-1]

    async def aclose(self) -> None:
        for lane in self._lanes:
            await lane.aclose()


class PoolTransport(HTTPTransport):
    """Connections that threads share."""

    def __init__(self, route: HttpRoute) -> None:
        self._route = route
        super().__init__(limits=Limits(max_keepalive_connections=None, keepalive_expiry=_KEEP_ALIVE), **route.settings())

    def handle_request(self, request: Request) -> Response:
        self._route.check(request)
        response = super().handle_request(request)
        assert isinstance(response.stream, SyncByteStream)
        response.stream = _PoolBody(response.stream, _Body(response, self._route))
        return response


class _Body:
    """The checks of a response: its size, time and encoding, and whether bytes follow it.

    The address of a redirect is moved to `extensions`, so that no client follows it, or fails to read it.
    """

    def __init__(self, response: Response, route: HttpRoute) -> None:
        if response.is_redirect:
            response.extensions["location"] = response.headers.pop("location", "")
        self._compressed = response.headers.get("content-encoding", "identity") != "identity"
        self._largest, self._received = route.largest, 0
        self._end = None if route.seconds is None else time.monotonic() + route.seconds
        self.network = response.extensions["network_stream"]
        # None of the packages offers what was read beyond a response, so this takes it from where it is now.
        pooled = getattr(response.stream, "_httpcore_stream", None)
        self._connection = getattr(getattr(pooled, "_stream", None), "_connection", None)

    def checked(self, part: bytes) -> bytes:
        """Return a part of the body. Raises OSError or ReadTimeout beyond a limit."""
        # A compressed reply of a few bytes could unpack to gigabytes.
        if self._compressed:
            raise CompressedReplyError
        self._received += len(part)
        if self._received > self._largest:
            raise ReplyTooLargeError(self._largest)
        if self._end is not None and time.monotonic() > self._end:
            raise ReadTimeout("the reply takes too long")
        return part

    def is_followed(self) -> bool:
        """Return True if more was read than the response, which the next request would take for its own. True if this cannot be known."""
        protocol = getattr(self._connection, "_h11_state", None)
        if protocol is None or protocol.trailing_data[0]:
            return True
        encrypted = self.network.get_extra_info("ssl_object")
        if not isinstance(encrypted, ssl.SSLObject):
            # The pool asks a socket itself whether it has more.
            return False
        try:
            encrypted.read(1)
        except ssl.SSLWantReadError:
            return False
        except OSError:
            return True
        return True


class _LaneBody(AsyncByteStream):
    """The body of a response that frees its connection when it is closed."""

    def __init__(self, stream: AsyncByteStream, body: _Body, lane: AsyncHTTPTransport, free: list[AsyncHTTPTransport]) -> None:
        self._stream, self._body, self._lane, self._free = stream, body, lane, free
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield self._body.checked(part)

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                followed = self._body.is_followed()
                await self._stream.aclose()
                if followed:
                    await self._lane.aclose()
            finally:
                self._free.append(self._lane)


class _PoolBody(SyncByteStream):
    def __init__(self, stream: SyncByteStream, body: _Body) -> None:
        self._stream, self._body = stream, body

    def __iter__(self) -> Iterator[bytes]:
        return map(self._body.checked, self._stream)

    def close(self) -> None:
        if self._body.is_followed():
            # The pool drops a connection whose socket is closed, and another thread may take it at once.
            self._body.network.close()
        self._stream.close()


def asynchronous_client(route: HttpRoute, **settings: Any) -> AsyncClient:
    """Return a client for one event loop, by default without time limits, since a try has one as a whole."""
    headers = {**settings.pop("headers", {}), "accept-encoding": "identity"}
    return AsyncClient(
        transport=LaneTransport(route), **{"timeout": None, **settings}, headers=headers, follow_redirects=False, trust_env=False
    )


def blocking_client(route: HttpRoute, timeout: float) -> Client:
    """Return a client for threads. `timeout` is the seconds to wait for each part of a reply."""
    transport, headers = _transport(PoolTransport, route=route), {"accept-encoding": "identity"}
    return Client(transport=transport, timeout=timeout, headers=headers, follow_redirects=False, trust_env=False)


def unconnected_client() -> Client:
    """Return a client that sends nothing, for objects that need one but make no request. It reads no certificates."""
    return Client(transport=BaseTransport(), trust_env=False)


def redirection(response: Response) -> str | None:
    """Describe a response that redirects, or return None for another."""
    if response.status_code not in _REDIRECTS:
        return None
    location = response.extensions.get("location", "")[:_SHOWN]
    return f"status {response.status_code} redirects {f'to {location}' if location else 'without an address (no Location)'}"


@contextmanager
def open_address(
    address: str, largest: int, timeout: float, hosts: Sequence[str] = (), headers: Mapping[str, str] | None = None
) -> Iterator[Response]:
    """Request a file. Redirects are followed within its server and to `hosts` with their subdomains, there encrypted. Raises DownloadError."""
    try:
        for _ in range(_MOST_REDIRECTS + 1):
            with (
                blocking_client(HttpRoute(address, largest), timeout) as client,
                client.stream("GET", address, headers=headers) as response,
            ):
                if not (away := redirection(response)):
                    if not response.is_success:
                        raise DownloadError(f"{response.status_code} {response.reason_phrase}", response.status_code)
                    yield response
                    return
                address = _followed(address, response.extensions["location"], hosts, away)
        raise DownloadError(f"more than {_MOST_REDIRECTS} redirects")
    except DownloadError:
        raise
    except (HTTPError, InvalidURL, ValueError) as error:
        raise DownloadError(_reason(error)) from error


def _followed(address: str, location: str, hosts: Sequence[str], away: str) -> str:
    target = urljoin(address, location)
    before, after = urlsplit(address), urlsplit(target)
    same = (after.scheme, after.hostname, after.port) in ((before.scheme, before.hostname, before.port), ("https", before.hostname, None))
    named = after.scheme == "https" and any(f".{after.hostname}".endswith(f".{host}") for host in hosts)
    if not location or not (same or named):
        raise DownloadError(f"{printable(away)}{', which is not followed' if location else ''}")
    return target


def _reason(error: BaseException | None) -> str:
    """Return the message of the system, else of the first error."""
    found = error
    while found and not getattr(found, "strerror", None):
        found = found.__cause__ or found.__context__
    return str(getattr(found, "strerror", None) or error or type(error).__name__)
