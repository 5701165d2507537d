"""A button that copies a text to the clipboard of the reader's browser."""

import anywidget
import traitlets

_SCRIPT = """
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


class CopyButton(anywidget.AnyWidget):
    """A button with a `label` that copies `text`."""

    _esm = _SCRIPT
    label = traitlets.Unicode("Copy").tag(sync=True)
    text = traitlets.Unicode("").tag(sync=True)
