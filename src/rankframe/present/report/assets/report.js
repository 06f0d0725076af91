(() => {
  "use strict";
  // Text reaches the page by textContent alone: no id is ever taken for HTML.
  const made = (tag, text, kind) => {
    const element = document.createElement(tag);
    element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };
  const value = (row, column) => {
    const cell = row.cells[column];
    const sort = cell.dataset.sort;
    return sort === undefined ? cell.textContent.trim() : sort === "" ? null : Number(sort);
  };
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), undefined, { numeric: true });
  };
  const whole = (cell) => {
    const cut = cell.querySelector("[title]");
    return cut ? cut.title : cell.textContent.trim();
  };
  const saved = (cell) => {
    if (cell.dataset.csv !== undefined) return cell.dataset.csv;
    return cell.dataset.sort === undefined ? whole(cell) : cell.dataset.sort;
  };
  const quoted = (text) => {
    // What a spreadsheet would take for a formula is text; numbers are not.
    const formula = /^\s*[=+\-@]/.test(text) && !/^[+-]?\d+([.,]\d*)?(e[+-]?\d+)?$/i.test(text);
    const plain = formula ? `'${text}` : text;
    return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  const csv = (table) => {
    const head = [...table.tHead.rows[0].cells].map(whole);
    const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].map(saved));
    return [head, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
  };
  const paged = (table) => {
    const size = Number(table.dataset.page), body = table.tBodies[0];
    let at = 0, wanted = "";
    const bar = made("p", "", "pager"), place = made("span", "");
    const back = made("button", "‹ Before"), on = made("button", "Next ›"), all = made("button", "All");
    place.setAttribute("role", "status");
    let every = false;
    const show = () => {
      const rows = [...body.rows];
      const matching = rows.filter((row) => !wanted || row.textContent.toLowerCase().includes(wanted));
      const step = every ? Math.max(matching.length, 1) : size;
      at = Math.min(at, Math.max(Math.ceil(matching.length / step) - 1, 0));
      const shown = new Set(matching.slice(at * step, (at + 1) * step));
      for (const row of rows) row.hidden = !shown.has(row);
      const first = matching.length ? at * step + 1 : 0, last = at * step + shown.size;
      place.textContent = `${first}–${last} of ${matching.length}`;
      back.disabled = at === 0;
      on.disabled = last >= matching.length;
      all.textContent = every ? "Fewer" : "All";
      bar.hidden = rows.length <= size;
      return matching.length;
    };
    for (const [button, act] of [[back, () => { at -= 1; }], [on, () => { at += 1; }],
      [all, () => { every = !every; at = 0; }]]) {
      button.type = "button";
      button.addEventListener("click", () => { act(); show(); });
    }
    bar.append(back, place, on, all);
    table.closest(".scroll").after(bar);
    show();
    return {
      again: () => { at = 0; show(); },
      search: (text) => { wanted = text; at = 0; return show(); },
    };
  };
  const tables = new Map();
  for (const table of document.querySelectorAll("table.sortable")) {
    const pages = paged(table);
    tables.set(table.id, pages);
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        const first = head.classList.contains("text") ? "ascending" : "descending";
        const other = first === "ascending" ? "descending" : "ascending";
        const direction = head.getAttribute("aria-sort") === first ? other : first;
        heads.forEach((h) => h.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", direction);
        const sign = direction === "ascending" ? 1 : -1;
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [value(row, column), row]);
        rows.sort((x, y) =>
          x[0] === null || y[0] === null ? compare(x[0], y[0]) : sign * compare(x[0], y[0]));
        body.append(...rows.map((pair) => pair[1]));
        pages.again();
      });
    });
  }
  for (const button of document.querySelectorAll("button.save")) {
    button.addEventListener("click", () => {
      const table = document.getElementById(button.dataset.table);
      const link = document.createElement("a");
      // The mark in front says to spreadsheets that it is UTF-8.
      link.href = URL.createObjectURL(new Blob(["\ufeff", csv(table)], { type: "text/csv" }));
      link.download = `${table.id}.csv`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }
  for (const input of document.querySelectorAll("input[data-filter]")) {
    const items = () => [...document.querySelectorAll(input.dataset.filter)];
    const shown = document.getElementById(input.getAttribute("aria-describedby"));
    const pages = tables.get(input.id.replace(/-search$/, ""));
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      let count = 0;
      if (pages) {
        count = pages.search(wanted);
      } else {
        for (const item of items()) {
          const match = item.textContent.toLowerCase().includes(wanted);
          item.hidden = !match;
          count += match;
          if (match && wanted) item.parentElement.closest("details")?.setAttribute("open", "");
        }
      }
      shown.textContent = wanted ? `${count} found` : "";
    });
  }
  // What is wider than the page says so, and on which side there is more of it.
  const cue = (box) => {
    const left = box.scrollLeft > 2;
    const right = box.scrollLeft + box.clientWidth < box.scrollWidth - 2;
    box.classList.toggle("more-left", left);
    box.classList.toggle("more-right", right);
  };
  const boxes = document.querySelectorAll(".scroll, header.top nav");
  const watch = "ResizeObserver" in window ? new ResizeObserver((seen) => seen.forEach((one) => cue(one.target))) : null;
  for (const box of boxes) {
    box.addEventListener("scroll", () => cue(box), { passive: true });
    if (watch) watch.observe(box);
    cue(box);
  }
  const theme = document.getElementById("theme");
  const dark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const label = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    label();
  });
  label();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
})();
