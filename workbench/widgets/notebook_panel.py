"""A panel of controls in a notebook, which leaves readable HTML where no kernel drives it."""

import asyncio
from abc import ABC, abstractmethod
from functools import cached_property

import ipywidgets

from workbench.widgets.saved_display import SavedDisplay, attended, display_table

# Seconds after the last change until the HTML that a saved notebook keeps is renewed, so that a moving slider does not wait for it.
_RENEWAL_SECONDS = 0.4
# The width of a control in a row of its own, without its margin.
WITHIN = "calc(100% - 4px)"


class NotebookPanel(ABC):
    """An object whose display in a notebook is `widget`. Put `widget` into any ipywidgets container to make it a part of a larger view.

    A saved notebook has `static_html` in its place, and so has a notebook that papermill or nbconvert executes.
    """

    _saved: SavedDisplay | None = None
    _renewal: asyncio.TimerHandle | None = None

    @cached_property
    def widget(self) -> ipywidgets.DOMWidget:
        """The live view, made on first use."""
        return self._built()

    @property
    @abstractmethod
    def static_html(self) -> str:
        """What the panel shows now, as HTML with inline styles and escaped text."""

    @abstractmethod
    def _built(self) -> ipywidgets.DOMWidget: ...

    def changed(self) -> None:
        """Renew the HTML that a saved notebook keeps, once the panel has not changed for a moment."""
        if self._saved is None:
            return
        if self._renewal is not None:
            self._renewal.cancel()
        self._renewal = asyncio.get_running_loop().call_later(_RENEWAL_SECONDS, self._renew)

    def _renew(self) -> None:
        if self._saved is not None:
            self._saved.update(self.static_html)

    def _repr_html_(self) -> str:
        return self.static_html

    def _ipython_display_(self) -> None:
        if not attended():
            display_table(self.static_html, repr(self))
            return
        self._saved = SavedDisplay()
        self._saved.display(ipywidgets.VBox([self._saved.unseen, self.widget]), self.static_html, repr(self))


def fitted(html: str) -> str:
    """Wrap the HTML of a control so that a wide table scrolls within it, and text has the line height of text."""
    return f'<div style="width:0;min-width:100%;line-height:1.5">{html}</div>'
