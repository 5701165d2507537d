"""The one way out by HTTP: odd redirects, bytes after a reply, limits, and only the server that was named."""

import asyncio
import re
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.loopback import closed_port
from workbench.llm.models.http import (
    DownloadError,
    HttpRoute,
    ReplyTooLargeError,
    Request,
    UnsupportedProtocol,
    asynchronous_client,
    blocking_client,
    open_address,
    redirection,
)

MB, SETTLED = 2**20, 0.1


def reply(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Script:
    """Sends the next packets for each request, on connections that stay open. `connections` counts these, `asked` has the requests' first lines."""

    def __init__(self, replies: list[list[bytes]], context: ssl.SSLContext | None = None) -> None:
        self._replies, self._context = replies, context
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.connections, self.asked = 0, list[str]()
        self.host = f"{'https' if context else 'http'}://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            for _ in range(100):
                connection, _ = self._listening.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(20)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(OSError), self._context.wrap_socket(connection, server_side=True) if self._context else connection as client:
            requests = client.makefile("rb")
            while self._replies and (line := requests.readline()):
                self.asked.append(line.decode().strip())
                while requests.readline().strip():
                    pass
                for packet in self._replies.pop(0):
                    client.sendall(packet)
            client.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._listening.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Script]]:
    running: list[Script] = []

    def start(*replies: list[bytes], context: ssl.SSLContext | None = None) -> Script:
        running.append(Script(list(replies), context))
        return running[-1]

    yield start
    for script in running:
        script.close()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a certificate of this machine and its key."""
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path, "-days", "2"]
    made = subprocess.run(["openssl", "req", "-x509", *key, *names], capture_output=True, check=True)
    path.write_bytes(path.read_bytes() + made.stdout)
    return path


def get_all(address: str, count: int, concurrently: bool) -> list[bytes]:
    """Make requests one after the other on one client, for threads or for an event loop, which must not follow a redirect even if asked to.

    Between them there is time for all that the server sends.
    """
    route, bodies = HttpRoute(address, MB), list[bytes]()
    if not concurrently:
        with blocking_client(route, 10) as client:
            for number in range(count):
                bodies.append(client.get(f"{address}/{number}", follow_redirects=True).content)
                time.sleep(SETTLED)
        return bodies

    async def run() -> None:
        async with asynchronous_client(route, timeout=10) as client:
            for number in range(count):
                bodies.append((await client.send(Request("GET", f"{address}/{number}"), follow_redirects=True)).content)
                await asyncio.sleep(SETTLED)

    asyncio.run(run())
    return bodies


# What a server can send in one go for the first request, all of it before the second.
FOLLOWED = {
    "a second reply": [reply(b"first") + reply(b"second")],
    "a second reply in another packet": [reply(b"first"), reply(b"second")],
    "a second reply of chunks": [reply(b"first") + b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\nsecond\r\n0\r\n\r\n"],
    "more than it announced": [b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfirstHTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecond"],
    "a byte": [reply(b"first") + b"\n"],
    "a reply of many packets": [reply(b"first"), *(reply(b"second") for _ in range(20))],
}


@pytest.mark.parametrize("concurrently", [False, True], ids=["threads", "loop"])
@pytest.mark.parametrize("encrypted", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("packets", FOLLOWED.values(), ids=FOLLOWED)
def test_bytes_after_a_reply_are_no_answer_to_the_next_request(serve, certificate, monkeypatch, packets, encrypted, concurrently) -> None:
    context = None
    if encrypted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)
    server = serve(packets, [reply(b"mine")], [reply(b"mine too")], context=context)
    assert get_all(server.host, 3, concurrently) == [b"first", b"mine", b"mine too"]
    # The connection of the second request is used again.
    assert server.connections == 2


@pytest.mark.parametrize("concurrently", [False, True], ids=["threads", "loop"])
@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_a_body_where_none_is_allowed_is_no_answer_to_the_next_request(serve, status, concurrently) -> None:
    server = serve([reply(b"second", status)], [reply(b"mine")])
    assert get_all(server.host, 2, concurrently) == [b"", b"mine"]


@pytest.mark.parametrize("concurrently", [False, True], ids=["threads", "loop"])
def test_a_connection_is_used_again_if_nothing_follows_a_reply(serve, concurrently) -> None:
    server = serve(*([reply(b"x" * 300_000)] for _ in range(3)))
    assert [len(body) for body in get_all(server.host, 3, concurrently)] == [300_000] * 3
    assert server.connections == 1


@pytest.mark.parametrize("concurrently", [False, True], ids=["threads", "loop"])
def test_announcements_before_a_reply_are_read_over(serve, concurrently) -> None:
    before = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"
    server = serve([before + reply(b"first")], [reply(b"mine")])
    assert get_all(server.host, 2, concurrently) == [b"first", b"mine"]


LOCATIONS = [
    "",
    "/elsewhere",
    "elsewhere",
    "http://127.0.0.1:1/",
    "file:///etc/passwd",
    "javascript:x",
    "http://[",
    "http://a:99999999999/",
    "//",
    "http:///",
    "\xff",
]


@pytest.mark.parametrize("location", [None, *LOCATIONS])
@pytest.mark.parametrize("concurrently", [False, True], ids=["threads", "loop"])
def test_a_redirect_is_a_reply_whatever_it_names(serve, location, concurrently) -> None:
    moved = reply(b"moved", "302 Found", **({} if location is None else {"location": location}))
    server = serve([moved], [reply(b"mine")])
    assert get_all(server.host, 2, concurrently) == [b"moved", b"mine"]
    assert len(server.asked) == 2


def test_a_redirect_is_described(serve) -> None:
    statuses = [
        ("302 Found", {}),
        ("307 T", {"location": "http://b.example/x"}),
        ("304 Not Modified", {}),
        ("300 Many", {"location": "/a"}),
    ]
    server = serve(*([reply(b"", status, **headers)] for status, headers in statuses))
    with blocking_client(HttpRoute(server.host, MB), 10) as client:
        assert [redirection(client.get(server.host)) for _ in statuses] == [
            "status 302 redirects without an address (no Location)",
            "status 307 redirects to http://b.example/x",
            None,
            None,
        ]


def test_no_other_server_is_asked(serve) -> None:
    server, other = serve(), serve([reply(b"stolen")])
    with blocking_client(HttpRoute(server.host, MB), 10) as client, pytest.raises(UnsupportedProtocol, match="to another server"):
        client.get(other.host)

    async def ask() -> None:
        async with asynchronous_client(HttpRoute(server.host, MB)) as client:
            await client.get(other.host)

    with pytest.raises(UnsupportedProtocol, match="to another server"):
        asyncio.run(ask())
    assert other.connections == 0


@pytest.mark.parametrize("concurrently", [False, True], ids=["threads", "loop"])
def test_the_proxy_of_the_environment_leads_to_other_machines_only(serve, monkeypatch, concurrently) -> None:
    proxy, server = serve([reply(b"by proxy")]), serve([reply(b"mine")])
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", proxy.host)
    assert get_all("http://elsewhere.example", 1, concurrently) == [b"by proxy"]
    assert get_all(server.host, 1, concurrently) == [b"mine"]
    assert proxy.asked == ["GET http://elsewhere.example/0 HTTP/1.1"]


def fetched(address: str, hosts: tuple[str, ...] = ()) -> bytes:
    with open_address(address, 1000, 10, hosts) as answer:
        return b"".join(answer.iter_raw())


def test_a_download_follows_redirects_of_its_own_server(serve) -> None:
    server = serve([reply(b"", "301 Moved", location="/b")], [reply(b"", "302 Found", location="c?d=e")], [reply(b"content")])
    assert fetched(f"{server.host}/a") == b"content"
    assert [line.split()[1] for line in server.asked] == ["/a", "/b", "/c?d=e"]


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("", "status 302 redirects without an address (no Location)"),
        ("http://127.0.0.1:{port}/", "status 302 redirects to http://127.0.0.1:{port}/, which is not followed"),
        ("http://localhost/", "status 302 redirects to http://localhost/, which is not followed"),
        ("//localhost/", "status 302 redirects to //localhost/, which is not followed"),
        ("ftp://127.0.0.1/", "status 302 redirects to ftp://127.0.0.1/, which is not followed"),
        ("http://hf.example/", "status 302 redirects to http://hf.example/, which is not followed"),
        ("https://nothf.example/", "status 302 redirects to https://nothf.example/, which is not followed"),
        ("http://a:99999999999/", "Port out of range 0-65535"),
        ("http://[", "Invalid IPv6 URL"),
    ],
)
def test_a_download_goes_to_no_server_that_was_not_named(serve, location, reason) -> None:
    other = serve([reply(b"stolen")])
    port = other.host.rpartition(":")[2]
    server = serve([reply(b"", "302 Found", location=location.format(port=port))])
    with pytest.raises(DownloadError, match=f"^{re.escape(reason.format(port=port))}$"):
        fetched(server.host, ("hf.example",))
    assert other.connections == 0


def test_a_named_host_is_followed_encrypted(serve) -> None:
    port = closed_port()
    server = serve([reply(b"", "302 Found", location=f"https://localhost:{port}/x")])
    with pytest.raises(DownloadError, match=r"Connection refused|Connect call failed"):
        fetched(server.host, ("localhost",))


def test_a_loop_of_redirects_ends(serve) -> None:
    server = serve(*([reply(b"", "302 Found", location="/")] for _ in range(20)))
    with pytest.raises(DownloadError, match=r"^more than 5 redirects$"):
        fetched(server.host)
    assert len(server.asked) == 6


def test_a_download_is_limited(serve) -> None:
    server = serve([reply(b"x" * 1001)], [reply(b"x", "404 Not Found")])
    with pytest.raises(ReplyTooLargeError):
        fetched(server.host)
    with pytest.raises(DownloadError, match=r"^404 Not Found$") as caught:
        fetched(server.host)
    assert caught.value.status == 404
