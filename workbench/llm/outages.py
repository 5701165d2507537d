"""Notice that a server is down, so that a run does not wait for the retries of every call."""

import threading
from dataclasses import dataclass

from workbench.llm.base import CallFailure, Reply

_FEWEST, _ROUNDS = 20, 3
_SIGNS = ("server", "timeout")


@dataclass
class Outage:
    """How many calls of a client have failed in a row, after all of their tries. After `limit` of them no further call starts."""

    limit: int
    failed: int = 0
    last: str = ""

    @classmethod
    def of(cls, concurrency: int, doubtful: bool = False) -> "Outage":
        """Return the state at the start of a session. After an outage, calls that start at once find out whether it is over."""
        limit = max(_FEWEST, _ROUNDS * concurrency)
        return cls(limit, limit - 1 if doubtful else 0)

    @property
    def lasts(self) -> bool:
        """Return whether the server is taken to be down."""
        return self.failed >= self.limit

    def failure(self) -> CallFailure | None:
        """Return why a call must not start, or None."""
        return CallFailure(f"not asked because the calls before it failed: {self.last}") if self.lasts else None

    def note(self, outcome: Reply | CallFailure) -> None:
        """Count a call that failed, or begin again after one that the server answered."""
        if isinstance(outcome, CallFailure) and outcome.kind in _SIGNS:
            self.failed, self.last = self.failed + 1, outcome.reason
        else:
            self.failed = 0


class OutageRecord:
    """The clients, by their identities, whose last session ended in an outage. Shared by the threads of a run."""

    def __init__(self) -> None:
        self._down: set[str] = set()
        self._guard = threading.Lock()

    def begin(self, client: str, concurrency: int) -> Outage:
        """Return the state for a session."""
        with self._guard:
            return Outage.of(concurrency, client in self._down)

    def end(self, client: str, outage: Outage) -> None:
        """Remember how a session ended."""
        with self._guard:
            (self._down.add if outage.lasts else self._down.discard)(client)
