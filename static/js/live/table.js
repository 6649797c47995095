// A table described as Plotly's go.Table, written with elements of the page: header and cells with their colours.

export function writeTable(parent, { header, cells }) {
  const element = (tag, ...children) => {
    const one = document.createElement(tag);
    one.append(...children);
    return one;
  };
  const of = (given, column, row) => (Array.isArray(given) ? of(given[Math.min(column, given.length - 1)], row) : given); // one for all, by column, or by cell
  const cell = (column, row) => {
    const one = element("td", String(cells.values[column][row])), given = { color: cells.font?.color, backgroundColor: cells.fill?.color };
    for (const [property, values] of Object.entries(given)) one.style[property] = of(values, column, row) ?? "";
    return one;
  };
  const names = header.values.map((name) => Object.assign(element("th", name), { scope: "col" }));
  const rows = cells.values[0].map((_, row) => element("tr", ...cells.values.map((_, column) => cell(column, row))));
  const box = element("div", element("table", element("thead", element("tr", ...names)), element("tbody", ...rows)));
  Object.assign(box, { className: "table-box", tabIndex: 0 });
  const before = parent.querySelector(".table-box")?.scrollTop ?? 0;
  parent.replaceChildren(box);
  box.scrollTop = before;
}
