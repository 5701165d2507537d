// A field for a new question, with the passage that answers it. Both are kept with the texts that are not saved.
const NEW = "a new question";

class AddedQuestion {
  constructor(view) {
    this.view = view;
    this.part = make("section", { class: "wbl-adding", "aria-label": "New question", hidden: true });
    this.field = null;
    // Whether the question was sent, and the next state says how it went.
    this.sent = false;
  }

  get drafts() {
    return this.view.drafts;
  }

  get passage() {
    const kept = this.drafts.of(NEW, "passage");
    return kept ? JSON.parse(kept) : null;
  }

  get open() {
    return this.drafts.of(NEW, "question") !== undefined;
  }

  // Open the field, or take a passage that is selected while it is open.
  begin() {
    const passage = this.selected() ?? this.passage;
    this.drafts.write(NEW, { question: this.drafts.of(NEW, "question") ?? "", ...(passage ? { passage: JSON.stringify(passage) } : {}) });
    this.draw(this.view.state);
    this.field.focus();
  }

  selected() {
    const found = this.view.selected();
    if (found.why) return null;
    return { doc_id: this.view.state.current, start: found.start, end: found.end, text: document.getSelection().toString() };
  }

  select() {
    const passage = this.open && this.selected();
    if (!passage) return;
    this.drafts.write(NEW, { question: this.drafts.of(NEW, "question"), passage: JSON.stringify(passage) });
    this.draw(this.view.state);
  }

  save() {
    this.sent = true;
    const passage = this.passage;
    this.view.send("ask", { text: this.field.value, evidence: passage && { doc_id: passage.doc_id, start: passage.start, end: passage.end } });
  }

  close() {
    this.drafts.write(NEW, {});
    this.draw(this.view.state);
    this.view.pane.focus({ preventScroll: true });
  }

  draw(state) {
    if (this.sent && !state.error) this.drafts.write(NEW, {});
    this.sent = false;
    this.part.hidden = !this.open;
    if (!this.open) {
      this.field = null;
      this.part.replaceChildren();
      return;
    }
    if (!this.field) this.build();
    const passage = this.passage;
    this.evident.replaceChildren(...(passage
      ? [make("span", { class: "wbl-note", text: `Its evidence, in ${passage.doc_id}: ` }), make("q", { text: passage.text, dir: "auto" })]
      : [make("span", { class: "wbl-note", text: "Select the passage that answers it, or mark its evidence afterwards." })]));
  }

  // Built once and kept, so that no state that arrives meanwhile takes the cursor or a click.
  build() {
    const typed = () => this.drafts.write(NEW, { ...this.view.model.get("drafts")[NEW], question: this.field.value });
    this.field = make("textarea", { class: "wbl-asked", rows: 2, "data-key": "adding", "aria-label": "New question", placeholder: "As your users would ask it", dir: "auto", value: this.drafts.of(NEW, "question"), on: { input: typed, keydown: (event) => this.key(event) } });
    this.evident = make("p", { class: "wbl-evident" });
    const bar = make("div", { class: "wbl-bar" }, button("save-added", "Add (Enter)", () => this.save()), button("give-up-added", "Cancel (Esc)", () => this.close()));
    this.part.replaceChildren(make("h4", { text: "New question" }), this.evident, this.field, bar);
  }

  key(event) {
    if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
    event.preventDefault();
    if (event.key === "Enter") this.save();
    else this.close();
  }
}
