"""Display widgets in a notebook, which leaves readable HTML where no kernel drives them."""

import asyncio
import secrets
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anywidget
import ipywidgets
import traitlets

if TYPE_CHECKING:
    from IPython.display import DisplayHandle

# JupyterLab looks for shortcuts when a key event has bubbled to the document, or, in other versions, while the document captures it, which
# the window does before it. Its selectors match the element with the focus, so that element has the attribute. A click on a text would leave the focus in the cell, where x cuts it and Enter edits it.
_SCRIPT = """
const SUPPRESSED = "data-lm-suppress-shortcuts";
// Ctrl+S, or Cmd+S, and the first key of it.
const saves = (event) => (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && ["s", "control", "meta"].includes(event.key.toLowerCase());
const stop = (event) => saves(event) || event.stopPropagation();
export default {
  render({ el }) {
    const display = (event) => {
      const output = el.closest(".jp-OutputArea-output");
      return output && output.contains(event.target) ? output : null;
    };
    const press = (event) => {
      const output = display(event);
      if (output && !output.hasAttribute("tabindex")) output.tabIndex = -1;
    };
    const click = (event) => {
      const output = display(event);
      if (output && !output.contains(document.activeElement)) (event.target.closest("[tabindex]") ?? output).focus({ preventScroll: true });
    };
    const key = (event) => {
      const output = display(event);
      if (!output) return;
      event.target.toggleAttribute(SUPPRESSED, !saves(event));
      output.addEventListener("keydown", stop);
    };
    const actions = { mousedown: press, click, keydown: key };
    for (const [name, action] of Object.entries(actions)) window.addEventListener(name, action, true);
    return () => {
      for (const [name, action] of Object.entries(actions)) window.removeEventListener(name, action, true);
    };
  },
};
"""
_VIEW = "application/vnd.jupyter.widget-view+json"
_COPY_SCRIPT = """
function render({ model, el }) {
  const button = document.createElement("button");
  const said = document.createElement("span");
  button.type = "button";
  button.className = "jupyter-button";
  said.setAttribute("role", "status");
  said.style.marginLeft = ".6em";
  const name = () => { button.textContent = model.get("label"); };
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(model.get("text"));
      said.textContent = "copied";
    } catch (error) {
      said.textContent = "this browser does not allow it: select the text instead";
    }
  });
  model.on("change:label", name);
  model.on("change:text", () => { said.textContent = ""; });
  name();
  el.append(button, said);
}
export default { render };
"""
# Seconds after the last change until the HTML that a saved notebook keeps is renewed, so that a moving slider does not wait for it.
_RENEWAL_SECONDS = 0.4
# The width of a control that fills a row, without its margin.
WITHIN = "calc(100% - 4px)"


class ShortcutGuard(anywidget.AnyWidget):
    """An invisible part of a display, which has the focus after a click anywhere in it. JupyterLab gets none of its keys but Ctrl+S, which saves.

    The browser gets all of them: Ctrl+C copies the selected text.
    """

    _esm = _SCRIPT


class SavedDisplay:
    """Display a widget, then a static table in a separate output.

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
    """Check that a person can use widgets: papermill and nbconvert execute cells without standard input."""
    from IPython import get_ipython

    shell = get_ipython()
    request = shell.get_parent() if shell is not None and hasattr(shell, "get_parent") else {}
    return bool(request.get("content", {}).get("allow_stdin", False))


class CopyButton(anywidget.AnyWidget):
    """A button with a `label` that copies `text`."""

    _esm = _COPY_SCRIPT
    label = traitlets.Unicode("Copy").tag(sync=True)
    text = traitlets.Unicode("").tag(sync=True)


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
        """The present state as HTML with inline styles and escaped text."""

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
