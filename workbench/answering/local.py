"""Answers of a chat model in a GGUF file, in this process."""

from typing import Literal

from workbench.answering.prompted import PromptedGenerator
from workbench.llm.client import ChatClient
from workbench.llm.providers.local import LocalClient
from workbench.models.gguf import GgufModel


class LocalGenerator(GgufModel, PromptedGenerator):
    """A chat model in a GGUF file, run by llama.cpp in this process (extra `local`). Questions are answered one after another."""

    kind: Literal["local"] = "local"

    def client(self) -> ChatClient:
        """Return the client that runs the file."""
        return LocalClient(path=self.path, context_window=self.context_window, threads=self.threads)
