"""Keep a notebook's one-letter shortcuts away from the controls of a display."""

import anywidget

# JupyterLab looks for shortcuts while the document captures a key event, which the window does before it. Its selectors match the element with the
# focus, so that element has the attribute.
_SCRIPT = """
const SUPPRESSED = "data-lm-suppress-shortcuts";
export default {
  render({ el }) {
    const guard = (event) => {
      const output = el.closest(".jp-OutputArea-output");
      if (output && output.contains(event.target)) event.target.toggleAttribute(SUPPRESSED, !(event.ctrlKey || event.altKey || event.metaKey));
    };
    window.addEventListener("keydown", guard, true);
    return () => window.removeEventListener("keydown", guard, true);
  },
};
"""


class ShortcutGuard(anywidget.AnyWidget):
    """An invisible part of a display in whose controls d, d does not delete the cell. Keys with Ctrl, Alt or Cmd still act on the notebook."""

    _esm = _SCRIPT
