"""Answers of a chat model in a GGUF file, in this process."""

from typing import Literal

from pydantic import Field

from workbench.answering.prompted import PromptedGenerator
from workbench.llm.client import ChatClient
from workbench.llm.providers.local import LocalClient


class LocalGenerator(PromptedGenerator):
    """A chat model in a GGUF file, run by llama.cpp in this process (extra `local`). Questions are answered one after another."""

    kind: Literal["local"] = "local"
    path: str = Field(min_length=1, description="The GGUF file; `~` and environment variables are expanded.")
    context_window: int | None = Field(
        default=4096,
        ge=64,
        description="The tokens that prompt and answer may have together; `null`: as many as the model was trained for.",
    )
    threads: int | None = Field(default=None, ge=1, le=512, description="How many cores to use, by default one less than there are.")

    def client(self) -> ChatClient:
        """Return the client that runs the file."""
        return LocalClient(path=self.path, context_window=self.context_window, threads=self.threads)
