"""Make many calls at once, within a budget, through the cache of calls."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.core.formatting import plural
from workbench.llm.base import CallFailure, ChatCall, Reply
from workbench.llm.client import ChatClient

if TYPE_CHECKING:
    from workbench.storage.call_cache import CallCache


@dataclass(frozen=True)
class CallLimits:
    """What a run may spend on calls; None for no limit. A call with all its retries counts once, a cached reply not at all."""

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None


@dataclass(frozen=True)
class Spending:
    """Calls, tokens and money of a run so far."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0


class CallBudget:
    """What a run has spent, shared by its threads. Once a limit is reached, no further call starts; those in flight are finished."""

    def __init__(self, limits: CallLimits | None = None) -> None:
        self.limits = limits or CallLimits()
        self._spent = Spending()
        self._guard = threading.Lock()

    @property
    def spent(self) -> Spending:
        """Return what was spent so far. A call counts from its start, its tokens and cost from its end."""
        with self._guard:
            return self._spent

    def start(self) -> CallFailure | None:
        """Count a call that starts now, or return why it must not start."""
        with self._guard:
            spent, limits = self._spent, self.limits
            for limit, used, name in (
                (limits.calls, spent.calls, plural(limits.calls or 0, "call")),
                (limits.tokens, spent.tokens, plural(limits.tokens or 0, "token")),
                (limits.usd, spent.usd, f"{limits.usd} USD"),
            ):
                if limit is not None and used >= limit:
                    return CallFailure(f"the budget of {name} is spent", kind="budget")
            self._spent = Spending(spent.calls + 1, spent.tokens, spent.usd)
            return None

    def finish(self, tokens: int, usd: float) -> None:
        """Add the tokens and the cost of a call that ended."""
        with self._guard:
            self._spent = Spending(self._spent.calls, self._spent.tokens + tokens, self._spent.usd + usd)


@dataclass(frozen=True)
class CallResources:
    """The cache of calls, None for none, and the budget of the run."""

    cache: "CallCache | None" = None
    budget: CallBudget = field(default_factory=CallBudget)


def ask_all(client: ChatClient, calls: Sequence[ChatCall], resources: CallResources) -> Iterator[tuple[int, Reply | CallFailure]]:
    """Yield the outcome of each call with its place, as they finish; cached replies first. A reply is in the cache before it is yielded.

    Equal calls are made once. Raises ModelError for a fault that all calls share; replies that were finished before are in the cache.
    """
    raise NotImplementedError
