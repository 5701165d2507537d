"""The settings of a chat model, behind an API or in a file, for the components that call one."""

from typing import Any

from pydantic import BaseModel, Field

from workbench.llm.client import ChatClient
from workbench.llm.defaults import client_of
from workbench.llm.providers.local import LocalClient
from workbench.models.gguf import GgufModel


class ChatModel(BaseModel):
    """The settings of a chat model. Provider, model and address that are not set are those of the `RAG_EVAL_*` variables."""

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
    price_input: float | None = Field(default=None, ge=0, allow_inf_nan=False, description="The price of a million tokens of prompts.")
    price_output: float | None = Field(default=None, ge=0, allow_inf_nan=False, description="The price of a million tokens of answers.")

    def client(self) -> ChatClient:
        """Return the client of the provider. Raises InputError if no provider or model is set."""
        return client_of({name: getattr(self, name) for name in ChatModel.model_fields})

    def recorded_settings(self) -> dict[str, Any]:
        """Return every field, with provider, model and address as they are used."""
        client = self.client()
        return self.model_dump(mode="json") | {"provider": client.kind, **client.model_dump(mode="json", include={"model", "base_url"})}


class GgufChatModel(GgufModel):
    """The settings of a chat model in a GGUF file, which is run in this process."""

    def client(self) -> ChatClient:
        """Return the client that runs the file."""
        return LocalClient(path=self.path, context_window=self.context_window, threads=self.threads)
