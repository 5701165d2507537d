"""A server on the loopback interface that answers, judges and searches for the sweeps of the campaign, and fails one of their requests."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.asked_sweeps import fact
from tests.chat_provider import ChatHandler, ChatProvider
from tests.faults.injection import Fault
from tests.forked import Forked
from tests.judged_sweeps import judged_reply

_ROOM = re.compile(r"lamp of room (\d+) switched\?")


class FailingServer(ChatProvider):
    """Serves one process at a time, counts its requests, and lets its fault happen."""

    def __init__(self) -> None:
        super().__init__()
        self.RequestHandlerClass = Handler
        self.reply_to = reply
        self._turn = threading.Lock()
        self._client: Forked | None = None
        self._fault: Fault | None = None
        self.requests = 0

    @contextmanager
    def serving(self, client: Forked, fault: Fault | None) -> Iterator[None]:
        """Serve a process, which is the only one meanwhile."""
        with self._turn:
            self.requests, self._client = 0, client
            self._fault = fault if fault and fault.operation == "request" else None
            yield

    def fault(self, body: dict[str, Any]) -> dict[str, Any]:
        return super().fault(body) if "messages" in body else {}

    def hit(self) -> str:
        """Count a request, and return the kind of the fault that it has."""
        with self.guard:
            self.requests += 1
            if self._fault is None or self.requests != self._fault.number:
                return ""
        if self._fault.kind == "kill" and self._client:
            self._client.kill()
        return self._fault.kind


class Handler(ChatHandler):
    server: FailingServer

    def send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        kind = self.server.hit()
        if kind == "error":
            return super().send(500, b'{"error": {"type": "some_error", "message": "injected"}}', headers)
        if kind != "torn":
            return super().send(status, content, headers)
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])
        self.wfile.flush()
        self.close_connection = True
        return self.connection.shutdown(socket.SHUT_RDWR)

    def answer(self, body: dict[str, Any], fault: dict[str, Any]) -> Any:
        if self.path == "/search":
            return {"hits": [{"id": f"d{place}", "score": 1 / (1 + place)} for place in _order(body["query"])]}
        if self.path == "/ask":
            return {"text": _answer(body["query"]), "sources": [f"d{place}" for place in _order(body["query"])[:1]]}
        return super().answer(body, fault)


def reply(body: dict[str, Any]) -> dict[str, Any]:
    """Answer a question with its fact and a false sentence, and judge as `judged_reply`."""
    prompt = body["messages"][-1]["content"]
    return judged_reply(body) if " | " in prompt.rpartition("\n")[2] else {"text": _answer(prompt)}


def _answer(text: str) -> str:
    rooms = _ROOM.findall(text)
    return f"{fact(int(rooms[-1]))} The lamp of room {rooms[-1]} is green." if rooms else "I cannot answer this."


def _order(query: str) -> list[int]:
    first = int((_ROOM.findall(query) or ["0"])[-1])
    return [(first + step) % 5 for step in range(3)]
