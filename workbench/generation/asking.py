"""Ask the model for structured replies, through the cache and the budget of calls."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from workbench.core.progress import ProgressBar
from workbench.generation.replies import R, parse_reply
from workbench.llm.base import CallFailure, ChatCall, Message, Reply
from workbench.llm.client import ChatClient
from workbench.llm.session import CallResources, ask_all

# Characters of a reply in the list of dropped candidates.
_SHOWN = 200


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
