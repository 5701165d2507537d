"""A call of a chat model, and its outcome."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal


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


@dataclass(frozen=True)
class Reply:
    """A complete reply of a model. Its `text` is the model's in full from a client, and the answer alone from `ask_all`.

    `finish_reason` is `stop` or `length`; another one says that the reply is no answer. `reasoned` says whether the model reasoned before it answered,
    `unopened` whether only the end of its reasoning was marked. Tokens are those that the server counted, None if it did not. `cost` is in the currency of the
    client's prices, None without prices. `logprobs` has the log-probability of each alternative of the first token, None if the server sent
    none. `dropped` names the parameters that the model does not know. `seconds` is the time of the successful try; `cached` says whether
    the reply came from the cache.
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


@dataclass(frozen=True)
class CallFailure:
    """Why a call has no usable reply, in one line. `kind` is what failures are counted by."""

    reason: str
    kind: Literal["server", "timeout", "reply", "refusal", "window", "budget", "key", "request"] = "server"


@dataclass(frozen=True, kw_only=True)
class ModelUse:
    """What the call of a model cost for a result, if a call was made. Tokens and cost also count if the reply came from the cache."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    model: str = ""
    seconds: float = 0.0
    cached: bool = False

    @property
    def replied(self) -> bool:
        """Return whether a model replied, also if its reply could not be used. Asked again, it would reply the same."""
        return bool(self.model or self.seconds or self.cached)


def use_of(reply: Reply) -> dict[str, Any]:
    """Return the fields of `ModelUse` for a result that took one reply."""
    return {field.name: getattr(reply, field.name) for field in fields(ModelUse)}
