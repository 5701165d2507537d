// The questions, one by one, for any two configurations. The address is the state: #q=…&a=…&b=…. All text is set as text, never as markup.
const FIRST = 50;
const SAME = 1e-9;
const ROW = 19;
const QUOTED = 220;
const IN_WORDS = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const inWords = (number) => IN_WORDS[number] ?? number.toLocaleString("en");
const listed = (names) => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);
const minus = (text) => text.replace("-", "−");

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function grouped(flat, size) {
  const rows = [];
  for (let at = 0; at < flat.length; at += size) rows.push(flat.slice(at, at + size));
  return rows;
}

function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function prepared(data) {
  for (const query of data.queries) {
    query.words = `${query.i} ${query.t} ${Object.values(query.s).join(" ")}`.toLowerCase();
    query.fields = Object.fromEntries(Object.entries(query.s).map(([name, value]) => [name.toLowerCase(), value.toLowerCase()]));
  }
  const names = [...new Set(data.queries.flatMap((query) => Object.keys(query.s)))];
  // A field that is the same for all questions says nothing about one of them.
  data.varying = names.filter((name) => data.queries.length === 1 || new Set(data.queries.map((query) => query.s[name])).size > 1);
  const values = data.queries.flatMap((query) => query.v).filter((value) => value !== null);
  data.low = Math.min(0, ...values);
  data.high = Math.max(data.low + 1e-9, 1, ...values);
  data.number = (value) => (value === null ? "–" : minus(value.toFixed(data.digits)));
  data.signed = (value) => (value === null ? "–" : `${value > 0 ? "+" : ""}${minus(value.toFixed(data.digits))}`);
  data.states = data.states.map(([phrase, fate, ...ranks]) => ({ phrase, fate: ["delivered", "part", "missed", "unknown"][fate], ranks }));
  data.letter = data.unit === "document" ? "D" : "E";
  return data;
}

// What tells the two configurations apart, or their names if that is nothing.
function labelsOf(data, a, b) {
  const apart = data.settings.filter((texts) => texts[a] !== texts[b]);
  const label = (place) => apart.map((texts) => texts[place]).filter(Boolean).join(" · ");
  return a !== b && label(a) && label(b) ? [label(a), label(b)] : [data.short[a], data.short[b]];
}

// Which of the two is ahead in a question (1, -1 or 0), by how much, and why the other is behind. Null without a value.
function compared(data, query, a, b) {
  const [first, second] = [query.v[a], query.v[b]];
  if (first === null || second === null) return { query, gap: null, ahead: null, cause: -1 };
  const gap = first - second;
  const ahead = Math.abs(gap) <= SAME ? 0 : Math.sign(gap) * data.better;
  return { query, gap, ahead, cause: ahead ? query.c[ahead > 0 ? b : a] : -1 };
}

function matches(query, wanted) {
  return wanted.every(([, field, quoted, value, word]) => {
    if (!field) return query.words.includes((word ?? "").toLowerCase());
    return query.fields[field.toLowerCase()] === (quoted ?? value).toLowerCase();
  });
}

// Words, ids, and fields as type=table or domain="human resources".
const searched = (text) => [...text.matchAll(/([\w-]+)=(?:"([^"]*)"|(\S+))|(\S+)/g)];

const addressOf = (data, state, id = state.open) => {
  const address = new URLSearchParams(id === null ? {} : { q: id });
  if (data.configurations.length > 1) [["a", state.a], ["b", state.b]].forEach(([key, place]) => address.set(key, data.configurations[place]));
  return `#${address}`;
};

// The groups of questions to list, each with its name and whether a question belongs to it.
function groupsOf(data, state) {
  const missed = (place) => (row) => row.query.c[place] >= 0;
  const one = state.a === state.b;
  return [
    one ? ["misses something", missed(state.a)] : ["differ", (row) => row.ahead],
    ...(one ? [] : [["both miss", (row) => missed(state.a)(row) && missed(state.b)(row)]]),
    ["not answerable", (row) => row.query.u],
    ["all", () => true],
  ];
}

function scatter(data, state, rows, labels) {
  const size = 150;
  const at = (value) => (size * (value - data.low)) / (data.high - data.low);
  const points = new Map();
  for (const row of rows.filter((each) => each.ahead !== null)) {
    const [x, y] = [22 + at(row.query.v[state.b]), 172 - at(row.query.v[state.a])].map((value) => value.toFixed(1));
    const point = points.get(`${x} ${y}`) ?? { x, y, ahead: row.ahead, queries: [] };
    point.queries.push(row.query);
    points.set(`${x} ${y}`, point);
  }
  const circles = [...points.values()].map(({ x, y, ahead, queries }) => {
    const kind = ahead > 0 ? "side-a" : ahead < 0 ? "side-b" : "side-none";
    const title = queries.length > 1 ? several(queries.length, "question") : `${queries[0].i}: ${queries[0].t}`;
    const opened = queries.some((query) => query.i === state.open) ? " opened" : "";
    const radius = Math.min(9, 2.6 + Math.sqrt(queries.length)).toFixed(1);
    return draw("circle", { cx: x, cy: y, r: radius, class: kind + opened, "data-open": queries[0].i }, draw("title", {}, title));
  });
  const short = (text) => (text.length > 22 ? `${text.slice(0, 21)}…` : text);
  const svg = draw("svg", { viewBox: "0 0 190 196", class: "scatter", role: "img", "aria-label": `The value of each question: ${labels[0]} upwards, ${labels[1]} to the right.` },
    draw("rect", { x: 22, y: 22, width: size, height: size, class: "box" }), draw("line", { x1: 22, y1: 172, x2: 172, y2: 22, class: "equal" }), ...circles,
    draw("text", { x: 97, y: 190, "text-anchor": "middle" }, short(labels[1])), draw("text", { x: 12, y: 97, "text-anchor": "middle", transform: "rotate(-90 12 97)" }, short(labels[0])));
  svg.addEventListener("click", (event) => { if (event.target.dataset?.open) state.go(event.target.dataset.open); });
  return svg;
}

const causeCounts = (data, rows) => {
  const counts = new Map();
  for (const { cause } of rows) counts.set(cause, (counts.get(cause) ?? 0) + 1);
  return [...counts].sort((first, second) => second[1] - first[1]).map(([cause, count]) => [data.causes.at(cause), count]);
};

// How many questions each is ahead on, and why the other is behind.
function counts(data, state, rows, labels) {
  const sides = [1, -1].map((side) => rows.filter((row) => row.ahead === side));
  const equal = rows.filter((row) => row.ahead === 0).length;
  const without = rows.filter((row) => row.ahead === null);
  const unanswerable = without.filter((row) => row.query.u).length;
  const differ = sides[0].length + sides[1].length;
  const reasons = causeCounts(data, [...sides[0], ...sides[1]]);
  const because = (place) => (reasons.length > 1 && sides[place].length
    ? [make("span", { class: "note below" }, `${labels[1 - place]}: ${causeCounts(data, sides[place]).map(([words, count]) => `${words} ${count}`).join(", ")}`)] : []);
  const line = (key, count, text, ...more) => make("p", {}, make("span", { class: key, "aria-hidden": "true" }), make("b", {}, count.toLocaleString("en")), ` ${text}`, ...more);
  const difference = data.differences[`${Math.min(state.a, state.b)},${Math.max(state.a, state.b)}`];
  return make("div", {},
    line("key-a", sides[0].length, `${labels[0]} ahead`, ...because(0)), line("key-b", sides[1].length, `${labels[1]} ahead`, ...because(1)), line("key-none", equal, "equal"),
    reasons.length === 1 && differ > 1 ? make("p", { class: "note" }, `All ${differ} differ for one reason: ${reasons[0][0]}.`) : "",
    without.length ? make("p", { class: "note" }, [unanswerable ? `${unanswerable} not answerable` : "", without.length > unanswerable ? `${without.length - unanswerable} without a value` : ""].filter(Boolean).join(", ")) : "",
    difference ? make("p", { class: "note" }, `Mean difference, ${labels[state.a < state.b ? 0 : 1]} minus ${labels[state.a < state.b ? 1 : 0]}: ${difference}`) : "");
}

function dumbbell(data, query, state, labels) {
  const at = (value) => `${(6 + (88 * (value - data.low)) / (data.high - data.low)).toFixed(1)}%`;
  const [first, second] = [query.v[state.a], query.v[state.b]];
  const one = state.a === state.b;
  const label = one ? data.number(first) : `${labels[0]} ${data.number(first)}, ${labels[1]} ${data.number(second)}`;
  const marks = [draw("line", { x1: "6%", x2: "94%", y1: 8, y2: 8, class: "track" })];
  if (first !== null && second !== null) marks.push(draw("line", { x1: at(first), x2: at(second), y1: 8, y2: 8, class: "link" }));
  if (second !== null && !one) marks.push(draw("rect", { x: at(second), y: 4, width: 8, height: 8, transform: "translate(-4 0)", class: "side-b" }));
  if (first !== null) marks.push(draw("circle", { cx: at(first), cy: 8, r: 4, class: "side-a" }));
  return draw("svg", { class: "dumbbell", height: 16, role: "img", "aria-label": label }, ...marks);
}

function listItem(data, state, row, labels) {
  const { query, gap } = row;
  const link = make("a", { href: addressOf(data, state, query.i), "data-id": query.i },
    make("span", { class: "question-text", dir: "auto", title: query.t }, query.t || query.i), dumbbell(data, query, state, labels),
    make("span", { class: "number" }, state.a === state.b ? data.number(query.v[state.a]) : data.signed(gap)));
  return make("li", {}, link);
}

// A stretch of a document as (text, is evidence) parts. Places count code points, not the units of a string.
function pieces(data, doc, start, end, evidence) {
  const stretch = data.documents[doc]?.[1].findLast(([from]) => from <= start);
  if (!stretch) return [];
  const letters = (stretch[2] ??= [...stretch[1]]);
  const marks = evidence.filter(([of, low, high]) => of === doc && low < end && high > start);
  const borders = new Set([start, end]);
  for (const [, low, high] of marks) borders.add(Math.max(low, start)).add(Math.min(high, end));
  const cuts = [...borders].sort((a, b) => a - b);
  return cuts.slice(1).map((high, place) => {
    const low = cuts[place];
    return [letters.slice(low - stretch[0], high - stretch[0]).join(""), marks.some(([, from, to]) => from <= low && to >= high)];
  });
}

// The text of a chunk. Lines of tables, and code between fences, are set in a fixed width and are not broken.
function passage(parts) {
  // Evidence may begin and end within a line.
  const lines = [[]];
  for (const [text, evident] of parts) {
    text.split(/(?<=\n)/).forEach((piece, at) => {
      if (at > 0) lines.push([]);
      lines.at(-1).push([piece, evident]);
    });
    if (text.endsWith("\n")) lines.push([]);
  }
  const blocks = [];
  let fenced = false;
  for (const line of lines.filter((own) => own.length)) {
    const text = line.map(([piece]) => piece).join("");
    const fence = /^\s*(```|~~~)/.test(text);
    const fixed = fenced || fence || /^\s*\||\|.*\|/.test(text);
    if (fence) fenced = !fenced;
    if (blocks.at(-1)?.fixed !== fixed) blocks.push({ fixed, parts: [] });
    blocks.at(-1).parts.push(...line);
  }
  const drawn = ({ fixed, parts: own }) => make(fixed ? "pre" : "div", { tabindex: fixed && "0" }, ...own.map(([text, evident]) => make(evident ? "mark" : "span", {}, text)));
  return make("div", { class: "passage", dir: "auto" }, ...blocks.map(drawn));
}

// The evidence, or the relevant documents, that a question needs: a name, what it says, and its places.
function neededOf(data, query) {
  return query.n.map((flat, place) => {
    const name = `${data.letter}${place + 1}`;
    if (!Array.isArray(flat)) return { name, text: flat, spans: [], doc: null };
    if (flat.length === 1) return { name, text: data.documents[flat[0]][0], spans: [], doc: flat[0] };
    const spans = grouped(flat, 3);
    const text = pieces(data, ...spans[0], []).map(([part]) => part).join("").replace(/\s+/g, " ").replace(/^[\s#|>*-]+|[\s|*]+$/g, "");
    return { name, text: `“${text.length > QUOTED ? `${text.slice(0, QUOTED)} …` : text}”`, spans, others: spans.length - 1, doc: null };
  });
}

// The chunks of a question in the ranking of a configuration.
function chunksOf(data, query, place, needed) {
  const flat = query.h?.[place] ?? [];
  const count = flat.length / 3;
  return [...Array(count).keys()].map((at) => {
    const [number, rank, units] = [flat[at], flat[count + at], flat[2 * count + at]];
    const [doc, start, end] = data.passages.slice(3 * number, 3 * number + 3);
    const holds = needed.filter((need) => need.doc === doc || need.spans.some(([of, low, high]) => of === doc && low < end && high > start));
    return { number, rank, units, doc, start, end, holds: holds.map((need) => need.name), delivered: units !== 0 };
  });
}

// What a configuration does with the evidence that it misses: "E1 and E2: rank 28, cut off (the 2,000 tokens end at rank 14)".
function missesOf(data, query, place, needed, chunks) {
  const groups = new Map();
  query.e[place].forEach((state, at) => {
    if (data.states[state].fate === "missed" || data.states[state].fate === "part") groups.set(state, [...(groups.get(state) ?? []), needed[at].name]);
  });
  const last = chunks.filter((chunk) => chunk.delivered).at(-1)?.rank;
  return [...groups].map(([state, names]) => {
    const { phrase, fate, ranks } = data.states[state];
    const ends = fate === "missed" && last && data.unit !== "document" && ranks.some((rank) => rank > last) ? ` (the ${data.limits[place]} end at rank ${last})` : "";
    return `${listed(names)}: ${phrase}${ends}`;
  });
}

// How much of the needed evidence the sides deliver, in one sentence.
function delivery(data, query, sides, labels) {
  const [noun, nouns] = data.unit === "document" ? ["relevant document", "relevant documents"] : ["piece of evidence", "pieces of evidence"];
  const [many, one] = [inWords(query.k), query.k === 1];
  const parts = sides.map((place) => query.e[place].some((state) => data.states[state].fate === "part"));
  const whole = sides.map((place) => query.d[place]);
  const all = one ? `the ${noun}` : query.k === 2 ? `both ${nouns}` : `all ${many} ${nouns}`;
  const amount = (side) => (whole[side] === query.k ? all : whole[side] ? `${inWords(whole[side])} of ${many} ${nouns}` : parts[side] ? "only a part of the evidence" : one ? `not the ${noun}` : `none of the ${many} ${nouns}`);
  if (sides.length === 1) return `${labels[0]} delivers ${amount(0)}.`;
  if (whole[0] === whole[1] && (whole[0] || parts[0] === parts[1])) {
    if (whole[0] === query.k) return `Both deliver ${all}.`;
    return whole[0] || parts[0] ? `Each delivers ${amount(0)}.` : one ? `Neither delivers the ${noun}.` : `Neither delivers any of the ${many} ${nouns}.`;
  }
  const [more, less] = whole[0] > whole[1] || (whole[0] === whole[1] && parts[0]) ? [0, 1] : [1, 0];
  const rest = whole[less] ? inWords(whole[less]) : parts[less] ? "only a part" : one ? "does not" : "none";
  return `${labels[more]} delivers ${amount(more)}, ${labels[less]} ${rest}.`;
}

function unanswerable(query, sides, labels, chunks) {
  const amounts = sides.map((_, side) => chunks[side].filter((chunk) => chunk.delivered).length);
  const delivered = `${labels[0]} delivers ${several(amounts[0], "chunk")}${sides.length > 1 ? `, ${labels[1]} ${amounts[1].toLocaleString("en")}` : ""}.`;
  const answers = sides.map((place, side) => [query.y?.[place], labels[side]]).filter(([answer]) => answer);
  const refuses = answers.map(([[, refused], label]) => `${label} ${refused ? "refuses" : "answers"}`);
  return [make("b", {}, "The documents do not answer this question, so there is no evidence to find."), query.h ? ` ${delivered}` : "", answers.length ? ` A refusal is right: ${listed(refuses)}.` : ""];
}

function says(data, query, state, labels, needed, chunks) {
  const sides = state.a === state.b ? [state.a] : [state.a, state.b];
  if (query.u) return unanswerable(query, sides, labels, chunks);
  if (!query.k) return ["No evidence is labelled for this question."];
  const unknown = labels.slice(0, sides.length).filter((_, side) => query.e[sides[side]].every((at) => data.states[at].fate === "unknown"));
  if (unknown.length) return [`What ${listed(unknown)} retrieved for this question is not known.`];
  const misses = sides.map((place, side) => missesOf(data, query, place, needed, chunks[side])).map((texts, side) => (texts.length ? ` With ${labels[side]}, ${texts.join("; ")}.` : ""));
  const failed = data.answers && query.y ? sides.map((place, side) => (query.y[place]?.[2] >= 0 ? ` The answer with ${labels[side]}: ${data.causes[query.y[place][2]]}.` : "")) : [];
  const apart = compared(data, query, state.a, state.b).ahead && sides.every((place) => query.d[place] === query.k) && !failed.some(Boolean);
  return [make("b", {}, delivery(data, query, sides, labels)), ...misses, apart ? ` ${data.nothing[0].toUpperCase()}${data.nothing.slice(1)}.` : "", ...failed];
}

function evidenceTable(data, query, state, labels, needed) {
  if (!needed.length) return "";
  const sides = state.a === state.b ? [state.a] : [state.a, state.b];
  const head = (place, side) => make("th", { scope: "col", class: "fate" }, make("span", { class: side ? "key-b" : "key-a", "aria-hidden": "true" }), `${labels[side]} `, make("b", {}, data.number(query.v[place])));
  const rows = needed.map((need, at) => make("tr", {},
    make("th", { scope: "row", dir: "auto" }, make("b", { class: "need" }, need.name), " ", need.text, need.others ? make("span", { class: "note below" }, `or ${several(need.others, "alternative")}`) : ""),
    ...sides.map((place, side) => {
      const { phrase, fate } = data.states[query.e[place][at]];
      return make("td", { class: `fate ${fate}`, "data-side": labels[side] }, phrase);
    })));
  const more = query.k - needed.length;
  const title = data.unit === "document" ? "relevant document" : "needed evidence";
  return make("div", {}, make("table", { class: "needed" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, title), ...sides.map(head))), make("tbody", {}, ...rows)),
    more > 0 ? make("p", { class: "note" }, `and ${several(more, "more relevant document")}, of which ${listed(sides.map((place, side) => `${labels[side]} delivers ${query.d[place] - query.e[place].filter((at) => data.states[at].fate === "delivered").length}`))}`) : "");
}

function answersBlock(data, query, state, labels) {
  const sides = (state.a === state.b ? [state.a] : [state.a, state.b]).map((place, side) => [query.y?.[place], labels[side], side]).filter(([answer]) => answer);
  if (!sides.length) return "";
  return make("div", { class: "answer-pair" }, ...sides.map(([[text, refused, cause], label, side]) => make("div", {},
    make("p", { class: "note" }, make("span", { class: side ? "key-b" : "key-a", "aria-hidden": "true" }), `Answer with ${label}${refused ? " · refusal" : ""}${cause >= 0 ? ` · ${data.causes[cause]}` : ""}`),
    make("p", { dir: "auto" }, text))));
}

// The two rankings side by side, with a line for each end of the context, and lines between chunks of the same text.
function slopes(data, state, chunks, labels, width) {
  const middle = 84;
  const edge = (width - middle) / 2;
  const letters = Math.max(6, Math.floor((edge - 34) / 6.6));
  const placed = chunks.map((own) => {
    const last = own.findLastIndex((chunk) => chunk.delivered);
    let [y, before] = [14, 0];
    return own.map((chunk, at) => {
      const cut = at === last + 1 && at > 0;
      if (cut) y += ROW;
      else if (before && chunk.rank > before + 1 && !state.apart) y += ROW / 2;
      before = chunk.rank;
      y += ROW;
      return { ...chunk, y: y - ROW, line: cut ? y - ROW - 15 : null };
    });
  });
  const height = Math.max(30, ...placed.flat().map(({ y }) => y + ROW / 2));
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "slopes", role: "img", "aria-label": state.described });
  const joined = (left, right) => left.doc === right.doc && Math.min(left.end, right.end) - Math.max(left.start, right.start) >= Math.min(left.end - left.start, right.end - right.start) / 2;
  if (placed.length > 1) {
    for (const left of placed[0]) {
      for (const right of placed[1].filter((chunk) => (chunk.number === left.number || joined(left, chunk)))) {
        const kind = left.holds.some((name) => right.holds.includes(name)) ? "joint evident" : "joint";
        svg.append(draw("path", { d: `M${edge + 4} ${left.y}C${edge + 40} ${left.y} ${edge + middle - 40} ${right.y} ${edge + middle - 4} ${right.y}`, class: kind }));
      }
    }
  }
  placed.forEach((own, side) => {
    const [anchor, at, rank] = side ? ["start", edge + middle + 28, edge + middle + 20] : ["end", edge - 28, edge];
    for (const chunk of own) {
      if (chunk.line !== null) {
        const [x1, x2] = side ? [edge + middle, width] : [0, edge];
        svg.append(draw("line", { x1, x2, y1: chunk.line, y2: chunk.line, class: "cut" }), draw("text", { x: side ? width : 0, y: chunk.line - 4, "text-anchor": side ? "end" : "start", class: "cut-label" }, `${data.limits[side ? state.b : state.a]} end here`));
      }
      const full = data.documents[chunk.doc][0];
      const names = chunk.holds.join(" ");
      const room = Math.max(4, Math.floor(letters * (names ? 0.9 : 1)) - (names ? names.length + 1 : 0) - (chunk.units > 0 ? 7 : 0));
      const shown = `${full.length > room ? `…${full.slice(1 - room)}` : full}${chunk.units > 0 ? " (part)" : ""}${names ? ` ${names}` : ""}`;
      const kind = `${names ? "evident" : ""}${chunk.delivered ? "" : " off"}`;
      svg.append(draw("text", { x: at, y: chunk.y + 4, "text-anchor": anchor, class: kind }, draw("title", {}, `${full} ${chunk.start}–${chunk.end}`), shown),
        draw("text", { x: rank, y: chunk.y + 4, "text-anchor": "end", class: `rank ${kind}` }, String(chunk.rank)));
    }
  });
  return svg;
}

// The chunks of both rankings with their text, those with evidence first, and the rest in one fold.
function passages(data, query, state, chunks, labels, needed) {
  const evidence = needed.flatMap((need) => need.spans);
  const union = new Map();
  chunks.forEach((own, side) => own.forEach((chunk) => {
    const entry = union.get(chunk.number) ?? { ...chunk, fates: [] };
    entry.fates.push([side, chunk]);
    union.set(chunk.number, entry);
  }));
  const fold = ({ doc, start, end, holds, fates }, open) => {
    const grade = query.g.find(([of]) => of === doc)?.[1];
    const marks = [holds.join(" "), grade < 0 ? "known to be irrelevant" : ""].filter(Boolean).map((text) => ` · ${text}`).join("");
    const ranks = fates.flatMap(([side, { rank, units }]) => [" · ", make("span", { class: units ? "delivered" : "missed" }, `${labels[side]} ${rank}${units ? units > 0 ? " (part)" : "" : ", not delivered"}`)]);
    return make("details", { class: "chunk", open }, make("summary", {}, make("b", {}, data.documents[doc][0]), ` ${start}–${end}${marks}`, ...ranks), passage(pieces(data, doc, start, end, evidence)));
  };
  const [evident, others] = [true, false].map((wanted) => [...union.values()].filter(({ holds }) => Boolean(holds.length) === wanted));
  // What one side alone delivers is the reason of the difference.
  const apart = ({ fates }) => fates.length < chunks.length || fates.some(([, chunk]) => chunk.delivered !== fates[0][1].delivered);
  evident.sort((first, second) => apart(second) - apart(first));
  const rest = others.map((entry) => fold(entry, false));
  return [...evident.map((entry, at) => fold(entry, at === 0)), ...(rest.length ? [make("details", { class: "chunk" }, make("summary", {}, `${several(rest.length, evident.length ? "other chunk" : "chunk")}`), ...rest)] : [])];
}

function ranking(data, query, state, chunks, labels, needed) {
  const fates = needed.map((need, at) => `${need.name}: ${(state.a === state.b ? [state.a] : [state.a, state.b]).map((place, side) => `${labels[side]} ${data.states[query.e[place][at]].phrase}`).join(", ")}`);
  state.described = `Chunks by rank${chunks.length > 1 ? `, ${labels[0]} on the left, ${labels[1]} on the right` : ""}. ${fates.join("; ")}`;
  const place = make("div", { class: "slope-frame" });
  const both = chunks.length > 1 ? chunks[0].filter((chunk) => chunk.delivered && chunks[1].some((other) => other.number === chunk.number && other.delivered)).map((chunk) => chunk.number) : [];
  const drawn = () => {
    const shown = state.apart ? chunks.map((own) => own.filter((chunk) => chunk.holds.length || !both.includes(chunk.number))) : chunks;
    place.replaceChildren(slopes(data, state, shown, labels, Math.max(280, Math.round(place.clientWidth || 700))));
  };
  const box = make("input", { type: "checkbox", id: "queries-apart", checked: state.apart });
  box.addEventListener("change", () => { state.apart = box.checked; drawn(); });
  const same = chunks.length > 1 && chunks[0].every((chunk) => chunks[1].every((other) => other.doc !== chunk.doc || other.number === chunk.number || other.end <= chunk.start || other.start >= chunk.end));
  const switches = chunks.length > 1 ? make("div", { class: "switches" }, make("label", {}, box, " only chunks that differ"), make("span", { class: "note" }, same ? "lines join the same chunk" : "lines join chunks that share half of their text")) : "";
  let width = 0;
  state.watch = new ResizeObserver(() => { if (width !== place.clientWidth) { width = place.clientWidth; drawn(); } });
  state.watch.observe(place);
  return [switches, place];
}

function panelHead(data, query, state) {
  const ids = state.list.map((row) => row.query.i);
  const at = ids.indexOf(query.i);
  const step = (by, sign, key, name) => {
    const button = make("button", { type: "button", disabled: !(at >= 0 && ids[at + by] !== undefined) }, make("span", { class: "unseen" }, name), make("span", { "aria-hidden": "true" }, `${sign} `), make("kbd", { "aria-hidden": "true" }, key));
    button.addEventListener("click", () => state.step(by));
    return button;
  };
  const link = make("button", { type: "button" }, "Link");
  link.addEventListener("click", () => navigator.clipboard?.writeText(location.href).then(() => { link.textContent = "Copied"; }, () => { link.textContent = "It is in the address"; }));
  const close = make("button", { type: "button" }, "Close ", make("kbd", { "aria-hidden": "true" }, "Esc"));
  close.addEventListener("click", state.close);
  const group = state.group === "all" ? "" : state.group === "differ" ? " that differ" : ` (${state.group})`;
  const facts = [query.i, ...data.varying.map((name) => query.s[name]), at < 0 ? "" : `${at + 1} of ${ids.length}${group}`].filter(Boolean);
  return make("div", { class: "panel-head" }, make("p", { class: "note" }, facts.join(" · ")), make("div", { class: "tools" }, step(-1, "↑", "k", "Previous question"), step(1, "↓", "j", "Next question"), navigator.clipboard ? link : "", close));
}

function showDetail(data, state, query, focus) {
  const panel = byId("query-detail");
  const labels = labelsOf(data, state.a, state.b);
  const sides = state.a === state.b ? [state.a] : [state.a, state.b];
  const needed = neededOf(data, query);
  const chunks = sides.map((place) => chunksOf(data, query, place, needed));
  state.watch?.disconnect();
  const title = make("h3", { tabindex: "-1", dir: "auto" }, query.t || query.i);
  const rewritten = query.w ? sides.map((place, side) => (query.w[place].length ? make("p", { class: "note", dir: "auto" }, `${labels[side]} searched for: ${query.w[place].join(" | ")}`) : "")) : [];
  panel.replaceChildren(panelHead(data, query, state), title,
    query.a ? make("p", { class: "expected", dir: "auto" }, make("span", { class: "note" }, "Expected"), query.a) : "",
    make("p", { class: "says" }, ...says(data, query, state, labels, needed, chunks).filter(Boolean)), ...rewritten,
    data.answers ? answersBlock(data, query, state, labels) : "", evidenceTable(data, query, state, labels, needed));
  panel.hidden = false;
  byId("queries-split").classList.add("opened");
  if (query.h) panel.append(...ranking(data, query, state, chunks, labels, needed), ...passages(data, query, state, chunks, labels, needed));
  const answers = data.answers ? "" : answersBlock(data, query, state, labels);
  if (answers) panel.append(make("details", { class: "chunk" }, make("summary", {}, "Answers"), answers));
  if (!query.h) panel.append(make("p", { class: "note" }, "The chunks of this question are not on the page, so that it stays small."));
  panel.scrollTop = 0;
  if (!focus) return;
  title.focus({ preventScroll: true });
  const beside = getComputedStyle(byId("queries-split")).display === "grid" && panel.offsetLeft > 40 && panel.getBoundingClientRect().top >= 0 && panel.getBoundingClientRect().top < innerHeight / 2;
  if (!beside) panel.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
}

function drawList(data, state) {
  const labels = labelsOf(data, state.a, state.b);
  const rows = data.queries.map((query) => compared(data, query, state.a, state.b));
  const groups = groupsOf(data, state).map(([name, belongs]) => [name, belongs, rows.filter(belongs).length]).filter(([name, , count]) => count || name === "all");
  if (!groups.some(([name]) => name === state.group)) state.group = groups[0][0];
  const [, belongs] = groups.find(([name]) => name === state.group);
  const wanted = searched(byId("queries-text").value);
  const cause = byId("queries-cause").value;
  const caused = ({ query, cause: own }) => cause === "" || (state.group === "differ" ? data.causes.at(own) === cause : [query.c[state.a], query.c[state.b]].some((each) => each >= 0 && data.causes[each] === cause));
  state.list = rows.filter((row) => belongs(row) && matches(row.query, wanted) && caused(row));
  const size = ({ query, gap }) => (state.a === state.b ? (query.v[state.a] === null ? -Infinity : -data.better * query.v[state.a]) : gap === null ? -1 : Math.abs(gap));
  state.list.sort((first, second) => size(second) - size(first));
  byId("queries-over").replaceChildren(...(state.a === state.b ? [] : [scatter(data, state, rows, labels), counts(data, state, rows, labels)]));
  byId("queries-groups").replaceChildren(...groups.map(([name, , count]) => {
    const chip = make("button", { type: "button", "aria-pressed": String(name === state.group) }, `${name} ${count.toLocaleString("en")}`);
    chip.addEventListener("click", () => { Object.assign(state, { group: name, all: false }); drawList(data, state); [...byId("queries-groups").children].find((other) => other.getAttribute("aria-pressed") === "true").focus(); });
    return chip;
  }));
  const shown = state.all ? state.list : state.list.slice(0, FIRST);
  byId("queries-list").replaceChildren(...shown.map((row) => listItem(data, state, row, labels)));
  byId("queries-count").textContent = `${several(state.list.length, "question")}${state.a === state.b || state.group === "not answerable" ? "" : ", the largest difference first"}`;
  const more = byId("queries-more");
  more.hidden = shown.length === state.list.length;
  more.textContent = `Show ${several(state.list.length - shown.length, "more question")}`;
  marked(state);
}

function marked(state) {
  for (const link of byId("queries-list").querySelectorAll("a")) {
    if (link.dataset.id === state.open) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

function causeOptions(data, state) {
  const present = new Set(data.queries.flatMap((query) => [query.c[state.a], query.c[state.b]]).filter((cause) => cause >= 0));
  const select = byId("queries-cause");
  const before = select.value;
  const options = [...present].sort((a, b) => a - b).map((cause) => make("option", { value: data.causes[cause] }, data.causes[cause]));
  if (data.queries.some((query) => { const { ahead, cause } = compared(data, query, state.a, state.b); return ahead && cause < 0; })) options.push(make("option", { value: data.causes.at(-1) }, data.causes.at(-1)));
  select.replaceChildren(make("option", { value: "" }, "any reason"), ...options);
  select.value = [...select.options].some((option) => option.value === before) ? before : "";
}

// Follow the address: the pair, and the question that is open. Returns whether it says anything about the questions.
function follow(data, state, focus) {
  const address = new URLSearchParams(location.hash.slice(1));
  const place = (key) => data.configurations.indexOf(address.get(key) ?? "");
  const [a, b, id] = [place("a"), place("b"), address.get("q")];
  const query = id === null ? undefined : data.queries.find((each) => each.i === id);
  if (!query && a < 0 && b < 0 && location.hash !== "#queries" && location.hash !== "") return;
  Object.assign(state, { a: a < 0 ? state.a : a, b: b < 0 ? state.b : b, open: query ? query.i : null });
  byId("queries-a").value = state.a;
  if (byId("queries-b")) byId("queries-b").value = state.b;
  causeOptions(data, state);
  drawList(data, state);
  if (query && !state.list.some((row) => row.query === query)) {
    Object.assign(state, { group: "all", all: true });
    byId("queries-text").value = byId("queries-cause").value = "";
    drawList(data, state);
  } else if (query && state.list.findIndex((row) => row.query === query) >= FIRST && !state.all) {
    state.all = true;
    drawList(data, state);
  }
  if (query) showDetail(data, state, query, focus);
  else hideDetail(state);
}

function hideDetail(state) {
  byId("query-detail").hidden = true;
  byId("queries-split").classList.remove("opened");
  state.watch?.disconnect();
}

function moves(data, state) {
  const replaced = (address) => { history.replaceState(null, "", address); follow(data, state, true); };
  state.go = (id) => { location.hash = addressOf(data, state, id); };
  state.step = (by) => {
    const next = state.list[state.list.findIndex((row) => row.query.i === state.open) + by];
    if (next) replaced(addressOf(data, state, next.query.i));
  };
  state.close = () => {
    const id = state.open;
    history.pushState(null, "", "#queries");
    follow(data, state, false);
    const link = [...byId("queries-list").querySelectorAll("a")].find((each) => each.dataset.id === id);
    (state.back?.isConnected ? state.back : link ?? byId("queries-a")).focus();
    state.back = null;
  };
  document.addEventListener("keydown", (event) => {
    if (state.open === null || event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea, [contenteditable]")) return;
    if (event.key === "Escape") state.close();
    else if (event.key === "j") state.step(1);
    else if (event.key === "k") state.step(-1);
  });
  addEventListener("hashchange", () => follow(data, state, true));
}

function chooser(data, state, key) {
  const select = byId(`queries-${key}`);
  select.append(...data.titles.map((title, place) => make("option", { value: place }, title)));
  select.addEventListener("change", () => {
    state[key] = Number(select.value);
    history.replaceState(null, "", addressOf(data, state));
    follow(data, state, false);
    select.focus();
  });
}

async function drillDown() {
  const island = byId("drill");
  if (!island) return;
  const data = prepared(await unpacked(island.textContent));
  const state = { a: data.pair[0], b: data.pair[1], open: null, group: "", all: false, apart: false, list: [], back: null };
  moves(data, state);
  ["a", "b"].forEach((key) => chooser(data, state, key));
  byId("queries-second").hidden = data.configurations.length < 2;
  ["queries-text", "queries-cause"].forEach((id) => byId(id).addEventListener("input", () => { state.all = false; drawList(data, state); }));
  byId("queries-more").addEventListener("click", () => { state.all = true; drawList(data, state); byId("queries-list").children[FIRST].firstChild.focus(); });
  byId("queries-split").hidden = false;
  const ids = new Set(data.queries.map((query) => query.i));
  for (const link of document.querySelectorAll("[data-query]")) {
    // One that the page has no room for leads to the list.
    if (!ids.has(link.dataset.query)) continue;
    link.setAttribute("href", `#${new URLSearchParams({ q: link.dataset.query })}`);
    link.addEventListener("click", () => { state.back = link; });
  }
  drawList(data, state);
  causeOptions(data, state);
  follow(data, state, true);
}
