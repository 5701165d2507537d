"""The clients that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from collections.abc import Mapping

from workbench.core.registry import Registry
from workbench.llm.client import ChatClient
from workbench.llm.providers.anthropic import AnthropicClient
from workbench.llm.providers.ollama import OllamaClient
from workbench.llm.providers.openai import OpenAIClient

_BUILTIN: dict[str, type[ChatClient]] = {"openai": OpenAIClient, "anthropic": AnthropicClient, "ollama": OllamaClient}
CLIENTS: Mapping[str, type[ChatClient]] = Registry(_BUILTIN, "workbench.clients", ChatClient)
