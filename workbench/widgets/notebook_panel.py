"""A panel of controls in a notebook, which leaves readable HTML where no kernel drives it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import ipywidgets


class NotebookPanel(ABC):
    """An object whose display in a notebook is `widget`. Put `widget` into any ipywidgets container to make it a part of a larger view.

    A saved notebook also has `static_html`, for readers without a kernel.
    """

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

    def _repr_html_(self) -> str:
        return self.static_html

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Mapping[str, Any]:
        live: Mapping[str, Any] = self.widget._repr_mimebundle_() or {}
        return {**live, "text/html": self.static_html, "text/plain": repr(self)}
