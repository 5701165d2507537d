"""Progress bars in terminals and notebooks, and lines above them."""

import sys
from typing import Any

from tqdm.auto import tqdm

from workbench.printable import printable_line

_WIDGETS = any(base.__module__ == "tqdm.notebook" for base in tqdm.__mro__)


class ProgressBar(tqdm):  # type: ignore[type-arg]  # tqdm is generic for type checkers only
    """A bar of tqdm that disappears at its end, and that only a terminal or a notebook shows, so that logs have none.

    In a notebook its output is emptied at the end, because a saved notebook has lost the widget.
    """

    container: Any
    _output: Any = None

    def __init__(self, iterable: Any = None, **options: Any) -> None:
        widget: dict[str, Any] = {"display": False} if _WIDGETS else {}
        if options.get("desc"):
            options["desc"] = printable_line(options["desc"])
        # With None, tqdm shows a bar only in a terminal, which a notebook is not.
        if not _WIDGETS and not options.get("disable"):
            options["disable"] = None
        super().__init__(iterable, **options, **widget, leave=False)
        if _WIDGETS and not self.disable:
            from IPython.display import display

            self._output = display(self.container, display_id=True)

    def set_description_str(self, desc: str | None = None, refresh: bool | None = True) -> None:
        """Set the text beside the bar."""
        super().set_description_str(printable_line(desc or ""), refresh)

    def close(self) -> None:
        """Remove the bar."""
        super().close()
        if self._output:
            self._output.update({"text/plain": ""}, raw=True)
            self._output = None


def say_above(line: str) -> None:
    """Print a line above all bars, with visible control characters and without secrets."""
    tqdm.write(printable_line(line))


def notice(line: str) -> None:
    """Print a line on stderr, above all bars, with visible control characters and without secrets."""
    tqdm.write(f"workbench: {printable_line(line)}", file=sys.stderr)
