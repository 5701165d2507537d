"""The base of clients of chat models: a call becomes a reply or the reason why there is none."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from pydantic import Field

from workbench.core.component import Component
from workbench.llm.base import CallFailure, ChatCall, Reply


class ChatClient(Component, ABC):
    """A chat model. Raise `version` when equal calls begin to get other replies.

    `concurrency`, prices and everything else about how a reply is fetched are not part of `identity`, so they can change without repeating
    calls.
    """

    # The stage of an experiment whose settings errors name.
    stage: ClassVar[str] = "answering"
    version: ClassVar[int] = 1

    concurrency: int = Field(default=8, ge=1, le=256, description="How many calls are made at once.")
    context_window: int | None = Field(default=None, ge=1, description="The tokens that prompt and answer may have together.")
    price_input: float | None = Field(default=None, ge=0, allow_inf_nan=False, description="The price of a million tokens of prompts.")
    price_output: float | None = Field(default=None, ge=0, allow_inf_nan=False, description="The price of a million tokens of answers.")

    def check(self) -> None:
        """Raise InputError if a file, a package or a key that the settings need is missing. Makes no call."""

    @property
    @abstractmethod
    def label(self) -> str:
        """Describe the model for errors."""

    def secrets(self) -> tuple[str, ...]:
        """Return the key that calls are made with. A reply that repeats it is kept without it."""
        return ()

    @property
    def billed(self) -> bool:
        """Return whether calls may cost money."""
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
