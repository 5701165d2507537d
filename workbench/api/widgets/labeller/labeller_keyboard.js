// Select text of the pane by keyboard: left and right move by a word, up and down by a sentence, and with Shift they extend the selection.
// A word has its text node, the UTF-16 offsets in it, and whether a sentence `ends` with it.
const MOVES = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
const SENTENCE_END = /[.!?:]["')\]]*$/u;
// A blank line, or a line that begins a list, a table or a heading.
const BLOCK_END = /^[^\S\n]*\n\s*(?:\n|[-*#>|+]|\d+[.)])/u;

class PaneKeyboard {
  // `place` is where the keyboard was in the same text before it was drawn again.
  constructor(pane, place = null) {
    this.pane = pane;
    this.words = this.findWords();
    // Where the selection began, and its end that moves: numbers of words.
    this.anchor = this.word = place && this.at(place);
    // Whether the selection was given up when the text was drawn again.
    this.resting = this.word !== null;
    this.whole = false;
  }

  // The place of the word that moves: its piece, and its offset in the document.
  get place() {
    if (this.word === null) return null;
    const { node, start } = this.words[this.word];
    const segment = node.parentElement.closest("[data-start]");
    return { piece: segment.closest("[data-piece]").dataset.piece, offset: Number(segment.dataset.start) + pointsBefore(node.data, start, false) };
  }

  at({ piece, offset }) {
    const segments = [...this.pane.querySelectorAll(`[data-piece="${piece}"] [data-start]`)].filter((each) => Number(each.dataset.start) <= offset);
    const segment = segments[segments.length - 1];
    if (!segment) return null;
    const within = codePoints(segment.textContent).slice(0, offset - Number(segment.dataset.start)).join("").length;
    const found = this.words.findIndex((word) => segment.contains(word.node) && word.end > within);
    return found < 0 ? null : found;
  }

  findWords() {
    const words = [];
    for (const block of this.pane.querySelectorAll("[data-piece]")) {
      const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const node = walker.currentNode;
        if (!node.parentElement.closest("[data-start]")) continue;
        for (const match of node.data.matchAll(/\S+/gu)) {
          const end = match.index + match[0].length;
          words.push({ node, start: match.index, end, ends: SENTENCE_END.test(match[0]) || BLOCK_END.test(node.data.slice(end, end + 200)) });
        }
      }
      if (words.length) words[words.length - 1].ends = true;
    }
    return words;
  }

  box(place) {
    const range = document.createRange();
    range.setStart(this.words[place].node, this.words[place].start);
    range.setEnd(this.words[place].node, this.words[place].end);
    return range.getBoundingClientRect();
  }

  // The first word of the evidence in view, else of the first sentence in view, else the first word in view.
  first() {
    const frame = this.pane.getBoundingClientRect();
    const seen = this.words.map((_, place) => place).filter((place) => {
      const box = this.box(place);
      return box.top >= frame.top && box.bottom <= frame.bottom;
    });
    const begins = (place) => place === 0 || this.words[place - 1].ends;
    const evident = seen.find((place) => this.words[place].node.parentElement.closest("mark"));
    return evident ?? seen.find(begins) ?? seen[0] ?? 0;
  }

  begin(place) {
    while (place > 0 && !this.words[place - 1].ends) place -= 1;
    return place;
  }

  end(place) {
    while (place < this.words.length - 1 && !this.words[place].ends) place += 1;
    return place;
  }

  // Without Shift, up and down go to the first word of a sentence. With it, whole sentences join or leave the selection.
  sentence(by, extend) {
    const { anchor, word } = this;
    if (by > 0 && extend && word >= anchor) return this.end(this.words[word].ends && (word > anchor || this.whole) ? word + 1 : word);
    if (by > 0) return extend ? Math.min(anchor, this.end(word) + 1) : this.end(word) + 1;
    if (!extend || word <= anchor) return this.begin(word - 1);
    return Math.max(anchor, this.begin(word) - 1);
  }

  // Move or extend the selection, and return the box of the word that moved. `null` if there is no word, or the key is for others.
  move(event) {
    if (!MOVES.includes(event.key) || event.ctrlKey || event.altKey || event.metaKey) return null;
    event.preventDefault();
    event.stopPropagation();
    const last = this.words.length - 1;
    if (last < 0) return null;
    const by = event.key === "ArrowLeft" || event.key === "ArrowUp" ? -1 : 1;
    const lines = event.key === "ArrowUp" || event.key === "ArrowDown";
    const extend = event.shiftKey;
    const fresh = this.word === null;
    if (fresh) this.word = this.anchor = this.first();
    if (this.resting && extend && event.key === "ArrowDown") this.word = this.anchor = Math.min(this.end(this.word) + 1, last);
    this.resting = false;
    if (!fresh || (extend && lines)) {
      const next = lines ? this.sentence(by, extend) : this.word + by;
      // A sentence of one word is whole once Shift has taken it.
      this.whole = extend && lines;
      this.word = Math.min(Math.max(next, 0), last);
    }
    if (!extend) this.anchor = this.word;
    const [a, b] = [this.words[Math.min(this.anchor, this.word)], this.words[Math.max(this.anchor, this.word)]];
    document.getSelection().setBaseAndExtent(a.node, a.start, b.node, b.end);
    return this.box(this.word);
  }
}
