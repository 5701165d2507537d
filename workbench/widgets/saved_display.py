"""A display whose saved form is a static table: a notebook opened without a kernel shows the table in place of the controls."""

import secrets
from typing import TYPE_CHECKING, Any

import ipywidgets

from workbench.widgets.shortcut_guard import ShortcutGuard

if TYPE_CHECKING:
    from IPython.display import DisplayHandle

_VIEW = "application/vnd.jupyter.widget-view+json"


class SavedDisplay:
    """Display a widget, then a static table in an output of its own.

    The widget contains a style that hides the table, so that it appears only where the widget does not: without a kernel, in an untrusted copy, and in
    an export. The output with the table has a style that hides "Loading widget…" in the one before. Papermill and nbconvert execute without a
    person, so they get the table alone.
    """

    def __init__(self) -> None:
        self._mark = f"workbench-{secrets.token_hex(8)}"
        self._handle: DisplayHandle | None = None

    @property
    def unseen(self) -> ipywidgets.Box:
        """The part of the widget that hides the table while the widget is alive, and keeps the notebook's shortcuts from its controls."""
        output = f".jp-OutputArea-child:has(.{self._mark}):not(:has(.{self._mark}-alive))"
        value = f'<style class="{self._mark}-alive">.{self._mark},{output}{{display:none!important}}</style>'
        return ipywidgets.Box([ipywidgets.HTML(value), ShortcutGuard()], layout={"display": "none"})

    def display(self, widget: ipywidgets.Widget, table: str, name: str) -> None:
        """Display the widget and the table, or the table alone where nobody can use the widget."""
        from IPython.display import display

        if not attended():
            display_table(table, name)
            return
        view = widget._repr_mimebundle_()
        bundle: dict[str, Any] = view[0] if isinstance(view, tuple) else view
        display({_VIEW: bundle[_VIEW], "text/html": "", "text/plain": name}, raw=True)
        self._handle = display({"text/html": self._marked(table), "text/plain": ""}, raw=True, display_id=True)

    def update(self, table: str) -> None:
        """Replace the table that a saved notebook keeps."""
        if self._handle is not None:
            self._handle.update({"text/html": self._marked(table), "text/plain": ""}, raw=True)

    def _marked(self, table: str) -> str:
        # A widget that is not there is a text without elements.
        unrendered = f".jp-OutputArea-child:has(+ .jp-OutputArea-child .{self._mark}) .jp-OutputArea-output:not(:has(> *))"
        return f'<style>{unrendered}{{display:none}}</style><div class="{self._mark}">{table}</div>'


def display_table(table: str, name: str) -> None:
    """Display the table alone."""
    from IPython.display import display

    display({"text/html": table, "text/plain": name}, raw=True)


def attended() -> bool:
    """Whether a person can use widgets: papermill and nbconvert execute cells without standard input."""
    from IPython import get_ipython

    shell = get_ipython()
    request = shell.get_parent() if shell is not None and hasattr(shell, "get_parent") else {}
    return bool(request.get("content", {}).get("allow_stdin", False))
