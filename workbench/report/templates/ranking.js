// The ranking: filters by status, setting and text, the first rows of many, full names, and copies for a table, Markdown or a file.
function rankingTable() {
  const table = byId("ranking-table");
  if (!table) return;
  const [text, counted, more] = [byId("ranking-text"), byId("ranking-count"), byId("ranking-more")];
  const picks = [...document.querySelectorAll("#ranking-filter .pick")];
  const rows = () => [...table.querySelectorAll("tbody tr[data-name]")];
  let most = 50;
  const pressed = () => picks.filter((pick) => pick.getAttribute("aria-pressed") === "true");
  const matches = (row) => {
    const wanted = text.value.trim().toLowerCase();
    if (wanted && !`${row.dataset.name} ${row.textContent}`.toLowerCase().includes(wanted)) return false;
    const picked = pressed().map((pick) => pick.dataset);
    if (picked.some(({ status }) => status && !row.classList.contains(status))) return false;
    const values = picked.filter((pick) => "column" in pick);
    if (values.length === 0) return true;
    if ("tag" in row.dataset) return values.some(({ column }) => column === "-1");
    const settings = [...row.querySelectorAll(".set")].map((cell) => cell.firstChild?.textContent ?? "");
    const columns = new Set(values.map(({ column }) => column));
    columns.delete("-1");
    return columns.size > 0 && [...columns].every((column) => values.some((pick) => pick.column === column && pick.value === settings[column]));
  };
  const apply = () => {
    let [matching, shown] = [0, 0];
    for (const body of table.tBodies) {
      let any = false;
      for (const row of body.rows) {
        if (!row.dataset.name) continue;
        const match = matches(row);
        matching += match ? 1 : 0;
        row.toggleAttribute("data-out", !match);
        row.hidden = !match || matching > most;
        shown += row.hidden ? 0 : 1;
        any ||= !row.hidden;
      }
      const cause = body.querySelector(".cause");
      if (cause) cause.hidden = !any;
    }
    counted.textContent = matching < rows().length ? `${matching.toLocaleString("en")} of ${several(rows().length, "configuration")}` : "";
    more.parentElement.hidden = shown === matching;
    more.textContent = `Show all ${matching.toLocaleString("en")}`;
  };
  for (const pick of picks) {
    pick.addEventListener("click", () => {
      if ("status" in pick.dataset) picks.filter((other) => "status" in other.dataset).forEach((other) => other.setAttribute("aria-pressed", String(other === pick)));
      else pick.setAttribute("aria-pressed", String(pick.getAttribute("aria-pressed") !== "true"));
      apply();
    });
  }
  text.addEventListener("input", apply);
  table.tHead.addEventListener("click", apply);
  more.addEventListener("click", () => { most = Infinity; apply(); });
  byId("ranking-names").addEventListener("click", ({ currentTarget: button }) => {
    const full = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(full));
    for (const row of rows()) {
      row.querySelector(".full")?.remove();
      if (full) row.querySelector(".set").append(make("small", { class: "full" }, row.dataset.name));
    }
  });
  copying(byId("ranking-tsv"), () => separated(table, "\t"));
  copying(byId("ranking-markdown"), () => markdownTable(table));
  byId("ranking-csv").addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([separated(table, ",")], { type: "text/csv" }));
    make("a", { href: address, download: "ranking.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
  byId("ranking-filter").hidden = false;
  apply();
}

// The rows that match the filters, with full names, and with the bounds of intervals in columns of their own.
function rankingCells(table) {
  const headings = [...table.tHead.rows[0].cells];
  const columns = headings.map((heading, column) => {
    const cells = [...table.querySelectorAll("tr[data-name]")].map((row) => cellAt(row, column));
    return { heading, column, bounded: cells.some((cell) => cell && "low" in cell.dataset) };
  }).filter(({ heading }) => !heading.classList.contains("c-iv"));
  const place = columns.shift();
  const titles = [place.heading.dataset.name, "configuration", "result"];
  for (const { heading, bounded } of columns) titles.push(heading.dataset.name, ...(bounded ? ["low", "high"] : []));
  const plain = (cell) => [...(cell?.childNodes ?? [])].filter((node) => node.nodeName !== "SMALL").map((node) => node.textContent).join(" ").trim();
  const lines = [...table.querySelectorAll("tr[data-name]:not([data-out])")].map((row) => {
    const line = [row.cells[0].dataset.sort, row.dataset.name, row.querySelector(".unseen").textContent.replace(/: $/, "")];
    for (const { heading, column, bounded } of columns) {
      const cell = cellAt(row, column);
      const whole = cell && cell.colSpan === 1;
      const cause = heading.dataset.name === "status" ? row.parentElement.querySelector(".cause")?.textContent ?? "" : "";
      const value = heading.classList.contains("number") ? cell?.dataset.sort ?? "" : plain(cell);
      line.push(whole ? value : cause, ...(bounded ? [cell?.dataset.low ?? "", cell?.dataset.high ?? ""] : []));
    }
    return line;
  });
  return [titles, ...lines];
}

// A text that a spreadsheet would read as a formula has an apostrophe before it. Numbers stay numbers.
function separated(table, separator) {
  const safe = (value) => (/^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : value);
  const quoted = (value) => (separator === "," && /[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value.replace(/[\t\r\n]/g, " "));
  return rankingCells(table).map((line) => line.map((value) => quoted(safe(value))).join(separator)).join("\n") + "\n";
}

function markdownTable(table) {
  const [titles, ...lines] = rankingCells(table);
  const row = (line) => `| ${line.map((value) => value.replace(/[\\`*_{}[\]<>|#~&$]/g, "\\$&").replace(/\s+/g, " ")).join(" | ")} |`;
  return [row(titles), row(titles.map(() => "---")).replaceAll("\\", ""), ...lines.map(row)].join("\n") + "\n";
}
