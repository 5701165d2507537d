"""Ask any server that offers OpenAI's /v1/chat/completions: OpenAI itself, vLLM, llama.cpp and others."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from workbench.llm.base import CallFailure, ChatCall, Reply, end_of
from workbench.llm.models.server import OPENAI_ADDRESS, KeyedModel
from workbench.llm.providers.served import ServedClient, sent_headers
from workbench.llm.replies.answers import content_text, has_reasoning
from workbench.llm.tokens import count_of, first_alternatives, name_of


class OpenAIClient(ServedClient, KeyedModel):
    """A model behind `/chat/completions`. A server on this machine needs no key.

    Examples
    --------
    >>> OpenAIClient(model="gpt-5-mini", base_url="http://localhost:8000/v1").label
    "answering 'openai': gpt-5-mini at http://localhost:8000/v1"
    """

    package: ClassVar[str] = "openai"

    kind: Literal["openai"] = "openai"

    def _endpoint(self) -> tuple[str, Mapping[str, str]]:
        import openai

        from workbench.llm.models.http import unconnected_client

        client = openai.OpenAI(base_url=self.address, api_key=self._key() or "none", http_client=unconnected_client())
        return f"{self.address}/chat/completions", sent_headers({**client.default_headers, **client.auth_headers})

    def _body(self, call: ChatCall, options: Mapping[str, Any], refused: frozenset[str]) -> dict[str, Any]:
        messages = [{"role": message.role, "content": message.content} for message in call.messages]
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        # OpenAI's reasoning models know the new name only, most compatible servers only the old one.
        new_name = "max_tokens" in refused or self.address == OPENAI_ADDRESS
        body["max_completion_tokens" if new_name else "max_tokens"] = call.max_tokens
        body |= {name: options[name] for name in ("temperature", "seed") if name in options}
        if "schema" in options:
            schema = {"name": "reply", "strict": True, "schema": options["schema"]}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body | ({"logprobs": True, "top_logprobs": options["top_logprobs"]} if "top_logprobs" in options else {})

    def _read(self, answer: Mapping[str, Any], call: ChatCall, body: Mapping[str, Any]) -> Reply | CallFailure:
        choice = answer["choices"][0]
        message = choice["message"]
        # Reasoning or a call of a tool stands in for a content.
        beside = has_reasoning(message) or message.get("tool_calls") or message.get("function_call")
        content = message["content"] if "content" in message or not beside else None
        parts = content if isinstance(content, list) else []
        refused = message.get("refusal") or any(isinstance(part, dict) and part.get("type") == "refusal" for part in parts)
        usage = answer.get("usage") or {}
        tokens = (logprobs.get("content") or []) if (logprobs := choice.get("logprobs")) else []
        return Reply(
            "" if refused else content_text(content),
            "content_filter" if refused else end_of(choice.get("finish_reason"), message),
            name_of(answer.get("model")),
            count_of(usage.get("prompt_tokens")),
            _written(usage),
            logprobs=first_alternatives(tokens),
            reasoned=has_reasoning(message),
        )


def _written(usage: Mapping[str, Any]) -> int | None:
    """Return the tokens of an answer. Some servers count those of reasoning only in the total."""
    read, written, total = (count_of(usage.get(f"{name}_tokens")) for name in ("prompt", "completion", "total"))
    return written if read is None or written is None or total is None else max(written, total - read)
