// A figure as a file: PNG and SVG by Plotly, CSV from the data it holds.

export const exportsOf = (Plotly, plot, name) => ({
  png: () => image(Plotly, plot, name(), "png", 2),
  svg: () => image(Plotly, plot, name(), "svg", 1),
  csv: () => save(`${name()}.csv`, new Blob([csvOf(plot)], { type: "text/csv" })),
});

function image(Plotly, plot, filename, format, scale) {
  const { width, height } = plot._fullLayout;
  return Plotly.downloadImage(plot, { format, filename, width, height, scale });
}

function save(filename, blob) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: filename });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Heatmaps as a table with the tokens on its edges; other traces as one row a point.
export function csvOf({ data, _fullLayout }) {
  const maps = data.filter(({ type }) => type === "heatmap");
  if (maps.length) return maps.map((map) => table(map, _fullLayout)).join("\n");
  const rows = data.flatMap(({ name, x = [], y = [] }, trace) => Array.from(y, (value, i) => [name ?? trace, x[i] ?? i, value]));
  return lines([["trace", "x", "y"], ...rows]);
}

function table({ z }, { xaxis, yaxis }) {
  const label = ({ ticktext }, i) => ticktext?.[i] ?? i, columns = Array.from(z[0] ?? [], (_, i) => label(xaxis, i));
  return lines([["", ...columns], ...Array.from(z, (row, i) => [label(yaxis, i), ...row])]);
}

const lines = (rows) => rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
const quoted = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
