(() => {
  "use strict";
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
  for (const table of document.querySelectorAll("table.sortable")) {
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
      });
    });
  }
  for (const input of document.querySelectorAll("input[data-filter]")) {
    const items = () => [...document.querySelectorAll(input.dataset.filter)];
    const shown = document.getElementById(input.getAttribute("aria-describedby"));
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      let count = 0;
      for (const item of items()) {
        const match = item.textContent.toLowerCase().includes(wanted);
        item.hidden = !match;
        count += match;
      }
      shown.textContent = wanted ? `${count} shown` : "";
    });
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
