"""Answers of a chat model in a GGUF file, in this process."""

from typing import Literal

from workbench.components.answering.prompted import PromptedGenerator
from workbench.llm.registry import GgufChatModel


class LocalGenerator(GgufChatModel, PromptedGenerator):
    """A chat model in a GGUF file, run by llama.cpp in this process (extra `local`). Questions are answered one after another."""

    kind: Literal["local"] = "local"
