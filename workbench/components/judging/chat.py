"""Judgements of a chat model of OpenAI or a compatible server, Anthropic or Ollama."""

from typing import Literal

from workbench.components.judging.prompted import PromptedJudge
from workbench.llm.registry import ChatModel


class ChatJudge(ChatModel, PromptedJudge):
    """A chat model behind an API that judges. Provider, model and address that are not set are those of the `RAG_EVAL_*` variables."""

    kind: Literal["chat"] = "chat"

    @property
    def label(self) -> str:
        """Name the kind and the model."""
        return f"{self.kind}: {self.recorded_settings()['model']}"
