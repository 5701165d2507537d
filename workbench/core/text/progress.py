"""Progress bars in terminals and notebooks, and lines above them. During a sweep, one bar shows the progress of the whole sweep."""

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from shutil import get_terminal_size
from typing import Any

from tqdm.auto import tqdm

from workbench.core.text.formatting import in_words, plural, shortened
from workbench.core.text.printable import printable_line

_SEPARATOR = " · "
# The most of the experiment's name in a line of a terminal, and the least of what is computed.
_NAME, _TITLE = 24, 8
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
    `spent` returns what models have cost, in USD. `best` is the best score so far, in words. `live`: whether a terminal shows the line, so that
    finished configurations need none; `verbose`: whether the times of their stages are asked for.
    """

    name: str
    clock: Callable[[], float]
    usual: Mapping[str, float] = field(default_factory=dict)
    configurations: int = 0
    finished: int = 0
    spent: Callable[[], float] = lambda: 0.0
    best: str = ""
    live: bool = False
    verbose: bool = False
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
        if left := self.shown_seconds():
            parts.append(f"{time_left(left)} left")
        if self.best:
            parts.append(f"best {self.best}")
        item, speed = self.item, self.speed
        if item.title:
            counted = f" {item.done:,.0f}/{item.total:,.0f} {item.unit}" if item.total else ""
            parts.append(item.title + counted)
        if speed and item.unit:
            parts.append(f"{speed:,.0f} {item.unit}/s" if speed >= 10 else f"{speed:.1f} {item.unit}/s")
        if (usd := self.spent()) > 0:
            parts.append(f"{usd:.2f} USD")
        return _SEPARATOR.join(parts)

    def live_line(self, width: int) -> str:
        """Return the progress in one line of a terminal. Long names are cut, so that it has the time left and the best score, too."""
        left, best = self.shown_seconds(), self.best.rpartition(" ")[2]
        name = shortened([self.name], _NAME)[self.name]
        parts = [f"{name} {self.finished}/{self.configurations}", f"{time_left(left)} left" if left else "", f"best {best}" if best else ""]
        line = _SEPARATOR.join(filter(None, parts))
        share = f" {self.item.done / self.item.total:.0%}" if self.item.total else ""
        room = width - len(line) - len(_SEPARATOR) - len(share)
        title = shortened([self.item.title], room)[self.item.title] if room >= _TITLE else ""
        return f"{line}{_SEPARATOR}{title}{share}" if title else line[:width]


def time_left(seconds: float) -> str:
    """Return seconds in words, as exactly as an estimate deserves."""
    if seconds < 60:
        return f"about {max(5, 5 * round(seconds / 5))} s"
    return f"about {round(seconds / 60)} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


# How a sweep shows its progress: `auto` in terminals and notebooks, `log` as a line now and then, `none` not at all.
PROGRESS = "WORKBENCH_PROGRESS"
_MODES = ("auto", "log", "none")
_refused_modes: set[str] = set()
_LOG_SECONDS = 30.0
_REDRAW_SECONDS = 0.1
# The sweep that runs in this process. Bars are made far below the code that runs it.
_sweeps: list[SweepProgress] = []
_WIDGETS = any(base.__module__ == "tqdm.notebook" for base in tqdm.__mro__)


class ProgressBar(tqdm):  # type: ignore[type-arg]  # tqdm is generic for type checkers only
    """A bar of tqdm that disappears at its end, and that only a terminal or a notebook shows, so that logs have none.

    In a notebook its output is emptied at the end, because a saved notebook has lost the widget.
    """

    container: Any
    # The line that a notebook keeps in place of the bar.
    last_line = ""
    _output: Any = None
    _sweep: SweepProgress | None = None
    _part: tuple[str, float, str] = ("", 0.0, "")
    _done = 0.0

    def __init__(self, iterable: Any = None, **options: Any) -> None:
        widget: dict[str, Any] = {"display": False} if _WIDGETS else {}
        if options.get("desc"):
            options["desc"] = printable_line(options["desc"])
        if _sweeps and not options.pop("alone", False) and not options.get("disable"):
            self._sweep, options["disable"] = _sweeps[-1], True
            unit = options.get("unit", "")
            self._part = (options.get("desc") or "", float(options.get("total") or 0), "tokens" if unit == "tok" else unit)
            self._sweep.advance(self._part[0], 0, self._part[1], self._part[2])
        options.pop("alone", None)
        # With None, tqdm shows a bar only in a terminal, which a notebook is not.
        if not _WIDGETS and not options.get("disable"):
            options["disable"] = None
        super().__init__(iterable, **options, **widget, leave=False)
        if _WIDGETS and not self.disable:
            from IPython.display import display

            self._output = display(self.container, display_id=True)

    def update(self, n: float | None = 1) -> bool | None:
        """Count, here or in the progress of the sweep."""
        if self._sweep:
            self._done += n or 0
            title, total, unit = self._part
            self._sweep.advance(title, self._done, total, unit)
        return super().update(n)

    def set_description_str(self, desc: str | None = None, refresh: bool | None = True) -> None:
        super().set_description_str(printable_line(desc or ""), refresh)

    def close(self) -> None:
        super().close()
        if self._output:
            self._output.update({"text/plain": self.last_line}, raw=True)
            self._output = None


def say_above(line: str) -> None:
    """Print a line above all bars, with visible control characters and without secrets."""
    tqdm.write(printable_line(line))


def notice(line: str) -> None:
    """Print a line on stderr, above all bars, with visible control characters and without secrets."""
    tqdm.write(f"workbench: {printable_line(line)}", file=sys.stderr)


def notice_line(line: str) -> None:
    """Print a line on stderr, above all bars, as `core.terminal.say_aside` does without bars."""
    tqdm.write(printable_line(line), file=sys.stderr)


def current_sweep() -> SweepProgress | None:
    """Return the progress of the sweep that runs in this process."""
    return _sweeps[-1] if _sweeps else None


@contextmanager
def sweep_progress(name: str, verbose: bool = False) -> Iterator[SweepProgress]:
    """Show the progress of a sweep on one line until the block ends, also with an error.

    Terminals and notebooks have a bar, and a notebook keeps a line of it. Elsewhere nothing is printed, or with WORKBENCH_PROGRESS=log a line
    every half minute.
    """
    progress, mode = SweepProgress(printable_line(name), time.monotonic, verbose=verbose), _mode()
    began = logged = drawn = time.monotonic()
    with ProgressBar(
        total=1,
        bar_format="{desc} |{bar:10}|" if _WIDGETS else "{desc}",
        dynamic_ncols=True,
        alone=True,
        disable=mode != "auto",
        desc=f"{name}: reading the dataset",
    ) as bar:

        def show(important: bool) -> None:
            nonlocal logged, drawn
            now = time.monotonic()
            if mode == "log" and now - logged >= _LOG_SECONDS:
                logged = now
                notice(progress.line())
            elif not bar.disable and (important or now - drawn >= _REDRAW_SECONDS):
                drawn = now
                bar.total = max(progress.configurations, 1)
                bar.n = progress.finished
                bar.set_description_str(progress.live_line(get_terminal_size().columns - 1) if progress.live else progress.line())

        progress.changed, progress.live = show, not (bar.disable or _WIDGETS)
        _sweeps.append(progress)
        try:
            yield progress
        finally:
            _sweeps.remove(progress)
            bar.last_line = (
                f"{progress.name}: {progress.finished} of {progress.configurations} configurations in {time.monotonic() - began:.0f} s"
            )


def _mode() -> str:
    """Return how progress is shown. Another value of the variable than those that it has is said once, and counts as `auto`."""
    mode = os.environ.get(PROGRESS) or _MODES[0]
    if mode in _MODES:
        return mode
    if mode not in _refused_modes:
        _refused_modes.add(mode)
        notice(f"{PROGRESS}={mode} is not one of {', '.join(_MODES)}; progress is shown as with {_MODES[0]}")
    return _MODES[0]


@contextmanager
def reporting(stage: str) -> Iterator[None]:
    """Report a result of a stage, which the block computes, to the progress of the sweep."""
    progress, completed = current_sweep(), False
    if progress:
        progress.begin(stage)
    try:
        yield
        completed = True
    finally:
        if progress:
            progress.end(completed)
