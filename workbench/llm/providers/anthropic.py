"""Ask Anthropic's models, or a server that offers /v1/messages, such as llama.cpp."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from workbench.llm.base import CallFailure, ChatCall, Reply, finish_of
from workbench.llm.models.server import KeyedModel
from workbench.llm.providers.served import ServedClient, sent_headers
from workbench.llm.replies.answers import has_reasoning
from workbench.llm.tokens import count_of, name_of


class AnthropicClient(ServedClient, KeyedModel):
    """A model behind `/v1/messages`, which has neither seeds nor log-probabilities. A server on this machine needs no key."""

    package: ClassVar[str] = "anthropic"
    extra: ClassVar[str] = "anthropic"
    address_variable: ClassVar[str] = "ANTHROPIC_BASE_URL"
    usual_address: ClassVar[str] = "https://api.anthropic.com"
    unsupported: ClassVar[frozenset[str]] = frozenset({"seed", "top_logprobs"})

    kind: Literal["anthropic"] = "anthropic"
    api_key_env: str = Field(
        default="ANTHROPIC_API_KEY", description="The environment variable with the key; a server on this machine needs no key."
    )

    @property
    def address(self) -> str:
        return super().address.removesuffix("/v1")

    def _endpoint(self) -> tuple[str, Mapping[str, str]]:
        import anthropic

        from workbench.llm.models.http import unconnected_client

        client = anthropic.Anthropic(base_url=self.address, api_key=self._key() or "none", http_client=unconnected_client())
        return f"{self.address}/v1/messages", sent_headers({**client.default_headers, **client.auth_headers})

    def _body(self, call: ChatCall, options: Mapping[str, Any], refused: frozenset[str]) -> dict[str, Any]:
        system = "\n\n".join(message.content for message in call.messages if message.role == "system")
        messages = [{"role": message.role, "content": message.content} for message in call.messages if message.role != "system"]
        body: dict[str, Any] = {"model": self.model, "max_tokens": call.max_tokens, "messages": messages}
        if system:
            body["system"] = system
        if "temperature" in options:
            body["temperature"] = options["temperature"]
        if "schema" in options:
            body["output_config"] = {"format": {"type": "json_schema", "schema": options["schema"]}}
        return body

    def _read(self, answer: Mapping[str, Any], call: ChatCall, body: Mapping[str, Any]) -> Reply | CallFailure:
        text = "".join(block["text"] for block in answer["content"] if block["type"] == "text")
        usage = answer.get("usage") or {}
        cached = [count_of(usage.get(name)) or 0 for name in ("cache_creation_input_tokens", "cache_read_input_tokens")]
        counted = count_of(usage.get("input_tokens"))
        return Reply(
            text,
            finish_of(answer.get("stop_reason")),
            name_of(answer.get("model")),
            None if counted is None else counted + sum(cached),
            count_of(usage.get("output_tokens")),
            reasoned=has_reasoning(answer),
        )
