"""A server on the loopback that plays a chat model behind OpenAI's API: it says what it was sent, and cites the first passage."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.loopback import Loopback, LoopbackHandler, serving


class ChatHandler(LoopbackHandler):
    def answer(self, body: dict[str, Any], fault: dict[str, Any]) -> Any:
        text = fault.get("text", f"{len(body['messages'][-1]['content'])} characters [1][99].")
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        message = {"role": "assistant", "content": text}
        finish = fault.get("finish", "stop")
        return {"model": f"{body['model']}-dated", "choices": [{"message": message, "finish_reason": finish}], "usage": usage}


@pytest.fixture
def chat_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Loopback]]:
    for name in ("RAG_EVAL_PROVIDER", "RAG_EVAL_OPENAI_MODEL", "RAG_EVAL_OPENAI_BASE_URL", "RAG_EVAL_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    yield from serving(monkeypatch, lambda: Loopback(ChatHandler))
