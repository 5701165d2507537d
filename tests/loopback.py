"""A real server on the loopback that plays a provider: it answers well unless a test queues faults, and keeps what it was asked."""

import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

import pytest


class Loopback(ThreadingHTTPServer):
    """Answers well unless `faults` (one a request, the last for ever with `lasting`) say otherwise.

    A fault is a mapping: `hang`, or `status` with `message` and `headers`, or what a server of its own knows.
    """

    daemon_threads = True

    def __init__(self, handler: "type[LoopbackHandler]") -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.faults: list[dict[str, Any]] = []
        self.lasting = False
        self.closing = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that did not wait for a hanging answer is what some tests are about.
        if not isinstance(sys.exception(), BrokenPipeError | ConnectionResetError):
            super().handle_error(request, client_address)

    @property
    def host(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def fault(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the fault of the answer to a request."""
        return (self.faults[0] if self.lasting else self.faults.pop(0)) if self.faults else {}


class LoopbackHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body are two packets: the second would wait 40 ms for the acknowledgement of the first.
    disable_nagle_algorithm = True
    server: Loopback

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        fault = self.server.fault(body)
        if fault.get("hang"):
            self.server.closing.wait(30)
        if fault.get("status"):
            self.reply(fault["status"], self.error(fault.get("message", "broken")), fault.get("headers"))
        elif "raw" in fault:
            self.send(200, fault["raw"], fault.get("headers"))
        else:
            self.reply(200, self.answer(body, fault))

    def answer(self, body: dict[str, Any], fault: dict[str, Any]) -> Any:
        """Return the answer to a good request."""
        raise NotImplementedError

    def error(self, message: str) -> Any:
        """Return the body of an error."""
        return {"message": message}

    def reply(self, status: int, answer: Any, headers: dict[str, str] | None = None) -> None:
        self.send(status, json.dumps(answer).encode(), headers)

    def send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


Server = TypeVar("Server", bound=Loopback)
_VARIABLES = "RERANK_API_KEY OPENAI_API_KEY OPENAI_BASE_URL OLLAMA_HOST HTTP_PROXY http_proxy ALL_PROXY all_proxy"


def serving(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Server]) -> Iterator[Callable[[], Server]]:
    """Yield a function that starts a server, in an environment without keys and proxies; close all servers at the end."""
    for name in _VARIABLES.split():
        monkeypatch.delenv(name, raising=False)
    running: list[Server] = []

    def start() -> Server:
        running.append(make())
        threading.Thread(target=running[-1].serve_forever, args=(0.05,), daemon=True).start()
        return running[-1]

    yield start
    for server in running:
        server.closing.set()
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def serving_application(application: Any) -> Iterator[str]:
    """Serve an ASGI application in a thread, and return its address."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(application, host="127.0.0.1", port=0, log_level="critical", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server ended"
        time.sleep(0.005)
    try:
        (listening,) = server.servers[0].sockets
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


def closed_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])
