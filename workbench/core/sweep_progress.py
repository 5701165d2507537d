"""The progress of a whole sweep as a value: what is computed, how much is left, and about how long that takes.

It reads no clock of its own and prints nothing: `core.progress` shows it.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from workbench.core.formatting import in_words, plural

# Shares of an item below which its own speed says little.
_LEAST_SHARE = 0.05
# A shown time rises only if the estimate is this many times larger, so that it does not jump up and down.
_RISE = 1.3


@dataclass
class ItemProgress:
    """Progress of one result, in its unit such as tokens."""

    title: str = ""
    done: float = 0.0
    total: float = 0.0
    unit: str = ""
    began: float = 0.0


@dataclass
class SweepProgress:
    """Results to compute by stage, those that are done with their seconds, and what is computed now.

    `usual` has the seconds that a result of a stage usually takes, until this sweep has measured one. `clock` returns seconds.
    `spent` returns what models have cost, in USD.
    """

    name: str
    clock: Callable[[], float]
    usual: Mapping[str, float] = field(default_factory=dict)
    configurations: int = 0
    finished: int = 0
    spent: Callable[[], float] = lambda: 0.0
    missing: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    item: ItemProgress = field(default_factory=ItemProgress)
    # Called after every change, with whether it is more than a count.
    changed: Callable[[bool], None] = lambda _: None
    _stages: list[tuple[str, float, float]] = field(default_factory=list)
    _shown: float | None = None
    _shown_at: float = 0.0

    def expect(self, missing: Mapping[str, int]) -> None:
        """Set how many results of each stage remain to compute."""
        self.missing = {stage: number for stage, number in missing.items() if number > 0}
        self.changed(True)

    def begin(self, stage: str) -> None:
        """Say that a result of a stage is computed now. It can need others, which are computed within it."""
        self._stages.append((stage, self.clock(), 0.0))
        self.item = ItemProgress(in_words(stage), began=self.clock())
        self.changed(True)

    def end(self, completed: bool = True) -> None:
        """Say that the result begun last is done, or that it failed, and is then no measure of time."""
        stage, began, inside = self._stages.pop()
        took = self.clock() - began
        if self._stages:
            outer, start, within = self._stages[-1]
            self._stages[-1] = (outer, start, within + took)
        if completed:
            self.seconds[stage].append(max(0.0, took - inside))
        self.expect({**self.missing, stage: self.missing.get(stage, 0) - 1})

    def advance(self, title: str, done: float, total: float, unit: str) -> None:
        """Set how far the current result is. Another title begins another count."""
        if title != self.item.title:
            self.item = ItemProgress(title, began=self.clock())
        self.item.done, self.item.total, self.item.unit = done, total, unit
        self.changed(False)

    @property
    def speed(self) -> float | None:
        """Return how many units a second the current result does, or None before it has done any."""
        elapsed = self.clock() - self.item.began
        return self.item.done / elapsed if self.item.done and elapsed > 0 else None

    def seconds_left(self) -> float | None:
        """Estimate the seconds until the end, or return None while some stage that remains has no known time. Above 0 while work remains."""
        if not self.missing and not self._stages:
            return 0.0
        current = self._stages[-1][0] if self._stages else None
        left = 0.0
        for stage, number in self.missing.items():
            known = self.seconds.get(stage)
            each = sum(known) / len(known) if known else self.usual.get(stage)
            own = self._left_of_current(each) if stage == current else 0.0
            if own is None or (each is None and number > (stage == current)):
                return None
            left += own + (each or 0.0) * (number - (stage == current))
        return max(left, 1.0)

    def _left_of_current(self, each: float | None) -> float | None:
        """Estimate the seconds of the result that is computed now, by its own speed, or else by that of others."""
        share = self.item.done / self.item.total if self.item.total else 0.0
        if share >= _LEAST_SHARE:
            return (self.clock() - self.item.began) * (1 - share) / share
        return None if each is None else max(0.0, each - (self.clock() - self._stages[-1][1]))

    def shown_seconds(self) -> float | None:
        """Return the seconds left as they are shown: they pass with the clock, and rise only if the estimate is much larger."""
        estimate, now = self.seconds_left(), self.clock()
        if estimate is None:
            self._shown = None
            return None
        expected = None if self._shown is None else max(1.0, self._shown - (now - self._shown_at))
        self._shown = estimate if expected is None or estimate < expected or estimate > expected * _RISE else expected
        self._shown_at = now
        return self._shown

    def line(self) -> str:
        """Return the progress in words."""
        parts = [f"{self.name}: {self.finished}/{plural(self.configurations, 'configuration')}"]
        item, speed = self.item, self.speed
        if item.title:
            counted = f" {item.done:,.0f}/{item.total:,.0f} {item.unit}" if item.total else ""
            parts.append(item.title + counted)
        if speed and item.unit:
            parts.append(f"{speed:,.0f} {item.unit}/s" if speed >= 10 else f"{speed:.1f} {item.unit}/s")
        if left := self.shown_seconds():
            parts.append(f"{time_left(left)} left")
        if (usd := self.spent()) > 0:
            parts.append(f"{usd:.2f} USD")
        return " · ".join(parts)


def time_left(seconds: float) -> str:
    """Return seconds in words, as exactly as an estimate deserves."""
    if seconds < 60:
        return f"about {max(5, 5 * round(seconds / 5))} s"
    return f"about {round(seconds / 60)} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
