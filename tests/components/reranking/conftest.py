"""Small real models of random weights, and a real server on the loopback that speaks the protocol of rerank endpoints."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.loopback import Loopback, LoopbackHandler, serving
from workbench.llm.models.files import MINILM, locate


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


class RerankServer(Loopback):
    """Answers in the order of the scores, unless a fault has an `answer` to make of the results."""

    def __init__(self) -> None:
        super().__init__(Handler)

    @property
    def address(self) -> str:
        return f"{self.host}/v1"


class Handler(LoopbackHandler):
    def answer(self, body: dict[str, Any], fault: dict[str, Any]) -> Any:
        assert self.path == "/v1/rerank"
        scored = [(relevance(body["query"], text), index) for index, text in enumerate(body["documents"])]
        results = [{"index": index, "relevance_score": score} for score, index in sorted(scored, reverse=True)[: body["top_n"]]]
        return fault["answer"](results) if "answer" in fault else {"model": body["model"], "results": results}


@pytest.fixture
def new_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], RerankServer]]:
    yield from serving(monkeypatch, RerankServer)


@pytest.fixture
def rerank_server(new_server: Callable[[], RerankServer]) -> RerankServer:
    return new_server()
