"""The chat model that writes the texts which a server asks its client for (MCP sampling)."""

from abc import ABC, abstractmethod
from typing import Any, Literal

from pydantic import Field

from workbench.core.component import Component
from workbench.llm.base import ChatClient
from workbench.llm.registry import ChatModel, GgufChatModel


class SamplingModel(Component, ABC):
    """A chat model that serves the requests of a server. The server chooses the prompt, and by default the temperature."""

    max_tokens: int = Field(default=1024, ge=1, le=1_000_000, description="The most tokens of a reply. A server can ask for fewer.")
    temperature: float | None = Field(
        default=None, ge=0, le=2, description="The sampling temperature; by default what the server asks for."
    )
    most_calls: int = Field(default=20, ge=1, le=1000, description="How many texts the server can ask for while it serves one request.")
    most_characters: int = Field(
        default=200_000, ge=1, description="The most characters of a prompt. A longer one is not sent to the model."
    )

    @abstractmethod
    def client(self) -> ChatClient:
        """Return the client of the model."""

    def identity(self) -> dict[str, Any]:
        """Return everything that determines replies and their cost: the model, its prices and the settings of calls."""
        client = self.client()
        return {
            "client": client.identity(),
            "call": [self.max_tokens, self.temperature, self.most_calls, self.most_characters],
            "prices": [client.price_input, client.price_output],
        }


class ChatSampling(ChatModel, SamplingModel):
    """A chat model behind an API. Provider, model and address that are not set are those of the `RAG_EVAL_*` variables."""

    kind: Literal["chat"] = "chat"


class LocalSampling(GgufChatModel, SamplingModel):
    """A chat model in a GGUF file, run by llama.cpp in this process (extra `local`)."""

    kind: Literal["local"] = "local"
