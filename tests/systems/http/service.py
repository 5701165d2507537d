"""A real server on the loopback that plays a RAG service."""

import json
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.loopback import Loopback, LoopbackHandler, serving

HITS = [
    {"doc_id": "cats", "text": "Cats purr.", "score": 0.9, "metadata": {"page": 1}},
    {"doc_id": 7, "text": "Dogs bark.", "score": 0.4, "metadata": None},
]


class Service(Loopback):
    """Replies `replies[path]` to a request. A fault has `status`, `hang`, `raw` or `drip`, or `cut`: the bytes after which the server hangs up."""

    def __init__(self) -> None:
        super().__init__(ServiceHandler)
        self.replies: dict[str, Any] = {
            "/search": {"results": HITS, "took": 1},
            "/answer": {"answer": "They purr.", "sources": HITS},
            "/query": {"answer": "They purr.", "sources": HITS, "confidence": 0.8, "refused": False},
        }
        self.requests: list[tuple[str, str, Any]] = []


class ServiceHandler(LoopbackHandler):
    server: Service

    def do_GET(self) -> None:  # noqa: N802
        self._serve()

    def do_DELETE(self) -> None:  # noqa: N802
        self._serve()

    def do_PUT(self) -> None:  # noqa: N802
        self._serve()

    def do_POST(self) -> None:  # noqa: N802
        self._serve()

    def _serve(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        content = self.rfile.read(length)
        # A client that was killed between the headers and the body asked nothing.
        if len(content) < length:
            self.close_connection = True
            return
        self.server.requests.append((self.command, self.path, json.loads(content) if content else None))
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        fault = self.server.fault({})
        if fault.get("hang"):
            self.server.closing.wait(30)
        if fault.get("status"):
            content = fault.get("content") or json.dumps({"detail": fault.get("message", "broken")}).encode()
            self.send(fault["status"], content, fault.get("headers"))
        elif "drip" in fault:
            self._drip(fault["drip"])
        elif "cut" in fault:
            self._cut(fault["cut"], fault.get("headers", {}))
        elif "raw" in fault:
            self.send(200, fault["raw"], fault.get("headers"))
        else:
            reply = self.server.replies[urllib.parse.urlsplit(self.path).path]
            self.reply(200, reply() if callable(reply) else reply)

    def _drip(self, pause: float) -> None:
        self.send_response(200)
        self.send_header("content-length", "1000000")
        self.end_headers()
        while not self.server.closing.wait(pause):
            self.wfile.write(b" ")

    def _cut(self, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(200)
        for name, value in {"content-length": "1000000", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()
        self.close_connection = True


@pytest.fixture
def new_service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Service]]:
    monkeypatch.delenv("HTTPS_PROXY", raising=False)
    monkeypatch.delenv("https_proxy", raising=False)
    yield from serving(monkeypatch, Service)


@pytest.fixture
def service(new_service: Callable[[], Service]) -> Service:
    return new_service()


def events(*data: Any, names: dict[int, str] | None = None) -> dict[str, Any]:
    """Return a fault that streams events: texts as they are, other values as JSON."""
    lines = []
    for place, item in enumerate(data):
        name = f"event: {names[place]}\n" if names and place in names else ""
        lines.append(f"{name}data: {item if isinstance(item, str) else json.dumps(item)}\n\n")
    return {"raw": "".join(lines).encode(), "headers": {"content-type": "text/event-stream"}}
