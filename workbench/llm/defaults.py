"""Fill in settings of chat models from the environment: the variables RAG_EVAL_*."""

import os
from collections.abc import Mapping
from typing import Any

from workbench.core.formatting import meant
from workbench.errors import InputError
from workbench.llm.client import ChatClient
from workbench.llm.registry import CLIENTS

PROVIDER = "RAG_EVAL_PROVIDER"
# Fields that the variables give, by provider. Keys stay in the environment: only the variable's name is a setting.
VARIABLES: Mapping[str, Mapping[str, str]] = {
    "ollama": {"model": "RAG_EVAL_OLLAMA_MODEL", "base_url": "RAG_EVAL_OLLAMA_BASE_URL"},
    "anthropic": {"model": "RAG_EVAL_ANTHROPIC_MODEL"},
    "openai": {"model": "RAG_EVAL_OPENAI_MODEL", "base_url": "RAG_EVAL_OPENAI_BASE_URL"},
}
KEYS: Mapping[str, str] = {"anthropic": "RAG_EVAL_ANTHROPIC_API_KEY", "openai": "RAG_EVAL_OPENAI_API_KEY"}


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
    """Return the value of a variable, or None if it is empty or missing."""
    return os.environ.get(name, "").strip() or None
