// Text that a person has typed for a question and not saved. It is kept in the kernel with the model, so that it is there after a reload.
class TypedDrafts {
  constructor(model) {
    this.model = model;
  }

  of(query, kind) {
    return this.model.get("drafts")[query]?.[kind];
  }

  // Keep a text, unless it is what is saved: then nothing is unsaved.
  keep(query, kind, text, saved) {
    if (text.trim() === saved.trim()) return this.drop(query, kind);
    if (this.of(query, kind) !== text) this.write(query, { ...this.model.get("drafts")[query], [kind]: text });
  }

  drop(query, kind) {
    if (this.of(query, kind) === undefined) return;
    const { [kind]: dropped, ...others } = this.model.get("drafts")[query];
    this.write(query, others);
  }

  write(query, texts) {
    const { [query]: before, ...others } = this.model.get("drafts");
    this.model.set("drafts", Object.keys(texts).length ? { ...others, [query]: texts } : others);
    this.model.save_changes();
  }

  // Say in a node whether the text of a field is saved, and return whether it is not.
  note(node, query, kind, otherwise, saved = "") {
    const unsaved = this.of(query, kind) !== undefined;
    node.textContent = unsaved ? `not saved yet${saved ? `; saved: ${saved}` : ""}` : otherwise;
    node.classList.toggle("wbl-unsaved", unsaved);
    return unsaved;
  }

  // What is said about the texts that are not saved, in this question and in others.
  said(query) {
    const others = Object.keys(this.model.get("drafts")).filter((each) => each !== query);
    return others.length ? `Not saved yet: text that you typed for ${others.join(", ")}.` : "";
  }
}
