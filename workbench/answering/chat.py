"""Answers of a chat model of OpenAI or a compatible server, Anthropic or Ollama."""

from typing import Any, Literal

from pydantic import Field

from workbench.answering.prompted import PromptedGenerator
from workbench.llm.client import ChatClient
from workbench.llm.defaults import client_of
from workbench.llm.providers.openai import OPENAI_ADDRESS, OpenAIClient
from workbench.models.tokenizers import BUDGET_VOCABULARY, CL100K

# The fields that are settings of the client.
_CLIENT = (
    *("provider", "model", "base_url", "api_key_env", "concurrency", "timeout", "retries"),
    *("context_window", "price_input", "price_output"),
)


class ChatGenerator(PromptedGenerator):
    """A chat model behind an API. Provider, model and address that are not set are those of the `RAG_EVAL_*` variables.

    The tokens of a context are counted in OpenAI's vocabulary cl100k for models of OpenAI, and in that of `@2000t` for others.
    """

    kind: Literal["chat"] = "chat"
    provider: str | None = Field(default=None, min_length=1, description="openai, anthropic or ollama. Default: RAG_EVAL_PROVIDER.")
    model: str | None = Field(
        default=None, min_length=1, description="The model's name. Default: RAG_EVAL_OPENAI_MODEL or that of another provider."
    )
    base_url: str | None = Field(
        default=None, min_length=1, description="The server's address. Default: RAG_EVAL_OPENAI_BASE_URL or that of another provider."
    )
    api_key_env: str | None = Field(default=None, min_length=1, description="The environment variable that contains the key.")
    concurrency: int = Field(default=8, ge=1, le=256, description="How many calls are made at once.")
    timeout: float = Field(default=120, gt=0, le=3600, description="The seconds that a try may take in total.")
    retries: int = Field(default=4, ge=0, le=10, description="How often a failed call is tried again.")
    context_window: int | None = Field(default=None, ge=1, description="The tokens that prompt and answer may have together.")
    price_input: float | None = Field(default=None, ge=0, description="The price of a million tokens of prompts.")
    price_output: float | None = Field(default=None, ge=0, description="The price of a million tokens of answers.")

    @property
    def vocabulary(self) -> str:
        """Return `cl100k` for models of OpenAI itself, otherwise the vocabulary of `@2000t`."""
        client = self.client()
        return CL100K if isinstance(client, OpenAIClient) and client.address == OPENAI_ADDRESS else BUDGET_VOCABULARY

    def recorded_settings(self) -> dict[str, Any]:
        """Return every field, with provider, model and address as they are used."""
        client = self.client()
        return self.model_dump(mode="json") | {"provider": client.kind, **client.model_dump(mode="json", include={"model", "base_url"})}

    def client(self) -> ChatClient:
        """Return the client of the provider. Raises InputError if no provider or model is set."""
        return client_of({name: getattr(self, name) for name in _CLIENT})
