"""Ask a model for structured replies, with the package's prompts, through the cache and the budget of calls."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.answering.prompt_file import fence
from workbench.core.fingerprint import fingerprint
from workbench.core.progress import ProgressBar
from workbench.llm.base import CallFailure, ChatCall, ChatClient, Message, Reply
from workbench.llm.replies.answers import json_reply
from workbench.llm.session import CallResources, ask_all

FACTOID, MULTI_HOP, UNANSWERABLE, ANSWER, REFERENCE = "factoid-1", "multi-hop-1", "unanswerable-1", "answer-1", "reference-1"
_PLACEHOLDER = re.compile(r"\{(passages|question|earlier)\}")

# Characters of a reply in the list of dropped candidates.
_SHOWN = 200


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


class StructuredReply(BaseModel):
    """A JSON object with exactly these fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @classmethod
    def schema_for_calls(cls) -> dict[str, Any]:
        """Return the JSON schema that a reply must fit."""
        return cls.model_json_schema()


class ProposedFactoid(StructuredReply):
    """A question with its answer and the text that answers it."""

    question: str
    answer: str
    quote: str


class ProposedMultiHop(StructuredReply):
    """A question with its answer and the two texts that answer it together."""

    question: str
    answer: str
    first_quote: str
    second_quote: str


class ProposedUnanswerable(StructuredReply):
    """A question that the passage does not answer."""

    question: str


class PassageAnswer(StructuredReply):
    """Whether passages answer a question, the answer, and the text that says so."""

    answerable: bool
    answer: str
    quote: str


class ReferenceAnswer(StructuredReply):
    """Whether documents answer a question, and the reference answer."""

    answerable: bool
    answer: str


R = TypeVar("R", bound=StructuredReply)


def parse_reply(text: str, kind: type[R]) -> R | None:
    """Return the object in a reply, or None if the reply is anything else, also if an object is somewhere in prose."""
    try:
        return kind.model_validate(json_reply(text))
    except ValidationError:
        return None


@dataclass(frozen=True)
class NoReply:
    """Why a call gave nothing: `failed` or `malformed`, keys of the reasons for dropping a candidate, and the detail."""

    reason: str
    detail: str


@dataclass
class Asker:
    """A model with its cache and budget. `failures` counts failed calls by their reason; `model` is the name that the server gave."""

    client: ChatClient
    resources: CallResources
    max_tokens: int
    failures: Counter[str] = field(default_factory=Counter)
    model: str = ""
    cached: int = 0
    spent: bool = False

    def ask(self, prompts: Sequence[Sequence[Message]], kind: type[R], label: str) -> list[R | NoReply]:
        """Return the reply to each prompt, or why there is none, in order."""
        calls = [ChatCall(tuple(messages), self.max_tokens, 0.0, schema=kind.schema_for_calls()) for messages in prompts]
        replies: dict[int, R | NoReply] = {}
        with ProgressBar(total=len(calls), desc=label, unit="call", disable=not calls) as bar:
            for place, outcome in ask_all(self.client, calls, self.resources):
                replies[place] = self._failed(outcome) if isinstance(outcome, CallFailure) else self._parsed(outcome, kind)
                bar.update()
        return [replies[place] for place in range(len(calls))]

    def _parsed(self, reply: Reply, kind: type[R]) -> R | NoReply:
        self.cached, self.model = self.cached + reply.cached, reply.model or self.model
        # A reply that was cut off may still be JSON, but not the one that was meant.
        if reply.finish_reason == "length":
            return NoReply("malformed", f"cut off after {self.max_tokens:,} tokens: {reply.text[:_SHOWN]}")
        return parse_reply(reply.text, kind) or NoReply("malformed", reply.text[:_SHOWN])

    def _failed(self, failure: CallFailure) -> NoReply:
        self.failures[failure.reason] += 1
        self.spent = self.spent or failure.kind == "budget"
        return NoReply("failed", failure.reason)
