"""The model that judges answers, with a strict reading of its verdicts."""

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workbench.llm.base import CallFailure, ChatCall, ChatClient, Message
from workbench.llm.providers.local import LocalClient
from workbench.llm.registry import client_of

OLLAMA = "http://localhost:11434"
_TOKENS = 500
# The word alone, with a sign at its end or around it: not within a sentence, and not within another word.
_VERDICT = re.compile(r"\W*(true|false)\W*", re.IGNORECASE)


@dataclass(frozen=True)
class EvaluationModel:
    """A chat model that is asked for verdicts."""

    client: ChatClient

    async def evaluate(self, prompt: str) -> str:
        """The reply to a prompt, at temperature 0. Raises RuntimeError if the call fails."""
        try:
            reply = await self.client.ask(ChatCall((Message("user", prompt),), _TOKENS, 0.0))
        finally:
            await self.client.close()
        if isinstance(reply, CallFailure):
            raise RuntimeError(reply.reason)
        return reply.text


def verdict(reply: str) -> bool | None:
    """True or False if the reply is this word and nothing else, otherwise None: unscored."""
    found = _VERDICT.fullmatch(reply.strip())
    return None if found is None else found[1].lower() == "true"


def configured(gguf: Path | None) -> tuple[Mapping[str, Any], ChatClient] | None:
    """The settings of `sampling` and the client: of RAG_EVAL_PROVIDER, else of Ollama if it runs, else of the GGUF file, else None."""
    provider = os.environ.get("RAG_EVAL_PROVIDER", "").strip()
    if provider or (_listens(_ollama()) and os.environ.get("RAG_EVAL_OLLAMA_MODEL")):
        settings = {"provider": provider or "ollama"} | ({} if provider else {"base_url": _ollama()})
        return {"kind": "chat", **settings}, client_of(settings)
    if gguf:
        return {"kind": "local", "path": str(gguf)}, LocalClient(path=str(gguf))
    return None


def _ollama() -> str:
    named = os.environ.get("RAG_EVAL_OLLAMA_BASE_URL") or os.environ.get("OLLAMA_HOST") or OLLAMA
    return named if "://" in named else f"http://{named}"


def _listens(address: str) -> bool:
    parts = urlsplit(address)
    try:
        with socket.create_connection((parts.hostname or "localhost", parts.port or 80), timeout=1):
            return True
    except OSError:
        return False
