"""Judgements of a chat model in a GGUF file, in this process."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from workbench.components.judging.prompted import PromptedJudge
from workbench.components.judging.prompting.prompt_file import ReplyForm
from workbench.llm.registry import GgufChatModel


class LocalJudge(GgufChatModel, PromptedJudge):
    """A chat model in a GGUF file that judges, run by llama.cpp in this process (extra `local`).

    By default its score is the probability of the word yes in reply to a question, which small models decide better than they write JSON.
    """

    kind: Literal["local"] = "local"
    replies: ReplyForm = Field(default="yes_no", description="`json`, or `yes_no` for the log-probabilities of a single word.")

    @property
    def label(self) -> str:
        """Name the kind and the file."""
        return f"{self.kind}: {Path(self.path).name}"
