"""Prompts of generators: a message for the system, one for the user, and one that asks without passages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.core.records import Passage
from workbench.llm.base import Message
from workbench.llm.prompt_files import PromptLayout, filled, names_in, read_prompt

PROMPTS = Path(__file__).with_name("prompts")
_LAYOUT = PromptLayout((("system", ()), ("user", ("passages", "question")), ("closed book", ("question",))))
# In place of passages where retrieval found none.
_NO_PASSAGES = "(no passages)"
_BACKTICKS = re.compile(r"`{3,}")


@dataclass(frozen=True)
class Prompt:
    """A message for the system, which may be empty, one for the user, and one for questions that are asked without passages."""

    system: str
    user: str
    closed_book: str = "{question}"

    def messages(self, question: str, passages: Sequence[Passage]) -> tuple[Message, ...]:
        """Return the messages for a question with its passages, of which there may be none."""
        fenced = "\n\n".join(fence(number, passage.text) for number, passage in enumerate(passages, 1))
        user = Message("user", filled(self.user, question=question, passages=fenced or _NO_PASSAGES))
        return (Message("system", self.system), user) if self.system else (user,)

    def closed_book_messages(self, question: str) -> tuple[Message, ...]:
        """Return the messages that ask for what the model knows by itself."""
        return (Message("user", filled(self.closed_book, question=question)),)


def fence(number: int, text: str) -> str:
    """Return a passage with its number, between fences that its text does not contain."""
    marks = "`" * max([3, *(len(run) + 1 for run in _BACKTICKS.findall(text))])
    return f"[{number}]\n{marks}\n{text}\n{marks}"


def prompt_of(name: str) -> Prompt:
    """Return a prompt of the package by its name, such as `cited-1`, or that of a file by its path. Raises InputError for a bad one."""
    sections = read_prompt(name, PROMPTS, _LAYOUT, prompt_names())
    return Prompt(sections.get("system", ""), sections["user"], sections.get("closed book", Prompt.closed_book))


def prompt_names() -> tuple[str, ...]:
    """Return the names of the prompts in the package, sorted."""
    return names_in(PROMPTS)
