// Keep the labeller in view when Run All goes on to the last cell, until the notebook is done or the person does something.
const REST = 1000;
const PERSON = ["wheel", "pointerdown", "keydown", "touchstart"];

class OpeningView {
  constructor(model, root) {
    this.root = root;
    this.leave = () => this.end();
    this.timer = null;
    // Once for each execution: a page that is loaded again opens where the person was.
    if (model.get("opened")) return;
    model.set("opened", true);
    model.save_changes();
    for (const name of PERSON) window.addEventListener(name, this.leave, true);
    this.last = performance.now();
    this.timer = setInterval(() => this.follow(), 100);
  }

  follow() {
    const status = this.root.closest(".jp-NotebookPanel")?.querySelector(".jp-Notebook-ExecutionIndicator")?.dataset.status;
    if (status === "busy") this.last = performance.now();
    else if (performance.now() - this.last > REST) return this.end();
    const panel = this.root.closest(".jp-WindowedPanel-outer");
    if (!panel || !this.root.clientHeight) return;
    const [frame, box] = [panel.getBoundingClientRect(), this.root.getBoundingClientRect()];
    if (box.top < frame.top || box.height > frame.height) panel.scrollTop += box.top - frame.top;
    else if (box.bottom > frame.bottom) panel.scrollTop += box.bottom - frame.bottom;
  }

  end() {
    clearInterval(this.timer);
    for (const name of PERSON) window.removeEventListener(name, this.leave, true);
  }
}

// Show a view, draw every new state, and return what ends it. A click on any text gives the labeller the focus, and so its keys.
function present(model, el, label, View) {
  const root = make("div", { class: "wbl", role: "group", "aria-label": label, tabindex: "-1" });
  el.append(root);
  const view = new View(model, root);
  const opening = new OpeningView(model, root);
  const draw = () => {
    view.connection.answered();
    view.draw();
  };
  view.draw();
  view.connection.watched();
  model.on("change:state", draw);
  return () => {
    model.off("change:state", draw);
    view.end();
    opening.end();
  };
}
