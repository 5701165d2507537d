// The scripts of the report: themes and tables here, then the ranking, the questions, and the start. All text is set as text, never as markup.
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

// The cell of a row in a column, of which one cell may span several.
function cellAt(row, column) {
  let next = 0;
  return [...row.cells].find((cell) => (next += cell.colSpan) > column);
}

// Add a button to every heading with data-sorts; rows without a value stay at the end.
function sortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  const key = (row, column) => cellAt(row, column).dataset.sort ?? cellAt(row, column).textContent;
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

// Count the columns beyond the right edge of a frame, below it. Only a frame that scrolls is a tab stop.
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
    if (frame.scrollWidth > frame.clientWidth) frame.tabIndex = 0;
    else frame.removeAttribute("tabindex");
  };
  frame.addEventListener("scroll", apply, { passive: true });
  new ResizeObserver(apply).observe(frame);
}
