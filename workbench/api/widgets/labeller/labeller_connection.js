// Send what the person does, and say when no kernel takes it. The kernel answers every message with a new state.
const PATIENCE = 5000;
const CLOSED = "Not connected to the kernel, so nothing is saved: run the cell again. The labels that were saved are in the file.";
const SILENT = "Not saved yet: the kernel does not answer. It may be busy with another cell. If it was restarted or has ended, run this cell again.";

class KernelConnection {
  constructor(model, root, say) {
    this.model = model;
    this.root = root;
    this.gone = false;
    this.say = say;
    this.timer = null;
    // JupyterLab disconnects a widget when its kernel restarts or ends. A model has no other sign of it that anywidget passes on.
    // JupyterLab marks the widget after this view hears of it.
    this.watched = () => setTimeout(() => this.closed && this.fail(CLOSED), 0);
    this.lost = () => {
      this.gone = true;
      this.fail(CLOSED);
    };
    model.on("comm_live_update", this.watched);
    model.on("comm:close", this.lost);
  }

  get closed() {
    return this.gone || Boolean(this.root.closest(".jupyter-widgets-disconnected"));
  }

  send(message) {
    this.wait();
    if (this.closed) return this.fail(CLOSED);
    try {
      this.model.send(message);
    } catch {
      this.fail(CLOSED);
    }
  }

  wait() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fail(this.closed ? CLOSED : SILENT), PATIENCE);
  }

  answered() {
    clearTimeout(this.timer);
  }

  fail(why) {
    clearTimeout(this.timer);
    this.say(why);
  }

  end() {
    clearTimeout(this.timer);
    this.model.off("comm_live_update", this.watched);
    this.model.off("comm:close", this.lost);
  }
}
