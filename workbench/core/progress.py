"""Progress bars in terminals and notebooks, and lines beside them."""

import sys
from typing import Any

from tqdm.auto import tqdm

_WIDGETS = any(base.__module__ == "tqdm.notebook" for base in tqdm.__mro__)


class ProgressBar(tqdm):  # type: ignore[type-arg]  # tqdm is generic for type checkers only
    """A bar of tqdm that disappears at its end. In a notebook its output is emptied, because a saved notebook has lost the widget."""

    container: Any
    _output: Any = None

    def __init__(self, iterable: Any = None, **options: Any) -> None:
        widget: dict[str, Any] = {"display": False} if _WIDGETS else {}
        super().__init__(iterable, **options, **widget, leave=False)
        if _WIDGETS and not self.disable:
            from IPython.display import display

            self._output = display(self.container, display_id=True)

    def close(self) -> None:
        """Remove the bar."""
        super().close()
        if self._output:
            self._output.update({"text/plain": ""}, raw=True)
            self._output = None


def notice(line: str) -> None:
    """Print a line on stderr, above any progress bar."""
    ProgressBar.write(f"workbench: {line}", file=sys.stderr)
