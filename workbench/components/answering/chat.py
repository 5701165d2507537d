"""Answers of a chat model of OpenAI or a compatible server, Anthropic or Ollama."""

from typing import Literal

from workbench.components.answering.prompted import PromptedGenerator
from workbench.llm.models.server import OPENAI_ADDRESS
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, CL100K
from workbench.llm.providers.openai import OpenAIClient
from workbench.llm.registry import ChatModel


class ChatGenerator(ChatModel, PromptedGenerator):
    """A chat model behind an API. Provider, model and address that are not set are those of the `RAG_EVAL_*` variables.

    The tokens of a context are counted in OpenAI's vocabulary cl100k for models of OpenAI, and in that of `@2000t` for others.
    """

    kind: Literal["chat"] = "chat"

    @property
    def vocabulary(self) -> str:
        """Return `cl100k` for models of OpenAI itself, otherwise the vocabulary of `@2000t`."""
        client = self.client()
        return CL100K if isinstance(client, OpenAIClient) and client.address == OPENAI_ADDRESS else BUDGET_VOCABULARY
