// The view of workbench.api.widgets.answer_labeller.AnswerLabeller: it draws `state` and sends what the person does.
class AnswerLabellerView {
  constructor(model, root) {
    this.model = model;
    this.root = root;
    this.body = make("div", {});
    this.status = make("p", { class: "wbl-status", role: "status", "aria-live": "polite" });
    root.append(this.body, this.status);
    root.addEventListener("keydown", (event) => this.key(event));
    this.connection = new KernelConnection(model, root, (why) => this.say(why, true));
  }

  get state() {
    return this.model.get("state");
  }

  end() {
    this.connection.end();
  }

  send(kind, values = {}) {
    this.say("Saving…", false);
    // A key that waits while a label is saved is not for the item that is shown then.
    this.connection.send({ kind, drawing: this.state.drawing, ...values });
  }

  say(text, error) {
    this.status.textContent = text;
    this.status.classList.toggle("wbl-error", error);
  }

  draw() {
    const state = this.state;
    const within = this.root.contains(document.activeElement);
    const focused = within && document.activeElement.getAttribute("data-key");
    const go = (event) => event.key === "Enter" && this.send("go", { place: Number(event.target.value) - 1 });
    const text = (name, words, properties = {}) => words && make("div", { class: "wbl-field" }, make("h4", { text: name }), make("p", { class: "wbl-words", text: words, dir: "auto", ...properties }));
    const passages = state.passages.map((words, place) => make("div", {}, make("p", { class: "wbl-gap", text: `passage ${place + 1}` }), make("div", { class: "wbl-piece", text: words, dir: "auto" })));
    const labels = state.labels.map((label, place) => button(`label-${label}`, `${label} (${place + 1})`, () => this.send("label", { label }), { "aria-pressed": String(label === state.label) }));
    this.body.replaceChildren(
      make("section", { class: "wbl-head" },
        button("previous", "Previous", () => this.send("previous"), { title: "Previous item (k)", disabled: state.place === 0 }),
        make("label", {}, "Item ", make("input", { type: "number", min: 1, max: state.total, value: state.place + 1, "data-key": "go", on: { keydown: go } }), ` of ${state.total}`),
        button("next", "Next", () => this.send("next"), { title: "Next item (j)", disabled: state.place + 1 >= state.total }),
        button("open", "Next without a label", () => this.send("open"), { title: "Next item without a label (o)" }),
        make("progress", { max: state.total, value: state.labelled, "aria-label": "Labelled items" }),
        make("span", { class: "wbl-progress", text: state.progress }),
        make("span", { class: "wbl-annotator", text: state.file }),
      ),
      make("section", { "aria-label": "Item" },
        make("p", { class: "wbl-asked", text: state.question, dir: "auto" }),
        text("Expected answer", state.expected), text("Answer", state.answer), text("Claim of the answer", state.claim, { class: "wbl-words wbl-claim" }),
      ),
      ...(passages.length ? [make("section", {}, make("h4", { text: "Passages that the answer was given" }), make("div", { class: "wbl-pane", tabindex: "0", role: "document", "aria-label": "Passages", "data-key": "pane" }, ...passages))] : []),
      make("section", {}, make("h4", { text: state.asked }), make("div", { class: "wbl-bar", role: "toolbar", "aria-label": "Label" }, ...labels, button("undo", "Undo (u)", () => this.send("undo"), { disabled: !state.undoable }), make("span", { class: "wbl-note", text: state.by && `labelled by ${state.by}` }))),
      make("p", { class: "wbl-note", text: `Keys, after a click here: ${state.labels.map((label, place) => `${place + 1} ${label}`).join(" · ")}, again to remove it · j, k item · o next without a label · u undo. Leave an item without a label only if nobody could decide.` }),
    );
    this.say(state.message, state.error);
    if (within && !this.root.contains(document.activeElement)) {
      const again = focused && [...this.root.querySelectorAll("[data-key]")].find((node) => node.getAttribute("data-key") === focused && !node.disabled);
      (again || this.root).focus({ preventScroll: true });
    }
  }

  key(event) {
    if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
    if (event.target.tagName === "INPUT" || event.ctrlKey || event.altKey || event.metaKey) return;
    const label = this.state.labels[Number(event.key) - 1];
    const actions = { j: "next", k: "previous", o: "open", u: "undo" };
    if (!label && !actions[event.key]) return;
    event.preventDefault();
    if (label) this.send("label", { label });
    else this.send(actions[event.key]);
  }
}

export default { render: ({ model, el }) => present(model, el, "Labeller of answers", AnswerLabellerView) };
