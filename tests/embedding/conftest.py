"""A real server on the loopback that speaks OpenAI's and Ollama's protocols, and a small real model of words."""

import hashlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.models.files import MINILM, locate

DIMENSION = 16
WORDS = 3_000


def vector(text: str, dimension: int = DIMENSION) -> list[float]:
    """A text's vector by its hash, of no particular length."""
    seed = int.from_bytes(hashlib.blake2b(text.encode()).digest()[:8], "big")
    return [float(number) for number in np.random.default_rng(seed).normal(size=dimension)]


class Provider(ThreadingHTTPServer):
    """Answers well unless `faults` (one a request, the last for ever with `lasting`) say otherwise; keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.faults: list[dict[str, Any]] = []
        self.lasting = False
        self.models = [{"name": "words:latest", "digest": "one"}]
        self.closing = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that did not wait for a hanging answer is what some tests are about.
        if not isinstance(sys.exception(), BrokenPipeError):
            super().handle_error(request, client_address)

    @property
    def host(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def fault(self) -> dict[str, Any]:
        return (self.faults[0] if self.lasting else self.faults.pop(0)) if self.faults else {}

    def inputs(self) -> list[list[str]]:
        return [body["input"] for body in self.asked]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        pages = {"/api/tags": {"models": self.server.models}, "/list/api/tags": []}
        self.reply(200, pages[self.path])

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        fault = self.server.fault()
        if fault.get("hang"):
            self.server.closing.wait(30)
        message, status = fault.get("message", "broken"), fault.get("status", 200)
        if status != 200:
            error = {"error": {"message": message}} if self.path.startswith("/v1") else {"error": message}
            self.reply(status, error, fault.get("headers"))
            return
        rows = [vector(text, body.get("dimensions") or DIMENSION) for text in body["input"]]
        rows = fault.get("rows", lambda good: good)(rows)
        usage = sum(len(text.split()) for text in body["input"])
        if self.path == "/v1/embeddings":
            data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
            data = fault.get("data", data[::-1])
            counted = {"usage": {"prompt_tokens": usage, "total_tokens": usage}} if not fault.get("silent") else {}
            self.reply(200, {"object": "list", "model": body["model"], "data": data} | counted)
        else:
            assert self.path == "/api/embed"
            self.reply(200, {"model": body["model"], "embeddings": rows, "prompt_eval_count": usage})

    def reply(self, status: int, answer: Any, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def new_provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Provider]]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    running: list[Provider] = []

    def start() -> Provider:
        running.append(Provider())
        threading.Thread(target=running[-1].serve_forever, args=(0.05,), daemon=True).start()
        return running[-1]

    yield start
    for server in running:
        server.closing.set()
        server.shutdown()
        server.server_close()


@pytest.fixture
def provider(new_provider: Callable[[], Provider]) -> Provider:
    return new_provider()


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The bundled model with the first 3,000 tokens of its vocabulary, which are distilled in seconds."""
    folder = tmp_path_factory.mktemp("small")
    copy_model(folder, "tokenizer.json", "vocab.txt")
    tokenizer = json.loads((locate(MINILM) / "tokenizer.json").read_text("utf-8"))
    tokenizer["model"]["vocab"] = {word: number for word, number in tokenizer["model"]["vocab"].items() if number < WORDS}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    return str(folder)


def copy_model(folder: Path, *without: str) -> None:
    """The bundled model's files in another folder, as links."""
    for path in locate(MINILM).iterdir():
        if path.name not in without:
            (folder / path.name).symlink_to(path)
