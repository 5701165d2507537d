"""The clients of chat models that an experiment can name, and their settings, which the variables RAG_EVAL_* complete.

To add a client, write its file and add a line here, or declare an entry point elsewhere.
"""

import os
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from workbench.core.errors import InputError
from workbench.core.registry import Registry, components
from workbench.core.text.formatting import meant
from workbench.llm.base import ChatClient
from workbench.llm.models.gguf import GgufModel
from workbench.llm.providers.anthropic import AnthropicClient
from workbench.llm.providers.local import LocalClient
from workbench.llm.providers.ollama import OllamaClient
from workbench.llm.providers.openai import OpenAIClient

PROVIDER = "RAG_EVAL_PROVIDER"
# Fields that the variables give, by provider. Keys stay in the environment: only the variable's name is a setting.
VARIABLES: Mapping[str, Mapping[str, str]] = {
    "ollama": {"model": "RAG_EVAL_OLLAMA_MODEL", "base_url": "RAG_EVAL_OLLAMA_BASE_URL"},
    "anthropic": {"model": "RAG_EVAL_ANTHROPIC_MODEL"},
    "openai": {"model": "RAG_EVAL_OPENAI_MODEL", "base_url": "RAG_EVAL_OPENAI_BASE_URL"},
}
KEYS: Mapping[str, str] = {"anthropic": "RAG_EVAL_ANTHROPIC_API_KEY", "openai": "RAG_EVAL_OPENAI_API_KEY"}

CLIENTS: Registry[type[ChatClient]] = components(ChatClient, "workbench.clients", OpenAIClient, AnthropicClient, OllamaClient)


def provider_of(settings: Mapping[str, Any]) -> str | None:
    """Return the provider of the settings, or RAG_EVAL_PROVIDER, or None. Raises InputError for an unknown one."""
    provider = settings.get("provider") or _variable(PROVIDER)
    if provider is not None and provider not in CLIENTS:
        origin = "provider" if settings.get("provider") else PROVIDER
        raise InputError(f"{origin} is {provider!r}{meant(str(provider), CLIENTS)}", f"choose one of {', '.join(sorted(CLIENTS))}")
    return provider


def client_of(settings: Mapping[str, Any]) -> ChatClient:
    """Return the client with these settings, which are its fields and `provider`. Where one is None or missing, the environment gives it.

    RAG_EVAL_OPENAI_API_KEY and RAG_EVAL_ANTHROPIC_API_KEY precede the usual variables unless `api_key_env` names one.

    Raises
    ------
    InputError
        If provider or model are given nowhere, or a setting does not fit the provider.

    Examples
    --------
    >>> client_of({"provider": "ollama", "model": "qwen3:4b", "base_url": "http://localhost:11434"}).label
    "answering 'ollama': qwen3:4b at http://localhost:11434"
    """
    provider = provider_of(settings)
    if provider is None:
        raise InputError("no provider of chat models is set", f"set provider to one of {', '.join(sorted(CLIENTS))}, or {PROVIDER}")
    fields = {name: value for name, value in settings.items() if value is not None and name != "provider"}
    for field, variable in VARIABLES.get(provider, {}).items():
        if field not in fields and (value := _variable(variable)):
            fields[field] = value
    if provider in KEYS and "api_key_env" not in fields and _variable(KEYS[provider]):
        fields["api_key_env"] = KEYS[provider]
    if "model" not in fields and "model" in CLIENTS[provider].model_fields:
        hint = f", or {VARIABLES[provider]['model']}" if provider in VARIABLES else ""
        raise InputError(f"no model of the provider {provider!r} is set", f"set model{hint}")
    return CLIENTS[provider](kind=provider, **fields)


def _variable(name: str) -> str | None:
    return os.environ.get(name, "").strip() or None


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
        return LocalClient(path=self.path, context_window=self.context_window, threads=self.threads)
