"""A labeller in a notebook: a thin layer between a session and its view in the browser."""

from abc import abstractmethod
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from workbench.api.widgets.notebook_panel import NotebookPanel
from workbench.core.errors import WorkbenchError, error_line

FOLDER = Path(__file__).with_name("labeller")


def joined(*scripts: Path) -> str:
    """Join scripts to one module: a widget has no address from which its parts could be imported."""
    return "\n".join(script.read_text("utf-8") for script in scripts)


class LabellingPane(anywidget.AnyWidget):
    """The part of a labeller in the browser. It draws `state`, and sends what the person does."""

    _css = FOLDER / "labeller.css"
    state = traitlets.Dict().tag(sync=True)
    # Whether a view has been in the window.
    opened = traitlets.Bool(False).tag(sync=True)


class LabellingPanel(NotebookPanel):
    """A labeller, whose `pane` draws `state`. It begins with a message, which can be an error."""

    # The kinds of messages that change labels, and so the table that a saved notebook keeps.
    _writing: ClassVar[Collection[str]]
    state: dict[str, Any]

    def __init__(self, message: str, error: bool = False) -> None:
        self._drawings = 0
        self._draw(message, error)

    @abstractmethod
    def _new_pane(self) -> LabellingPane: ...

    @abstractmethod
    def _do(self, content: Mapping[str, Any]) -> str:
        """Do what a message of the view asks for, and return a line about it. Raises WorkbenchError if nothing was saved."""

    @abstractmethod
    def _drawn(self, message: str, error: bool) -> dict[str, Any]:
        """Return the values that the pane draws."""

    @cached_property
    def pane(self) -> LabellingPane:
        """The widget, made on first use."""
        pane = self._new_pane()
        pane.on_msg(lambda _, content, __: self.act(content))
        return pane

    def _built(self) -> LabellingPane:
        return self.pane

    def act(self, content: Mapping[str, Any]) -> None:
        """Do what a message of the view asks for, and draw the new state. An error is shown in its place, and nothing is lost."""
        try:
            try:
                self._draw(self._do(content), False)
            except WorkbenchError as problem:
                self._draw(f"Not saved: {error_line(problem)}", True)
        except Exception as problem:  # in the callback of a message it would be lost, and the view would wait
            message = f"Unexpected {error_line(problem)}. What is in the label file is kept; run the cell again."
            self.state = self.state | {"drawing": self._drawings, "message": message, "error": True}
        self.pane.state = self.state
        if content["kind"] in self._writing:
            self._renew()

    def _draw(self, message: str, error: bool) -> None:
        # Numbered, since a state that is equal to the last one would not be sent, and the view waits for it.
        self._drawings += 1
        self.state = self._drawn(message, error) | {"drawing": self._drawings}
