"""A real server on the loopback that speaks OpenAI's and Ollama's protocols, and a small real model of words."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.loopback import Loopback, LoopbackHandler, serving
from tests.tiny_models import small_tokenizer
from workbench.llm.models.files import MINILM, locate

DIMENSION = 16


def vector(text: str, dimension: int = DIMENSION) -> list[float]:
    """A text's vector by its hash, of no particular length."""
    seed = int.from_bytes(hashlib.blake2b(text.encode()).digest()[:8], "big")
    return [float(number) for number in np.random.default_rng(seed).normal(size=dimension)]


class Provider(Loopback):
    """Answers both protocols, unless a fault has `rows` or `data` to send instead, or is `silent` about usage."""

    def __init__(self) -> None:
        super().__init__(Handler)
        self.models = [{"name": "words:latest", "digest": "one"}]

    def inputs(self) -> list[list[str]]:
        return [body["input"] for body in self.asked]


class Handler(LoopbackHandler):
    server: Provider

    def do_GET(self) -> None:  # noqa: N802
        pages = {"/api/tags": {"models": self.server.models}, "/list/api/tags": []}
        self.reply(200, pages[self.path])

    def error(self, message: str) -> Any:
        return {"error": {"message": message}} if self.path.startswith("/v1") else {"error": message}

    def answer(self, body: dict[str, Any], fault: dict[str, Any]) -> Any:
        rows = [vector(text, body.get("dimensions") or DIMENSION) for text in body["input"]]
        rows = fault.get("rows", lambda good: good)(rows)
        usage = sum(len(text.split()) for text in body["input"])
        if self.path == "/v1/embeddings":
            data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
            data = fault.get("data", data[::-1])
            counted = {"usage": {"prompt_tokens": usage, "total_tokens": usage}} if not fault.get("silent") else {}
            return {"object": "list", "model": body["model"], "data": data} | counted
        assert self.path == "/api/embed"
        return {"model": body["model"], "embeddings": rows, "prompt_eval_count": usage}


@pytest.fixture
def new_provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Provider]]:
    yield from serving(monkeypatch, Provider)


@pytest.fixture
def provider(new_provider: Callable[[], Provider]) -> Provider:
    return new_provider()


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The bundled model with the first 3,000 tokens of its vocabulary, which are distilled in seconds."""
    folder = tmp_path_factory.mktemp("small")
    copy_model(folder, "tokenizer.json", "vocab.txt")
    small_tokenizer().save(str(folder / "tokenizer.json"))
    return str(folder)


def copy_model(folder: Path, *without: str) -> None:
    """The bundled model's files in another folder, as links."""
    for path in locate(MINILM).iterdir():
        if path.name not in without:
            (folder / path.name).symlink_to(path)
