"""Ask models of an Ollama server through its own /api/chat, whose window can be set, unlike that of its /v1."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from workbench.llm.base import CallFailure, ChatCall, Reply, end_of
from workbench.llm.models.server import OllamaModel
from workbench.llm.providers.served import ServedClient
from workbench.llm.replies.answers import has_reasoning
from workbench.llm.tokens import count_of, fewest_prompt_tokens, first_alternatives, most_prompt_tokens, name_of

_SMALLEST_WINDOW = 4096


class OllamaClient(OllamaModel, ServedClient):
    """A model pulled with `ollama pull`.

    Each call requests a window for its prompt and answer, at most `context_window`. Ollama cuts a prompt beyond its window without an error,
    so the tokens that it has read are compared with the prompt's length: a cut prompt is a failure.
    """

    package: ClassVar[str] = "httpx2"

    kind: Literal["ollama"] = "ollama"

    @property
    def _replacement(self) -> str:
        return f"ollama pull {self.model}"

    def _endpoint(self) -> tuple[str, Mapping[str, str]]:
        return f"{self.address}/api/chat", {"content-type": "application/json"}

    def _window(self, call: ChatCall) -> int:
        """Return the window to request: a power of two, since Ollama loads the model again for another one."""
        needed = most_prompt_tokens(call) + call.max_tokens
        window = max(_SMALLEST_WINDOW, 1 << (needed - 1).bit_length())
        return min(window, self.context_window or window)

    def _body(self, call: ChatCall, options: Mapping[str, Any], refused: frozenset[str]) -> dict[str, Any]:
        messages = [{"role": message.role, "content": message.content} for message in call.messages]
        limits = {"num_ctx": self._window(call), "num_predict": call.max_tokens}
        # Servers before 0.12 do not know the last two, with which the others refuse a prompt instead of cutting it.
        body: dict[str, Any] = {
            "model": self.model,
            "messages": messages,
            "stream": False,
            "options": limits | {name: options[name] for name in ("temperature", "seed") if name in options},
            "truncate": False,
            "shift": False,
        }
        if "schema" in options:
            body["format"] = options["schema"]
        return body | ({"logprobs": True, "top_logprobs": options["top_logprobs"]} if "top_logprobs" in options else {})

    def _read(self, answer: Mapping[str, Any], call: ChatCall, body: Mapping[str, Any]) -> Reply | CallFailure:
        text = answer["message"]["content"]
        if not isinstance(text, str) or answer.get("done") is False:
            raise TypeError("no complete answer")
        read, window = count_of(answer.get("prompt_eval_count")), int(body["options"]["num_ctx"])
        if cut := cut_prompt(call, read, window):
            return CallFailure(cut, "window")
        return Reply(
            text,
            end_of(answer.get("done_reason"), answer["message"]),
            name_of(answer.get("model")),
            read,
            count_of(answer.get("eval_count")),
            logprobs=first_alternatives(answer.get("logprobs") or []),
            reasoned=has_reasoning(answer["message"]),
        )


def cut_prompt(call: ChatCall, read: int | None, window: int) -> str | None:
    """Return the reason why the server has not read the whole prompt, or None. `read` are the tokens that it has counted."""
    fewest = fewest_prompt_tokens(call)
    if fewest >= window:
        return f"the prompt has at least {fewest:,} tokens, and the window {window:,}; raise answering.context_window or lower the budget"
    if read is not None and (read >= window or read < fewest):
        return f"the server cut the prompt: it read {read:,} tokens of at least {max(fewest, read):,} with a window of {window:,}"
    return None
