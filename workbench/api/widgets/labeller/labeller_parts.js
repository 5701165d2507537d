// The parts of the labeller's view: widget.py joins the files labeller*.js to one module.
// Every text is set as text, never as HTML. Offsets are code points of the document: JavaScript counts UTF-16 units.

const codePoints = (text) => Array.from(text);

// The number of code points before a UTF-16 offset. Inside a pair, the start of a selection moves back and the end forward.
function pointsBefore(text, offset, end) {
  const inside = offset > 0 && offset < text.length && /[\uD800-\uDBFF]/.test(text[offset - 1]) && /[\uDC00-\uDFFF]/.test(text[offset]);
  return codePoints(text.slice(0, inside ? offset + (end ? 1 : -1) : offset)).length;
}

function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name === "on") for (const [event, action] of Object.entries(value)) node.addEventListener(event, action);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter(Boolean));
  return node;
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const button = (key, text, action, properties = {}) =>
  make("button", { type: "button", "data-key": key, text, on: { click: action }, ...properties });

// The segments of a piece of text, cut where a mark begins or ends.
function segments(piece) {
  const points = codePoints(piece.text);
  const edges = new Set([0, points.length]);
  for (const mark of piece.marks) {
    for (const edge of [mark.start - piece.start, mark.end - piece.start]) if (edge > 0 && edge < points.length) edges.add(edge);
  }
  const sorted = [...edges].sort((a, b) => a - b);
  return sorted.slice(0, -1).map((from, place) => {
    const to = sorted[place + 1];
    const over = piece.marks.filter((mark) => mark.start - piece.start < to && mark.end - piece.start > from);
    return { start: piece.start + from, text: points.slice(from, to).join(""), over };
  });
}
