"""A real server on the loopback interface that speaks the protocols of OpenAI, Anthropic and Ollama."""

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.loopback import Loopback, LoopbackHandler, serving
from workbench.llm.providers.served import forget_refusals

_VARIABLES = "ANTHROPIC_API_KEY ANTHROPIC_BASE_URL ANTHROPIC_AUTH_TOKEN RAG_EVAL_PROVIDER HTTPS_PROXY https_proxy"
_SETTINGS = "OLLAMA_BASE_URL OLLAMA_MODEL ANTHROPIC_API_KEY ANTHROPIC_MODEL OPENAI_API_KEY OPENAI_MODEL OPENAI_BASE_URL"


class ChatProvider(Loopback):
    """Answers `yes` after `seconds`. A fault has `text`, `finish`, `tokens`, `logprobs` or `refusal` of the answer, `drip`, or `gzip`.

    `faults_of` has lasting faults of those prompts that contain a text, and `reply_to` may return what a fault has for any other.
    """

    def __init__(self) -> None:
        super().__init__(ChatHandler)
        self.seconds = 0.0
        self.faults_of: dict[str, dict[str, Any]] = {}
        self.reply_to: Callable[[dict[str, Any]], dict[str, Any]] = lambda _: {}
        self.at_once = self.most_at_once = 0
        self.guard = threading.Lock()

    def fault(self, body: dict[str, Any]) -> dict[str, Any]:
        prompt = body["messages"][-1]["content"]
        return (
            next((dict(fault) for text, fault in self.faults_of.items() if text in prompt), None)
            or super().fault(body)
            or self.reply_to(body)
        )

    def prompts(self) -> list[str]:
        return [body["messages"][-1]["content"] for body in self.asked]


class ChatHandler(LoopbackHandler):
    server: ChatProvider

    def do_POST(self) -> None:  # noqa: N802
        with self.server.guard:
            self.server.at_once += 1
            self.server.most_at_once = max(self.server.most_at_once, self.server.at_once)
        try:
            time.sleep(self.server.seconds)
            super().do_POST()
        finally:
            with self.server.guard:
                self.server.at_once -= 1

    def error(self, message: str) -> Any:
        if self.path == "/api/chat":
            return {"error": message}
        return {"type": "error", "error": {"type": "some_error", "message": message}}

    def answer(self, body: dict[str, Any], fault: dict[str, Any]) -> Any:
        text, finish, tokens = fault.get("text", "yes"), fault.get("finish"), fault.get("tokens", (10, 1))
        if self.path == "/api/chat":
            counted = {"prompt_eval_count": tokens[0], "eval_count": tokens[1]} if tokens else {}
            more = {"logprobs": fault["logprobs"]} if "logprobs" in fault else {}
            message = {"role": "assistant", "content": text}
            return {"model": body["model"], "message": message, "done": True, "done_reason": finish or "stop"} | counted | more
        if self.path == "/v1/messages":
            counted = {"usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]}} if tokens else {}
            blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
            stop = {"length": "max_tokens", None: "end_turn"}.get(finish, finish)
            return {"type": "message", "model": body["model"], "content": blocks, "stop_reason": stop} | counted
        assert self.path == "/v1/chat/completions"
        counted = {"usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}} if tokens else {}
        message = {"role": "assistant", "content": text, "refusal": fault.get("refusal")}
        choice = {"index": 0, "message": message, "finish_reason": finish or "stop"}
        if "logprobs" in fault:
            choice["logprobs"] = {"content": fault["logprobs"]}
        return {"model": body["model"], "choices": [choice]} | counted

    def send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        if (headers or {}).get("content-encoding") == "gzip":
            content = gzip.compress(content)
        headers = dict(headers or {})
        pause = float(headers.pop("pause", 0))
        if not pause:
            super().send(status, content, headers)
            return
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        for place in range(len(content)):
            if self.server.closing.wait(pause):
                return
            self.wfile.write(content[place : place + 1])


@pytest.fixture
def new_provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], ChatProvider]]:
    for name in [*_VARIABLES.split(), *(f"RAG_EVAL_{setting}" for setting in _SETTINGS.split())]:
        monkeypatch.delenv(name, raising=False)
    forget_refusals()
    yield from serving(monkeypatch, ChatProvider)
    forget_refusals()


@pytest.fixture
def provider(new_provider: Callable[[], ChatProvider]) -> ChatProvider:
    return new_provider()
