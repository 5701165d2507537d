"""Progress bars in terminals and notebooks, and lines above them. During a sweep, one bar shows what all of them report."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm.auto import tqdm

from workbench.core.sweep_progress import SweepProgress
from workbench.printable import printable_line

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
        """Set the text beside the bar."""
        super().set_description_str(printable_line(desc or ""), refresh)

    def close(self) -> None:
        """Remove the bar."""
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
def sweep_progress(name: str) -> Iterator[SweepProgress]:
    """Show the progress of a sweep on one line until the block ends, also with an error.

    Terminals and notebooks have a bar, and a notebook keeps a line of it. Elsewhere nothing is printed, or with WORKBENCH_PROGRESS=log a line
    every half minute.
    """
    progress, mode = SweepProgress(printable_line(name), time.monotonic), _mode()
    began = logged = drawn = time.monotonic()
    with ProgressBar(
        total=1, bar_format="{desc} |{bar:10}|", dynamic_ncols=True, alone=True, disable=mode != "auto", desc=f"{name}: reading the dataset"
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
                bar.set_description_str(progress.line())

        progress.changed = show
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
