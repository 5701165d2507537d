"""A call of a chat model, its outcome, and the base of the clients that make calls."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

from pydantic import Field

from workbench.core.component import Component
from workbench.core.records import LostTries, ModelUse

# Reasons for the end of a reply, by all providers' names of them.
_ENDS: Mapping[str, re.Pattern[str]] = {
    "stop": re.compile(
        r"|none|null|stop(ped)?|stop_(sequence|criteria_met|token|words?)|end(_(turn|of_text|of_sequence|of_turn))?|endoftext|eos(_token(_found)?)?"
        r"|done|complete[d]?|finish(ed)?"
    ),
    "length": re.compile(
        r"(model_)?length(_\w+)?|max_(\w+_)?(tokens?|length|output\w*)|maxtokens|(token|output|error)_limit|limit|model_context_window_exceeded"
    ),
    "content_filter": re.compile(
        r"\w*(filter|safety|sensitive|recitation|prohibited|block|guardrail|moderat|spii|toxic|copyright|censor|refusal|policy_violation)\w*"
    ),
    "tool_calls": re.compile(r"(tool|function)_(calls?|use)"),
}
_NOTHING_LOST = LostTries()
_END_PREFIX = re.compile(r"^(finish|stop|done)_?reason[._]")


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class ChatCall:
    """A request to a chat model. A parameter that is None is not sent.

    `schema` is a JSON schema that the reply must fit. `top_logprobs` asks for the log-probabilities of the first token's alternatives.
    Equal calls with another `repeat` are made again.
    """

    messages: Sequence[Message]
    max_tokens: int
    temperature: float | None = None
    seed: int | None = None
    schema: Mapping[str, Any] | None = None
    top_logprobs: int | None = None
    repeat: int = 0

    @property
    def options(self) -> dict[str, Any]:
        """Return the optional parameters that the call sets, by name."""
        schema = dict(self.schema) if self.schema is not None else None
        named = {"temperature": self.temperature, "seed": self.seed, "schema": schema, "top_logprobs": self.top_logprobs}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Reply:
    """A complete reply of a model. Its `text` is the model's in full from a client, and the answer alone from `ask_all`.

    `finish_reason` is `stop` or `length`; another one says that the reply is no answer. `reasoned` says whether the model reasoned before it answered,
    `unopened` whether only the end of its reasoning was marked. Tokens are those that the server counted, None if it did not. `cost` is in the currency of the
    client's prices, None without prices. `logprobs` has the log-probability of each alternative of the first token, None if the server sent
    none. `dropped` names the parameters that the model does not know. `seconds` is the time of the successful try, `lost` are the tries before it; `cached` says
    whether the reply came from the cache.
    """

    text: str
    finish_reason: str = "stop"
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    logprobs: Mapping[str, float] | None = None
    dropped: tuple[str, ...] = field(default=())
    seconds: float = 0.0
    cached: bool = False
    reasoned: bool = False
    unopened: bool = False
    lost: LostTries = _NOTHING_LOST


@dataclass(frozen=True)
class CallFailure:
    """A call without a usable reply, with the `reason` in one line. Failures are counted by `kind`; `lost` are all tries that may cost something."""

    reason: str
    kind: Literal["server", "timeout", "reply", "refusal", "window", "budget", "key", "request"] = "server"
    lost: LostTries = _NOTHING_LOST


def use_of(reply: Reply) -> dict[str, Any]:
    """Return the fields of `ModelUse` for a result that took one reply."""
    return {field.name: getattr(reply, field.name) for field in fields(ModelUse)}


def lost_tries(uses: Sequence[ModelUse]) -> dict[str, list[Any]]:
    """Return the lost tries of each result and their cost, as JSON values."""
    return {"lost_tries": [use.lost.tries for use in uses], "lost_cost": [use.lost.cost for use in uses]}


def finish_of(value: Any) -> str:
    """Return why a reply ended: `stop`, `length`, `content_filter` or `tool_calls` for every provider's name of it, or another reason in small letters.

    A reply without a reason is complete. Any other reason says that the reply broke off.

    Examples
    --------
    >>> [finish_of(name) for name in ("end_turn", "MAX_TOKENS", "content_filter: sexual", None, "network_error")]
    ['stop', 'length', 'content_filter', 'stop', 'network_error']
    """
    given = str(value or "").strip()
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|[\s-]+", "_", given).lower()
    name = _END_PREFIX.sub("", name).partition(":")[0]
    return next((end for end, names in _ENDS.items() if names.fullmatch(name)), given.lower())


def unfinished(finish: str) -> CallFailure | None:
    """Return why a reply that ended for this reason, as `finish_of` names it, is no answer. None for a complete or a cut one.

    A failure of the kind `server` may not happen again.
    """
    if finish in ("stop", "length"):
        return None
    if finish == "content_filter":
        return CallFailure("the provider's safety filter refused the answer", "refusal")
    if finish == "tool_calls":
        return CallFailure("the model called a tool in place of an answer", "reply")
    return CallFailure(f"the reply broke off ({finish})")


def end_of(finish: Any, message: Mapping[str, Any]) -> str:
    """Return why a message ended, as `finish_of` names it. A message that calls a tool is no answer, whatever the server says."""
    return "tool_calls" if message.get("tool_calls") or message.get("function_call") else finish_of(finish)


class ChatClient(Component, ABC):
    """A chat model. Raise `version` when equal calls begin to get other replies.

    `concurrency`, prices and everything else about how a reply is fetched are not part of `identity`, so they can change without repeating
    calls.
    """

    # The stage of an experiment whose settings errors name.
    stage: ClassVar[str] = "answering"

    concurrency: int = Field(default=8, ge=1, le=256, description="How many calls are made at once.")
    context_window: int | None = Field(default=None, ge=1, description="The tokens that prompt and answer may have together.")
    price_input: float | None = Field(default=None, ge=0, allow_inf_nan=False, description="The price of a million tokens of prompts.")
    price_output: float | None = Field(default=None, ge=0, allow_inf_nan=False, description="The price of a million tokens of answers.")

    @property
    @abstractmethod
    def label(self) -> str:
        """Describe the model for errors."""

    def secrets(self) -> tuple[str, ...]:
        """Return the key that calls are made with. A reply that repeats it is kept without it."""
        return ()

    @property
    def billed(self) -> bool:
        """True if calls may cost money."""
        return False

    @property
    def most_tries(self) -> int:
        """Return how often a call may be sent."""
        return 1

    @property
    def longest_call(self) -> float:
        """Return the seconds after which a call has ended with certainty."""
        return 3600

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return everything that determines a reply besides the call, as canonical JSON: provider, model and version."""

    @abstractmethod
    async def ask(self, call: ChatCall) -> Reply | CallFailure:
        """Make a call, with retries, and count lost ones. Raises ModelError for a fault that every other call would share, such as a wrong key."""

    async def close(self) -> None:
        """Close the connections that the running event loop has opened."""

    def cost(self, input_tokens: int | None, output_tokens: int | None) -> float | None:
        """Return the cost of a call, or None if a price or a count is unknown."""
        if self.price_input is None or self.price_output is None or input_tokens is None or output_tokens is None:
            return None
        return (input_tokens * self.price_input + output_tokens * self.price_output) / 1e6
