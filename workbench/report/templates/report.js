// Theme, sorting and filters of tables, and the drill-down. All text is set as text, never as markup.
"use strict";

const byId = (id) => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== "" && child !== null));
  return element;
}

const FIRST = 20;
const several = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

// The theme: light, dark, or that of the system.
function themes() {
  const button = byId("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const savedTheme = () => { try { return localStorage.getItem("workbench-theme"); } catch { return null; } };
  const keep = (value) => { try { localStorage.setItem("workbench-theme", value); } catch { /* a local file may not keep anything */ } };
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.setAttribute("aria-pressed", String(theme === "dark"));
  };
  apply(savedTheme() || (dark.matches ? "dark" : "light"));
  button.hidden = false;
  button.addEventListener("click", () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    apply(next);
    keep(next);
  });
  dark.addEventListener("change", () => { if (!savedTheme()) apply(dark.matches ? "dark" : "light"); });
}

// Add a button to every heading with data-sorts; rows without a value stay at the end.
function sortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  const key = (row, column) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
  headings.forEach((heading, column) => {
    if (!("sorts" in heading.dataset)) return;
    const button = make("button", { type: "button", class: "sort" });
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const numeric = heading.classList.contains("number") || heading.classList.contains("shade");
      const current = heading.getAttribute("aria-sort");
      const rising = current ? current === "descending" : !numeric;
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const order = (a, b) => {
        const [first, second] = [key(a, column), key(b, column)];
        if (first === "" || second === "") return (first === "") - (second === "");
        const order = numeric ? Number(first) - Number(second) : first.localeCompare(second, "en", { numeric: true });
        return rising ? order : -order;
      };
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
    });
  });
}

// Count the columns beyond the right edge of a frame, below it.
function continuing(frame) {
  const table = frame.querySelector("table");
  if (!table) return;
  const note = make("p", { class: "more", "aria-hidden": "true" });
  frame.after(note);
  const apply = () => {
    const edge = frame.getBoundingClientRect().right + 1;
    const beyond = [...table.tHead.rows[0].cells].filter((cell) => cell.getBoundingClientRect().right > edge + 8).length;
    note.textContent = beyond ? `${several(beyond, "more column")} →` : "";
    note.hidden = !beyond;
  };
  frame.addEventListener("scroll", apply, { passive: true });
  new ResizeObserver(apply).observe(frame);
}

function rankingFilter() {
  const table = byId("ranking-table");
  if (!table) return;
  const [text, level, counted] = [byId("ranking-text"), byId("ranking-level"), byId("ranking-count")];
  const apply = () => {
    const wanted = text.value.trim().toLowerCase();
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !row.dataset.name.toLowerCase().includes(wanted) || (level !== null && level.checked && !("level" in row.dataset));
      shown += row.hidden ? 0 : 1;
    }
    counted.textContent = `${shown} of ${several(table.tBodies[0].rows.length, "configuration")}`;
  };
  text.addEventListener("input", apply);
  if (level) level.addEventListener("change", apply);
  byId("ranking-filter").hidden = false;
  apply();
}

// The drill-down.

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

function prepared(data) {
  for (const query of data.queries) {
    const known = query.v.filter((value) => value !== null);
    query.difference = known.length ? Math.max(...known) - Math.min(...known) : null;
    query.misses = query.m.map((flat) => grouped(flat, 4));
    query.causes = query.misses.map((rows) => new Set(rows.map((row) => row[2])));
    query.words = `${query.i} ${query.t} ${Object.values(query.s).join(" ")}`.toLowerCase();
  }
  const values = data.queries.flatMap((query) => query.v).filter((value) => value !== null);
  data.low = Math.min(0, ...values);
  data.high = Math.max(data.low + 1e-9, ...values);
  return data;
}

function queryList(data, open) {
  const digits = data.digits;
  const named = (name) => make("th", { scope: "col", class: "shade upright", "data-sorts": true }, make("span", {}, name));
  const heads = [make("th", { scope: "col", class: "text", "data-sorts": true }, "question")];
  heads.push(make("th", { scope: "col", class: "number", "data-sorts": true }, "largest difference"), ...data.short.map(named));
  const rows = data.queries.map((query) => {
    const button = make("button", { type: "button", class: "open" }, query.t || query.i);
    button.addEventListener("click", () => open(query, button));
    const cells = [make("th", { scope: "row", class: "text" }, button, " ", make("span", { class: "note below" }, query.i))];
    const gap = query.difference === null ? "–" : query.difference.toFixed(digits);
    cells.push(make("td", { class: "number", "data-sort": query.difference ?? "" }, gap));
    for (const value of query.v) {
      const shade = value === null ? "" : Math.min(8, Math.floor((9 * (value - data.low)) / (data.high - data.low)));
      cells.push(make("td", { class: `shade shade-${shade}`, "data-sort": value ?? "" }, value === null ? "–" : value.toFixed(digits)));
    }
    query.row = make("tr", {}, ...cells);
    return query.row;
  });
  const caption = make("caption", { id: "queries-caption" }, `${data.metric} of every question and configuration`);
  const table = make("table", { id: "queries-table" }, caption, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
  byId("queries-list").append(table);
  sortable(table);
  table.tHead.rows[0].cells[1].querySelector("button").click();
}

// Show the first questions, and a button for the rest.
function listed(data) {
  const [button, table] = [byId("queries-more"), byId("queries-table")];
  let all = false;
  const apply = () => {
    const rows = [...table.tBodies[0].rows];
    const shown = rows.filter((row) => !row.hidden);
    rows.forEach((row) => row.classList.remove("later"));
    if (!all) shown.slice(FIRST).forEach((row) => row.classList.add("later"));
    button.hidden = all || shown.length <= FIRST;
    button.textContent = `Show ${several(shown.length - FIRST, "more question")}`;
  };
  button.addEventListener("click", () => { all = true; apply(); table.tBodies[0].rows[FIRST].querySelector("button").focus(); });
  table.tHead.addEventListener("click", apply);
  return apply;
}

function queryFilter(data) {
  const limit = listed(data);
  const [text, cause, by, counted] = ["queries-text", "queries-cause", "queries-by", "queries-count"].map(byId);
  data.causes.forEach(([name], place) => cause.append(make("option", { value: place }, name)));
  data.configurations.forEach((name, place) => by.append(make("option", { value: place }, name)));
  const apply = () => {
    const wanted = text.value.trim().toLowerCase();
    let shown = 0;
    for (const query of data.queries) {
      const looked = by.value === "" ? query.causes : [query.causes[Number(by.value)]];
      const caused = looked.some((causes) => (cause.value === "" ? by.value === "" || causes.size : causes.has(Number(cause.value))));
      query.row.hidden = !query.words.includes(wanted) || !caused;
      shown += query.row.hidden ? 0 : 1;
    }
    counted.textContent = `${shown} of ${several(data.queries.length, "question")}`;
    limit();
  };
  for (const control of [text, cause, by]) control.addEventListener("input", apply);
  apply();
}

// A stretch of a document as (text, is evidence, was delivered) parts. Places count code points, not the units of a string.
function pieces(data, doc, start, end, evidence, limit) {
  const stretch = data.documents[doc][1].findLast(([from]) => from <= start);
  if (!stretch) return [];
  const letters = (stretch[2] ??= [...stretch[1]]);
  const marks = evidence.filter(([of, low, high]) => of === doc && low < end && high > start);
  const borders = new Set([start, end, ...(limit > start && limit < end ? [limit] : [])]);
  for (const [, low, high] of marks) borders.add(Math.max(low, start)).add(Math.min(high, end));
  const cuts = [...borders].sort((a, b) => a - b);
  return cuts.slice(1).map((high, place) => {
    const low = cuts[place];
    return [letters.slice(low - stretch[0], high - stretch[0]).join(""), marks.some(([, from, to]) => from <= low && to >= high), low < limit];
  });
}

function shownText(parts) {
  const spans = parts.map(([text, evidence, delivered]) => {
    const kind = `${evidence ? "evidence" : ""}${delivered ? "" : " beyond"}`.trim();
    return evidence ? make("mark", { class: kind }, text) : make("span", { class: kind }, text);
  });
  return make("p", { class: "passage", dir: "auto" }, ...spans);
}

function missed(data, query, [need, doc, cause, rank]) {
  const [name, meaning] = data.causes[cause];
  const where = rank ? `; best rank ${rank}` : "; not among the hits listed";
  const item = make("li", {}, make("strong", {}, name), `: ${meaning}${where}.`);
  if (need < 0) return doc < 0 ? item : (item.append(make("span", { class: "note" }, data.documents[doc][0])), item);
  const [of, low, high] = query.n[need];
  const others = query.n[need].length / 3 - 1;
  item.append(make("span", { class: "note" }, `${data.documents[of][0]}${others ? `, or ${several(others, "alternative")}` : ""}`));
  item.append(shownText(pieces(data, of, low, high, [[of, low, high]], high)));
  return item;
}

function hit(data, query, evidence, limit, [rank, place, units, score]) {
  const [doc, start, end] = data.passages.slice(3 * place, 3 * place + 3);
  const cut = units < 0 ? end : start + units;
  const parts = pieces(data, doc, start, end, evidence, cut);
  const grade = query.g.find(([of]) => of === doc)?.[1];
  const marks = [parts.some(([, evident]) => evident) ? "evidence" : "", grade > 0 ? "relevant document" : grade < 0 ? "known to be irrelevant" : ""];
  const fate = units < 0 ? "" : units ? `cut at ${limit}` : `not delivered: beyond ${limit}`;
  const facts = [data.documents[doc][0], `score ${score}`, ...marks, fate].filter(Boolean).join(" · ");
  const summary = make("summary", {}, make("span", { class: "rank" }, String(rank)), make("span", {}, facts));
  const open = marks[0] !== "" || rank === 1;
  return make("li", { class: units === 0 ? "beyond" : "" }, make("details", { open }, summary, shownText(parts)));
}

function column(data, query, number, place, change) {
  const select = make("select", { id: `detail-${number}` });
  data.configurations.forEach((name, at) => {
    const value = query.v[at];
    select.append(make("option", { value: at, selected: at === place }, `${name} (${value === null ? "no value" : value.toFixed(3)})`));
  });
  select.addEventListener("change", () => change(Number(select.value)));
  const evidence = query.n.flatMap((need) => grouped(need, 3));
  const lost = query.misses[place].map((row) => missed(data, query, row));
  const hits = grouped(query.h[place], 4).map((row) => hit(data, query, evidence, data.limits[place], row));
  const searched = (query.w?.[place] ?? []).map((text) => make("li", { dir: "auto" }, text));
  return make("div", {},
    make("label", { for: `detail-${number}` }, number ? "beside it" : "configuration"), select,
    ...(searched.length ? [make("h4", {}, "Searched instead of the question"), make("ul", { class: "missed" }, ...searched)] : []),
    make("h4", {}, lost.length ? "Missed" : "Nothing that was looked for was missed"), make("ul", { class: "missed" }, ...lost),
    make("h4", {}, `Retrieved, by rank; delivered: ${data.limits[place]}`), make("ol", { class: "hits" }, ...hits));
}

function detail(data, query, back) {
  const place = byId("query-detail");
  const farthest = (from) => query.v.reduce((best, value, at) =>
    (value !== null && Math.abs(value - query.v[from]) > Math.abs((query.v[best] ?? query.v[from]) - query.v[from]) ? at : best), from ? 0 : Math.min(1, query.v.length - 1));
  const chosen = data.configurations.length > 1 ? [0, farthest(0)] : [0];
  const title = make("h3", { tabindex: "-1", dir: "auto" }, query.t);
  const close = make("button", { type: "button" }, "Close");
  close.addEventListener("click", () => { place.hidden = true; back.focus(); });
  const facts = [query.i, ...Object.entries(query.s).map(([field, value]) => `${field}: ${value}`), query.u ? "not answerable" : ""];
  const columns = make("div", { class: "beside" });
  const draw = () => columns.replaceChildren(...chosen.map((at, number) => column(data, query, number, at, (next) => {
    chosen[number] = next;
    draw();
    byId(`detail-${number}`).focus();
  })));
  draw();
  const answer = query.a ? make("p", { dir: "auto" }, make("strong", {}, "Expected: "), query.a) : "";
  place.replaceChildren(close, title, make("p", { class: "note" }, facts.filter(Boolean).join(" · ")), answer, columns);
  place.hidden = false;
  title.focus({ preventScroll: true });
  place.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
}

async function drillDown() {
  const island = byId("drill");
  if (!island) return;
  const data = prepared(await unpacked(island.textContent));
  const open = (query, back) => detail(data, query, back);
  queryList(data, open);
  queryFilter(data);
  byId("queries-filter").hidden = false;
  byId("queries-list").hidden = false;
  continuing(byId("queries-list"));
  const byName = new Map(data.queries.map((query) => [query.i, query]));
  for (const link of document.querySelectorAll("[data-query]")) {
    const query = byName.get(link.dataset.query);
    // One that the page has no room for leads to the list.
    if (query) link.addEventListener("click", (event) => { event.preventDefault(); open(query, link); });
  }
}

themes();
document.querySelectorAll("table[data-sortable]").forEach(sortable);
document.querySelectorAll(".frame").forEach(continuing);
rankingFilter();
drillDown().then(() => { document.documentElement.dataset.ready = "yes"; }, () => { byId("queries-failed").hidden = false; });
