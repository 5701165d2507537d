"""Ask a model for structured replies, with the package's prompts, through the cache and the budget of calls."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.components.answering.prompt_file import fence
from workbench.core.fingerprint import fingerprint
from workbench.core.text.progress import ProgressBar
from workbench.llm.base import CallFailure, ChatCall, ChatClient, Message, Reply
from workbench.llm.prompt_files import filled
from workbench.llm.replies.answers import json_reply
from workbench.llm.session import CallResources, ask_all

FACTOID, MULTI_HOP, UNANSWERABLE, ANSWER, REFERENCE = "factoid-1", "multi-hop-1", "unanswerable-1", "answer-1", "reference-1"
# Characters of a reply in the list of dropped candidates.
_SHOWN = 200


@cache
def prompt_template(name: str) -> tuple[str, str]:
    """Return the messages of a prompt of the package for the system and the user, with placeholders."""
    text = Path(__file__).with_name("prompts").joinpath(f"{name}.txt").read_text("utf-8")
    system, user = text.removeprefix("[system]\n").split("\n[user]\n")
    return system.strip(), user.strip()


def prompt_digest(name: str) -> str:
    """Return a hash of both messages of a prompt."""
    return fingerprint(*prompt_template(name))


def prompt_messages(name: str, passages: Sequence[str], question: str = "", earlier: Sequence[str] = ()) -> tuple[Message, ...]:
    """Return the messages of a prompt with numbered passages, each between fences that its text does not contain."""
    system, user = prompt_template(name)
    texts = {
        "passages": "\n\n".join(fence(number, text) for number, text in enumerate(passages, 1)) or "(no passages)",
        "question": question,
        "earlier": "\n".join(f"- {' '.join(text.split())}" for text in earlier) or "(none)",
    }
    return Message("system", system), Message("user", filled(user, **texts))


class StructuredReply(BaseModel):
    """A JSON object with exactly these fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


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


class PassageReply(StructuredReply):
    """An answer from passages, with the text that says so."""

    answerable: bool
    answer: str
    quote: str


class ReferenceReply(StructuredReply):
    """A reference answer from documents."""

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
class FailedCall:
    """The reason why a call has no usable reply: `failed` or `malformed`, keys of the reasons for dropping a candidate, and the detail."""

    reason: str
    detail: str


@dataclass
class CachedModel:
    """A chat model with its cache and budget. `failures` counts failed calls by their reason; `name` is the name that the server gave."""

    client: ChatClient
    resources: CallResources
    max_tokens: int
    failures: Counter[str] = field(default_factory=Counter)
    name: str = ""
    cached: int = 0
    spent: bool = False

    def ask(self, prompts: Sequence[Sequence[Message]], kind: type[R], label: str) -> list[R | FailedCall]:
        """Return the reply to each prompt, or the failed call, in order."""
        calls = [ChatCall(tuple(messages), self.max_tokens, 0.0, schema=kind.model_json_schema()) for messages in prompts]
        replies: dict[int, R | FailedCall] = {}
        with ProgressBar(total=len(calls), desc=label, unit="call", disable=not calls) as bar:
            for index, outcome in ask_all(self.client, calls, self.resources):
                replies[index] = self._failed(outcome) if isinstance(outcome, CallFailure) else self._parsed(outcome, kind)
                bar.update()
        return [replies[index] for index in range(len(calls))]

    def _parsed(self, reply: Reply, kind: type[R]) -> R | FailedCall:
        self.cached, self.name = self.cached + reply.cached, reply.model or self.name
        # A reply that was cut off may still be JSON, but not the one that was meant.
        if reply.finish_reason == "length":
            return FailedCall("malformed", f"cut off after {self.max_tokens:,} tokens: {reply.text[:_SHOWN]}")
        return parse_reply(reply.text, kind) or FailedCall("malformed", reply.text[:_SHOWN])

    def _failed(self, failure: CallFailure) -> FailedCall:
        self.failures[failure.reason] += 1
        self.spent = self.spent or failure.kind == "budget"
        return FailedCall("failed", failure.reason)
