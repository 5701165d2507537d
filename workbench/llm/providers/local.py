"""Ask a chat model in a GGUF file, in this process."""

import asyncio
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from workbench.core.text.printable import printable
from workbench.llm.base import CallFailure, ChatCall, ChatClient, Reply, finish_of
from workbench.llm.models.gguf import GgufModel, check_gguf, default_threads, gguf_digest, load, without_control_tokens
from workbench.llm.replies.answers import has_reasoning
from workbench.llm.tokens import count_of, first_alternatives

_MESSAGE = 200


class LocalClient(GgufModel, ChatClient):
    """A chat model in a GGUF file, run by llama.cpp in this process (extra `local`). Calls are made one after another.

    The chat template is the one in the file, and no message can contain its marks of turns. Equal calls at temperature 0 have equal replies, whatever was asked before.

    Examples
    --------
    >>> from workbench.llm.providers.local import LocalClient
    >>> LocalClient(path="~/models/SmolLM2-135M-Instruct.Q4_1.gguf").label
    "answering 'local': SmolLM2-135M-Instruct.Q4_1.gguf"
    """

    version: ClassVar[int] = 2

    kind: Literal["local"] = "local"
    # llama.cpp computes several calls in one batch, whose results would depend on each other in the last digits.
    concurrency: int = Field(default=1, ge=1, le=1, description="How many calls are made at once.")

    @property
    def label(self) -> str:
        return f"{self.stage} {self.kind!r}: {Path(self.path).name}"

    def check(self) -> None:
        check_gguf(self.path, self.label)

    def identity(self) -> dict[str, Any]:
        digest = gguf_digest(check_gguf(self.path, self.label))
        return {"provider": self.kind, "version": self.version, "model": digest, "context_window": self.context_window}

    async def ask(self, call: ChatCall) -> Reply | CallFailure:
        """Make a call. A cancelled one stops at its next token. Raises ModelError for a file that cannot be loaded."""
        answer = _StreamedReply()
        try:
            return await asyncio.to_thread(self._ask, call, answer)
        finally:
            answer.cancelled.set()

    def _ask(self, call: ChatCall, answer: "_StreamedReply") -> Reply | CallFailure:
        path = check_gguf(self.path, self.label)
        model = load(path, self.threads or default_threads(), self.context_window)
        messages = [{"role": message.role, "content": without_control_tokens(message.content, path)} for message in call.messages]
        started = time.perf_counter()
        try:
            model.handle_chat_completions({"messages": messages, **_request(call)}, answer.take)
        except (ValueError, TypeError, RuntimeError) as error:
            return _refused(str(error))
        if answer.error:
            return _failure(answer.error)
        sent, received = count_of(answer.usage.get("prompt_tokens")), count_of(answer.usage.get("completion_tokens"))
        return Reply(
            text=answer.text,
            finish_reason=answer.finish_reason,
            model=Path(self.path).name,
            input_tokens=sent,
            output_tokens=received,
            cost=self.cost(sent, received),
            logprobs=answer.logprobs,
            seconds=time.perf_counter() - started,
            reasoned=answer.reasoned,
        )


class _StreamedReply:
    """A reply, put together from the parts that llama.cpp delivers."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self.text, self.reasoned = "", False
        self.finish_reason = "stop"
        self.usage: Mapping[str, int] = {}
        self.logprobs: dict[str, float] | None = None
        self.error: Mapping[str, Any] = {}

    def take(self, part: Mapping[str, Any]) -> bool:
        """Add a part. Return whether to stop."""
        self.error = part.get("error") or self.error
        self.usage = part.get("usage") or self.usage
        for choice in part.get("choices", ()):
            self.text += choice["delta"].get("content") or ""
            self.reasoned = self.reasoned or has_reasoning(choice["delta"])
            self.finish_reason = finish_of(choice.get("finish_reason") or self.finish_reason)
            tokens = (choice.get("logprobs") or {}).get("content") or ()
            if tokens and self.logprobs is None:
                self.logprobs = first_alternatives(tokens)
        return self.cancelled.is_set()


def _failure(error: Mapping[str, Any]) -> CallFailure:
    if error.get("type") == "exceed_context_size_error":
        sizes = f"the prompt has {error.get('n_prompt_tokens'):,} tokens, and the window {error.get('n_ctx'):,}"
        return CallFailure(f"{sizes}; raise context_window or lower the token budget of the context", "window")
    return _refused(str(error.get("message", error)))


def _refused(message: str) -> CallFailure:
    detail = " ".join(printable(message).split())[:_MESSAGE]
    return CallFailure(f"llama.cpp refused the request ({detail})", "request")


def _request(call: ChatCall) -> dict[str, Any]:
    """Return a call without its messages as a streamed request of OpenAI's protocol."""
    request: dict[str, Any] = {
        "max_tokens": call.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        # A prompt that begins like the one before would be computed in other batches, whose results differ in the last digits.
        "cache_prompt": False,
    }
    request |= {name: value for name, value in call.options.items() if name in ("temperature", "seed")}
    if call.top_logprobs:
        request |= {"logprobs": True, "top_logprobs": call.top_logprobs}
    if call.schema is not None:
        request["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(call.schema)}}
    return request
