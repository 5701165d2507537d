"""Keep a notebook's shortcuts away from a display, also after a click on its text."""

import anywidget

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


class ShortcutGuard(anywidget.AnyWidget):
    """An invisible part of a display, which has the focus after a click anywhere in it. JupyterLab gets none of its keys but Ctrl+S, which saves.

    The browser gets all of them: Ctrl+C copies the selected text.
    """

    _esm = _SCRIPT
