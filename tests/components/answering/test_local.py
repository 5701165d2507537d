"""Answers of a GGUF file in this process."""

import socket
from pathlib import Path

import pytest

from workbench.components.answering.base import AnswerRequest, AnswerResources
from workbench.components.answering.prompted import LocalGenerator
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.core.errors import ModelError
from workbench.core.records import Passage, Query, Variant
from workbench.llm.session import CallResources

PASSAGES = (Passage("d", 0, 40, "The harbour master of Tallow is called Ines Moraga."),)
REQUEST = AnswerRequest(Query("q1", "What is the harbour master of Tallow called?"), PASSAGES, Variant("gold"))


def test_a_file_answers_from_the_passages(gguf: Path) -> None:
    generator = LocalGenerator(path=str(gguf), prompt="short-1", max_tokens=24, context_window=1024, threads=1)
    resources = AnswerResources(MemoryVectorCache(), CallResources())
    ((_, answer),) = generator.answer([REQUEST], resources)
    assert "Moraga" in answer.text
    assert answer.model == gguf.name
    assert answer.output_tokens is not None
    assert answer.output_tokens <= 24


def test_nothing_is_sent(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect", None, raising=False)
    test_a_file_answers_from_the_passages(gguf)


def test_the_identity_has_the_content_of_the_file_and_the_window(gguf: Path, tmp_path: Path) -> None:
    link = tmp_path / "renamed.gguf"
    link.symlink_to(gguf)
    identity = LocalGenerator(path=str(gguf)).identity()
    assert LocalGenerator(path=str(link), threads=1).identity() == identity
    assert LocalGenerator(path=str(gguf), context_window=2048).identity() != identity


def test_a_missing_file_is_found_before_anything_is_asked() -> None:
    with pytest.raises(ModelError, match=r"nowhere.gguf"):
        LocalGenerator(path="nowhere.gguf").check()
