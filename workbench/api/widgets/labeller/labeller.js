// The view of workbench.api.widgets.labeller.widget.Labeller: it draws `state` and sends what the person does.
class LabellerView {
  constructor(model, root) {
    this.model = model;
    this.root = root;
    this.keyboard = null;
    this.drafts = new TypedDrafts(model);
    // The question that is being rewritten, the field for it, and the question whose field was sent.
    this.rewriting = null;
    this.field = null;
    this.rewritten = null;
    this.parts = {};
    for (const name of ["head", "question", "documents", "reader", "evidence", "answer", "foot"]) {
      this.parts[name] = make("section", { class: `wbl-${name}` });
    }
    this.parts.documents.setAttribute("aria-label", "Documents to judge");
    this.parts.reader.setAttribute("aria-label", "Text");
    this.parts.evidence.setAttribute("aria-label", "Evidence");
    this.parts.answer.setAttribute("aria-label", "Expected answer");
    this.status = make("p", { class: "wbl-status", role: "status", "aria-live": "polite" });
    this.unsaved = make("p", { class: "wbl-unsaved", hidden: true });
    const { head, question, documents, reader, evidence, answer, foot } = this.parts;
    this.adding = new AddedQuestion(this);
    root.append(head, this.unsaved, this.adding.part, question, make("div", { class: "wbl-columns" }, documents, reader), this.status, evidence, answer, foot);
    root.addEventListener("keydown", (event) => this.key(event));
    this.connection = new KernelConnection(model, root, (why) => this.say(why, true));
    // The text has no size before JupyterLab attaches the cell, and loses its place whenever the cell leaves the page.
    this.sized = new ResizeObserver(() => this.settle());
  }

  send(kind, values = {}) {
    this.say("Saving…", false);
    this.connection.send({ kind, ...values });
  }

  say(text, error) {
    this.status.textContent = text;
    this.status.classList.toggle("wbl-error", error);
  }

  end() {
    this.connection.end();
    this.sized.disconnect();
  }

  get state() {
    return this.model.get("state");
  }

  draw() {
    const within = this.root.contains(document.activeElement);
    const focused = within && document.activeElement.getAttribute("data-key");
    const state = this.state;
    this.drawHead(state);
    this.drawQuestion(state);
    this.drawDocuments(state);
    this.drawReader(state);
    this.drawEvidence(state);
    this.drawAnswer(state);
    this.drawFoot(state);
    // Without a question there is nothing to judge, to mark or to answer.
    for (const part of [this.parts.evidence, this.parts.answer, this.parts.reader.querySelector("[aria-label=Judgement]"), this.parts.reader.querySelector("[data-key=mark]")]) part.hidden = !state.query_id;
    this.adding.draw(state);
    this.drawUnsaved();
    this.say(state.message, state.error);
    if (within && !this.root.contains(document.activeElement)) {
      const again = focused && [...this.root.querySelectorAll("[data-key]")].find((node) => node.getAttribute("data-key") === focused && !node.disabled);
      (again || this.pane).focus({ preventScroll: true });
    }
  }

  drawHead(state) {
    const go = (event) => event.key === "Enter" && this.send("go", { place: Number(event.target.value) - 1 });
    this.parts.head.replaceChildren(
      button("previous", "Previous", () => this.send("previous"), { title: "Previous question (p)", disabled: state.place === 0 }),
      make("label", {}, "Question ", make("input", { type: "number", min: 1, max: state.total, value: state.total && state.place + 1, disabled: !state.total, "data-key": "go", on: { keydown: go } }), ` of ${state.total}`),
      button("next", "Next", () => this.send("next"), { title: "Next question (n)", disabled: state.place + 1 >= state.total }),
      button("open", "Next unfinished", () => this.send("open"), { title: "Next question with something to label (o)" }),
      button("add", "Add a question (q)", () => this.adding.begin(), { title: "Add a question that the selected passage answers (q)" }),
      make("progress", { max: state.total, value: state.finished, "aria-label": "Finished questions" }),
      make("span", { class: "wbl-progress", text: state.progress }),
      make("span", { class: "wbl-annotator", text: `labels of ${state.annotator} in ${state.file}` }),
    );
  }

  drawUnsaved() {
    this.unsaved.textContent = this.drafts.said(this.state.query_id);
    this.unsaved.hidden = !this.unsaved.textContent;
  }

  drawQuestion(state) {
    const query = state.query_id;
    const unsaved = this.drafts.of(query, "rewrite");
    if (this.rewritten === query && !state.error && (unsaved === undefined || unsaved.trim() === state.question)) {
      this.drafts.drop(query, "rewrite");
      this.rewriting = null;
    } else if (this.rewriting !== query) this.rewriting = unsaved === undefined ? null : query;
    this.rewritten = null;
    const box = make("input", { type: "checkbox", "data-key": "unanswerable", on: { change: (event) => this.send("answerable", { value: !event.target.checked }) } });
    box.checked = !state.answerable;
    const synthetic = state.synthetic && make("p", { class: "wbl-synthetic" },
      make("span", { text: state.synthetic.text }),
      button("accept", state.synthetic.placeholder ? "The heading asks it (y)" : "Accept (y)", () => this.send("accept", { value: true }), { "aria-pressed": String(state.synthetic.decision === true) }),
      this.rewriting === null && this.rewriteButton(),
      button("refuse", "Refuse (r)", () => this.send("accept", { value: false }), { "aria-pressed": String(state.synthetic.decision === false) }),
    );
    if (!query) {
      this.parts.question.replaceChildren(make("p", { class: "wbl-reason", text: `${sentence(state.reason)}.` }));
      return;
    }
    this.parts.question.replaceChildren(
      this.rewriting === null ? make("p", { class: "wbl-asked", text: state.question, dir: "auto" }) : this.rewriter(state),
      ...(state.original ? [make("p", { class: "wbl-bar wbl-original" },
        make("span", { class: "wbl-note", text: "Your words. In the dataset: " }), make("q", { text: state.original, dir: "auto" }),
        button("restore", "Restore", () => this.send("rewrite", { text: null }), { title: "Restore the text of the dataset" }),
      )] : []),
      make("p", { class: "wbl-reason", text: `${state.query_id}. Why now: ${state.reason}.` }),
      ...(synthetic ? [synthetic] : []),
      ...((this.rewriting === null && !synthetic) || state.removable ? [make("div", { class: "wbl-bar" },
        this.rewriting === null && !synthetic && this.rewriteButton(),
        state.removable && button("remove", "Remove this question", () => this.send("remove"), { title: "Remove the question that you added" }),
      )] : []),
      make("label", { class: "wbl-unanswerable" }, box, " The documents do not answer this question"),
    );
  }

  rewriteButton() {
    return button("rewrite", this.state.synthetic?.placeholder ? "Write the question (w)" : "Rewrite (w)", () => this.rewrite(), { title: "Ask the same in your words (w)" });
  }

  // The text that a rewrite begins with. A placeholder is no question yet.
  asked(state) {
    return state.synthetic?.placeholder ? "" : state.question;
  }

  // A field for the question, which stays open with what is typed in it until the rewrite is saved or given up.
  rewriter(state) {
    const open = this.field && this.field.dataset.query === state.query_id ? this.field : null;
    const area = open || make("textarea", { class: "wbl-asked", rows: 2, "data-key": "rewriting", "data-query": state.query_id, "aria-label": "Question in your words", dir: "auto", value: this.drafts.of(state.query_id, "rewrite") ?? this.asked(state), placeholder: "As your users would ask it" });
    const save = () => { this.rewritten = state.query_id; this.send("rewrite", { text: area.value }); };
    const note = make("span", { class: "wbl-note" });
    const noted = () => this.drafts.note(note, state.query_id, "rewrite", "");
    area.oninput = () => { this.drafts.keep(state.query_id, "rewrite", area.value, state.question); noted(); };
    noted();
    area.onkeydown = (event) => {
      if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
      event.preventDefault();
      if (event.key === "Enter") save();
      else this.giveUp();
    };
    this.field = area;
    return make("div", {}, area, make("div", { class: "wbl-bar" }, button("save-rewrite", "Save (Enter)", save), button("give-up", "Cancel (Esc)", () => this.giveUp()), note));
  }

  rewrite() {
    this.rewriting = this.state.query_id;
    this.field = null;
    this.drawQuestion(this.state);
    this.field.focus();
    this.field.select();
  }

  giveUp() {
    this.drafts.drop(this.state.query_id, "rewrite");
    this.rewriting = null;
    this.drawQuestion(this.state);
    this.pane.focus({ preventScroll: true });
  }

  drawDocuments(state) {
    const rows = state.documents.map((each, place) => make("li", {},
      button(`document-${each.doc_id}`, "", () => this.send("show", { doc_id: each.doc_id }), { "aria-current": each.doc_id === state.current ? "true" : null, class: "wbl-document" }),
    ));
    rows.forEach((row, place) => {
      const each = state.documents[place];
      row.firstChild.append(
        make("span", { class: "wbl-name", text: `${place + 1}. ${each.title}`, dir: "auto" }),
        make("span", { class: each.label ? "wbl-label" : "wbl-label wbl-open", text: each.label || (state.query_id && state.open) }),
      );
    });
    const find = (event) => event.key === "Enter" && this.send("find", { text: event.target.value });
    const found = state.found.map((each) => make("li", {}, button(`found-${each.doc_id}`, each.title, () => this.send("show", { doc_id: each.doc_id }))));
    const list = make("ol", {}, ...rows);
    const scroll = this.list && this.listed === state.query_id ? this.list.scrollTop : 0;
    this.parts.documents.replaceChildren(
      list,
      ...(rows.length ? [] : [make("p", { text: "No configuration found a document. Search for one below." })]),
      make("label", { class: "wbl-find" }, "Other documents ", make("input", { type: "search", placeholder: "id, title or words, then Enter", value: state.sought, "data-key": "find", on: { keydown: find } })),
      ...(found.length ? [make("ul", { class: "wbl-found" }, ...found)] : []),
    );
    [this.list, this.listed] = [list, state.query_id];
    list.scrollTop = scroll;
    this.revealCurrent();
  }

  drawReader(state) {
    const grades = state.grades.map((each) => button(`grade-${each.grade}`, `${each.name} (${each.key})`, () => this.judge(each.grade), { "aria-pressed": String(each.grade === state.grade), disabled: !state.current }));
    const pieces = make("select", { "data-key": "piece", "aria-label": "Piece of evidence" }, ...state.numbers.map((number) => make("option", { value: number, text: `piece ${number}` })));
    if (state.numbers.length) pieces.value = String(state.numbers[state.numbers.length - 1]);
    this.pieces = pieces;
    const bar = make("div", { class: "wbl-bar", role: "toolbar", "aria-label": "Judgement" }, ...grades);
    const marking = make("div", { class: "wbl-bar", role: "toolbar", "aria-label": "Text and evidence" },
      button("whole", state.whole && state.has_passages ? "Passages only (d)" : "Whole document (d)", () => this.send("whole", { on: !state.whole }), { disabled: !state.has_passages }),
      button("mark", "Mark as evidence (e)", () => this.mark(null), { disabled: !state.current }),
      ...(state.numbers.length ? [button("alternative", "Same piece, other words (a)", () => this.mark(Number(this.pieces.value))), pieces] : []),
      ...(state.parts > 1 ? [
        make("span", { class: "wbl-parts" }, button("back", "Earlier text", () => this.send("part", { part: state.part - 1 }), { disabled: state.part === 0 }),
        make("span", { text: `part ${state.part + 1} of ${state.parts}` }),
        button("on", "Later text", () => this.send("part", { part: state.part + 1 }), { disabled: state.part + 1 >= state.parts })),
      ] : []),
    );
    // A click on a button must not clear the selection that it is about.
    for (const part of [marking, this.parts.head]) part.onmousedown = (event) => event.target.tagName === "BUTTON" && event.preventDefault();
    const drawn = JSON.stringify([state.query_id, state.current, state.whole, state.part]);
    const again = this.pane && this.drawn === drawn;
    const scroll = again ? this.scrolled : 0;
    const place = again && this.keyboard ? this.keyboard.place : again ? this.keyboardPlace : null;
    const pane = make("div", { class: "wbl-pane", tabindex: "0", role: "document", "aria-label": `Text of ${state.current || "no document"}`, "data-key": "pane", dir: "auto", on: { keydown: (event) => this.move(event), mouseup: () => setTimeout(() => this.adding.select(), 0), scroll: () => { if (pane.clientHeight) this.scrolled = pane.scrollTop; } } });
    state.pieces.forEach((piece, place) => {
      if (place) pane.append(make("p", { class: "wbl-gap", text: "…" }));
      const block = make("div", { class: "wbl-piece", "data-piece": String(place) });
      for (const each of segments(piece)) {
        const mark = each.over.length > 0;
        const node = make(mark ? "mark" : "span", { text: each.text, "data-start": String(each.start), title: mark ? each.over.map((over) => `piece ${over.piece}`).join(", ") : null });
        if (mark && each.over.some((over) => over.own)) node.classList.add("wbl-own");
        block.append(node);
      }
      pane.append(block);
    });
    this.drawn = drawn;
    this.pane = pane;
    [this.keyboard, this.keyboardPlace] = [null, place];
    this.parts.reader.replaceChildren(make("p", { class: "wbl-title", text: state.title, dir: "auto" }), bar, marking, pane);
    this.scrolled = scroll;
    if (!again) this.unseen = true;
    this.sized.disconnect();
    this.sized.observe(pane);
    this.settle();
  }

  revealCurrent() {
    const current = this.list.querySelector("[aria-current]");
    if (current) this.reveal(this.list, current.getBoundingClientRect());
  }

  // Show the place in the text where the person was, or the evidence in a text that was not shown yet. Waits until the text has a size.
  settle() {
    if (!this.pane.clientHeight) return;
    if (this.pane.scrollTop !== this.scrolled) this.pane.scrollTop = this.scrolled;
    const evidence = this.unseen && this.pane.querySelector("mark");
    if (evidence) {
      this.reveal(this.pane, evidence.getBoundingClientRect());
      this.revealCurrent();
    }
    this.unseen = false;
    this.scrolled = this.pane.scrollTop;
  }

  drawEvidence(state) {
    const rows = state.evidence.map((each) => make("li", {},
      make("span", { class: "wbl-piece-number", text: `piece ${each.piece}` }),
      button(`goto-${each.doc_id}:${each.start}-${each.end}`, `${each.doc_id}:${each.start}-${each.end}`, () => this.send("show", { doc_id: each.doc_id }), { class: "wbl-link" }),
      make("q", { text: each.text, dir: "auto" }),
      make("span", { class: "wbl-note", text: each.own ? "" : "in the dataset" }),
      button(`unmark-${each.doc_id}:${each.start}-${each.end}`, "Remove", () => this.send("unmark", { doc_id: each.doc_id, start: each.start, end: each.end })),
    ));
    this.parts.evidence.replaceChildren(make("h4", { text: "Evidence" }), rows.length ? make("ul", {}, ...rows) : make("p", { class: "wbl-note", text: "Nothing is marked. Select text with the mouse, or focus it and use the arrow keys with Shift, then press e." }));
  }

  drawAnswer(state) {
    const query = state.query_id;
    const typed = this.drafts.of(query, "answer");
    if (typed !== undefined && typed.trim() === state.answer) this.drafts.drop(query, "answer");
    const unsaved = this.drafts.of(query, "answer");
    const focused = document.activeElement && document.activeElement.getAttribute("data-key") === "answer" && this.parts.answer.contains(document.activeElement);
    // A field in which somebody types stays, with its cursor.
    if (focused && this.answered === query && unsaved !== undefined) return;
    this.answered = query;
    const area = make("textarea", { rows: 3, "data-key": "answer", "aria-label": "Expected answer", dir: "auto", value: unsaved ?? state.answer });
    const save = () => this.send("answer", { text: area.value });
    const note = make("span", { class: "wbl-note" });
    const discard = button("discard", "Discard", () => { this.drafts.drop(query, "answer"); this.drawAnswer(this.state); }, { title: "Give up what is not saved" });
    const noted = () => { discard.hidden = !this.drafts.note(note, query, "answer", this.state.answer_note, this.state.answer); };
    area.oninput = () => { this.drafts.keep(query, "answer", area.value, this.state.answer); noted(); };
    noted();
    const offered = state.answers.map((text, place) => make("li", {},
      make("span", { text, dir: "auto" }),
      button(`take-${place}`, "Accept this answer", () => this.send("take", { number: place })),
    ));
    this.parts.answer.replaceChildren(
      make("h4", { text: "Expected answer" }),
      area,
      make("div", { class: "wbl-bar" }, button("save", "Save answer", save), discard, note),
      ...(offered.length ? [make("p", { class: "wbl-note", text: "Answers of the run, in no order:" }), make("ul", {}, ...offered)] : []),
    );
  }

  drawFoot(state) {
    const faults = state.faults.map((text) => make("li", { text }));
    const keys = state.grades.map((each) => `${each.key} ${each.name}`).join(" · ");
    this.parts.foot.replaceChildren(
      button("undo", "Undo (u)", () => this.send("undo"), { disabled: !state.undoable }),
      make("span", { class: "wbl-note", text: `Keys, after a click here: ${keys} · j, k document · n, p, o question · d whole document · arrows, Shift+arrows, e, a evidence · w rewrite · q add a question${state.synthetic ? " · y accept, r refuse" : ""} · u undo` }),
      ...(faults.length ? [make("details", { class: "wbl-faults" }, make("summary", { text: `${faults.length} lines of the file are skipped` }), make("ul", {}, ...faults))] : []),
    );
  }

  judge(grade) {
    const state = this.state;
    if (state.current) this.send("judge", { doc_id: state.current, grade: state.grade === grade ? null : grade });
  }

  step(by) {
    const { documents, current } = this.state;
    const place = documents.findIndex((each) => each.doc_id === current) + by;
    if (place >= 0 && place < documents.length) this.send("show", { doc_id: documents[place].doc_id });
  }

  // The selected code points of the document, or an explanation.
  selected() {
    const selection = document.getSelection();
    if (!selection || !selection.rangeCount || selection.isCollapsed) return { why: "Select text first." };
    const range = selection.getRangeAt(0);
    if (!this.pane.contains(range.startContainer) || !this.pane.contains(range.endContainer)) return { why: "Select text of the document." };
    const start = this.place(range.startContainer, range.startOffset, false);
    const end = this.place(range.endContainer, range.endOffset, true);
    if (!start || !end) return { why: "Select text of the document." };
    if (start.piece !== end.piece) return { why: "Select within one passage, or show the whole document." };
    return { start: start.offset, end: end.offset };
  }

  place(node, offset, end) {
    if (node.nodeType === Node.TEXT_NODE) {
      const segment = node.parentElement.closest("[data-start]");
      const block = node.parentElement.closest("[data-piece]");
      return segment && block && { piece: block.dataset.piece, offset: Number(segment.dataset.start) + pointsBefore(node.data, offset, end) };
    }
    // Between elements: the start of the next text, or the end of the one before.
    const texts = [];
    const walker = document.createTreeWalker(this.pane, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) if (walker.currentNode.parentElement.closest("[data-start]")) texts.push(walker.currentNode);
    const point = document.createRange();
    point.setStart(node, offset);
    const before = texts.filter((text) => point.comparePoint(text, text.length) <= 0);
    const after = texts.filter((text) => point.comparePoint(text, 0) >= 0);
    const near = end ? before[before.length - 1] : after[0];
    return near && this.place(near, end ? near.length : 0, end);
  }

  mark(piece) {
    const found = this.selected();
    if (found.why) {
      this.status.textContent = found.why;
      this.status.classList.add("wbl-error");
      return;
    }
    this.send("mark", { start: found.start, end: found.end, piece });
    document.getSelection().removeAllRanges();
  }

  move(event) {
    this.keyboard = this.keyboard || new PaneKeyboard(this.pane, this.keyboardPlace);
    const box = this.keyboard.move(event);
    if (box) this.reveal(this.pane, box);
  }

  // Scroll a part of the view, and not the notebook, until a box in it is visible.
  reveal(part, box) {
    const frame = part.getBoundingClientRect();
    if (box.top < frame.top) part.scrollTop -= frame.top - box.top + 20;
    if (box.bottom > frame.bottom) part.scrollTop += box.bottom - frame.bottom + 20;
  }

  key(event) {
    const typing = ["INPUT", "TEXTAREA", "SELECT"].includes(event.target.tagName) && event.target.type !== "checkbox";
    if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
    if (typing || event.ctrlKey || event.altKey || event.metaKey) return;
    const grade = this.state.grades.find((each) => each.key === event.key);
    const actions = {
      j: () => this.step(1), k: () => this.step(-1),
      n: () => this.send("next"), p: () => this.send("previous"), o: () => this.send("open"),
      d: () => this.send("whole", { on: !this.state.whole }),
      e: () => this.mark(null), a: () => this.state.numbers.length && this.mark(Number(this.pieces.value)),
      y: () => this.state.synthetic && this.send("accept", { value: true }),
      r: () => this.state.synthetic && this.send("accept", { value: false }),
      w: () => this.state.query_id && this.rewrite(), q: () => this.adding.begin(), u: () => this.send("undo"),
    };
    const action = grade ? () => this.judge(grade.grade) : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }
}

export default { render: ({ model, el }) => present(model, el, "Labeller", LabellerView) };
