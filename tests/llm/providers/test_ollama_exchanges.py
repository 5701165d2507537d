"""Exchanges with Ollama in the format of its documentation, written by hand and replayed by a server on the loopback interface.

Each file has a call, the requests that Ollama gets with its responses in order, and the outcome of the call. A request in a file has the
values that the call determines; others, such as the window, may be added.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from workbench.core.errors import ModelError
from workbench.llm.base import CallFailure, ChatCall, Message, Reply
from workbench.llm.providers.ollama import OllamaClient
from workbench.llm.session import CallResources, ask_all

EXCHANGES = sorted((Path(__file__).parent / "ollama_exchanges").glob("*.json"))


class Replay(ThreadingHTTPServer):
    """Answers requests with responses in order, and keeps the requests."""

    def __init__(self, responses: list[dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.responses, self.requests = iter(responses), list[tuple[str, Any]]()
        self.closing = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients whose time is over close their connections."""


class Handler(BaseHTTPRequestHandler):
    server: Replay

    def do_POST(self) -> None:
        self.server.requests.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
        response = next(self.server.responses)
        content = (response["text"] if "text" in response else json.dumps(response["body"])).encode()
        self.server.closing.wait(response.get("delay", 0))
        self.send_response(response["status"])
        for name, value in response["headers"].items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        pause = response.get("seconds_a_byte", 0)
        for part in [content[place : place + 1] for place in range(len(content))] if pause else [content]:
            self.wfile.write(part)
            self.server.closing.wait(pause)

    def log_message(self, *arguments: Any) -> None:
        """Tests read the outcomes."""


@contextmanager
def replayed(responses: list[dict[str, Any]]) -> Iterator[Replay]:
    with Replay(responses) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()


def chat_call(recorded: dict[str, Any]) -> ChatCall:
    messages = [Message(message["role"], message["content"] * message.get("repeated", 1)) for message in recorded["messages"]]
    return ChatCall(**{**recorded, "messages": messages})


def outcome_of(call: ChatCall, server: Replay) -> Reply | CallFailure:
    client = OllamaClient(model="qwen3:4b", base_url=f"http://127.0.0.1:{server.server_port}", timeout=1, retries=2)
    ((_, outcome),) = ask_all(client, [call], CallResources())
    return outcome


@pytest.mark.parametrize("path", EXCHANGES, ids=lambda path: path.stem)
def test_an_exchange_has_its_outcome(path: Path) -> None:
    recorded = json.loads(path.read_text("utf-8"))
    expected, started = recorded["outcome"], time.perf_counter()
    with replayed([exchange["response"] for exchange in recorded["exchanges"]]) as server:
        if "error" in expected:
            with pytest.raises(ModelError) as caught:
                outcome_of(chat_call(recorded["call"]), server)
            assert expected["error"] in caught.value.lines[0]
        else:
            check(outcome_of(chat_call(recorded["call"]), server), expected)
    assert time.perf_counter() - started >= expected.get("seconds", 0)
    assert len(server.requests) == len(recorded["exchanges"])
    for (address, body), exchange in zip(server.requests, recorded["exchanges"], strict=True):
        assert address == "/api/chat"
        assert exchange["request"] is None or has(body, exchange["request"])
        assert 64 < body["options"]["num_ctx"] <= 131_072


def has(value: Any, part: Any) -> bool:
    """Whether a value has everything in a part of it, mappings by key."""
    return all(name in value and has(value[name], part[name]) for name in part) if isinstance(part, dict) else bool(value == part)


def check(outcome: Reply | CallFailure, expected: dict[str, Any]) -> None:
    if "failure" in expected:
        assert isinstance(outcome, CallFailure), outcome
        assert outcome.kind == expected["failure"]
        assert expected["reason"] in outcome.reason
        return
    assert isinstance(outcome, Reply), outcome
    assert not outcome.cached
    for name, value in expected["reply"].items():
        assert getattr(outcome, name) == (tuple(value) if isinstance(value, list) else value), name


def test_the_exchanges_include_every_kind_of_failure_that_ollama_has() -> None:
    outcomes = [json.loads(path.read_text("utf-8"))["outcome"] for path in EXCHANGES]
    assert {"server", "timeout", "reply", "window"} <= {outcome.get("failure") for outcome in outcomes}
    statuses = {exchange["response"]["status"] for path in EXCHANGES for exchange in json.loads(path.read_text("utf-8"))["exchanges"]}
    assert statuses == {200, 404, 429, 500, 503}
