"""The prompts of the generation: a file for each version, with a message for the system and one for the user."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from workbench.answering.prompt_file import fence
from workbench.core.fingerprint import fingerprint
from workbench.llm.base import Message

FACTOID, MULTI_HOP, UNANSWERABLE, ANSWER, REFERENCE = "factoid-1", "multi-hop-1", "unanswerable-1", "answer-1", "reference-1"
_PLACEHOLDER = re.compile(r"\{(passages|question|earlier)\}")


@dataclass(frozen=True)
class GenerationPrompt:
    """A prompt of the package. `digest` identifies its content."""

    name: str
    system: str
    user: str

    @property
    def digest(self) -> str:
        """Return a hash of both messages."""
        return fingerprint(self.system, self.user)

    def messages(self, passages: Sequence[str], question: str = "", earlier: Sequence[str] = ()) -> tuple[Message, ...]:
        """Return the messages with numbered passages, each between fences that its text does not contain."""
        values = {
            "passages": "\n\n".join(fence(number, text) for number, text in enumerate(passages, 1)) or "(no passages)",
            "question": question,
            "earlier": "\n".join(f"- {' '.join(text.split())}" for text in earlier) or "(none)",
        }
        # All placeholders at once, so that one in a passage stays as it is.
        return Message("system", self.system), Message("user", _PLACEHOLDER.sub(lambda match: values[match[1]], self.user))


@cache
def prompt_named(name: str) -> GenerationPrompt:
    """Return a prompt of the package."""
    text = (files("workbench.generation") / "prompts" / f"{name}.txt").read_text("utf-8")
    system, user = text.removeprefix("[system]\n").split("\n[user]\n")
    return GenerationPrompt(name, system.strip(), user.strip())
