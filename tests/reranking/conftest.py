"""Small real models of random weights, and a real server on the loopback that speaks the protocol of rerank endpoints."""

import hashlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from workbench.models.files import MINILM, locate


def save_model(folder: Path, head: str, **settings: Any) -> str:
    """Save a BERT of two small layers, such as `BertForSequenceClassification`, with MiniLM's tokeniser, as a model's folder."""
    import torch
    import transformers

    usual = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    usual |= {"num_labels": 1, "initializer_range": 0.2, "max_position_embeddings": 128}
    torch.manual_seed(0)
    getattr(transformers, head)(transformers.BertConfig(**usual | settings)).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes((locate(MINILM) / "tokenizer.json").read_bytes())
    tokenizer = {"tokenizer_class": "BertTokenizer", "model_max_length": 128, "do_lower_case": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    return str(folder)


@pytest.fixture(scope="session")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_model(tmp_path_factory.mktemp("cross-encoder"), "BertForSequenceClassification")


@pytest.fixture(scope="session")
def small_encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_model(tmp_path_factory.mktemp("encoder"), "BertModel")


def relevance(query: str, text: str) -> float:
    """A score of a pair by its hash, between 0 and 1."""
    return int.from_bytes(hashlib.blake2b(f"{query}\n{text}".encode()).digest()[:4], "big") / 2**32


class RerankServer(ThreadingHTTPServer):
    """Answers well, in the order of the scores, unless `faults` (one a request, the last for ever with `lasting`) say otherwise."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.faults: list[dict[str, Any]] = []
        self.lasting = False
        self.closing = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that did not wait for a hanging answer is what some tests are about.
        if not isinstance(sys.exception(), BrokenPipeError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def fault(self) -> dict[str, Any]:
        return (self.faults[0] if self.lasting else self.faults.pop(0)) if self.faults else {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RerankServer

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        assert self.path == "/v1/rerank"
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        fault = self.server.fault()
        if fault.get("hang"):
            self.server.closing.wait(30)
        if fault.get("status"):
            self.reply(fault["status"], {"message": fault.get("message", "broken")}, fault.get("headers", {}))
            return
        scored = [(relevance(body["query"], text), index) for index, text in enumerate(body["documents"])]
        results = [{"index": index, "relevance_score": score} for score, index in sorted(scored, reverse=True)[: body["top_n"]]]
        self.reply(200, fault["answer"](results) if "answer" in fault else {"model": body["model"], "results": results}, {})

    def reply(self, status: int, answer: Any, headers: dict[str, str]) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def new_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], RerankServer]]:
    for name in ("RERANK_API_KEY", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    running: list[RerankServer] = []

    def start() -> RerankServer:
        running.append(RerankServer())
        threading.Thread(target=running[-1].serve_forever, args=(0.05,), daemon=True).start()
        return running[-1]

    yield start
    for server in running:
        server.closing.set()
        server.shutdown()
        server.server_close()


@pytest.fixture
def rerank_server(new_server: Callable[[], RerankServer]) -> RerankServer:
    return new_server()
