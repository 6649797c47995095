// A figure as a file: PNG and SVG by Plotly, with its title, what it is of and its caption; CSV from the data it holds.

import { evaluate } from "./expressions.js";

const EDGE = 24, LINE = 1.45, LEAST = 420; // px around; height of a line in type sizes; px of width for the words
const ruler = document.createElement("canvas").getContext("2d");
const MIME = { png: "image/png", svg: "image/svg+xml", csv: "text/csv" };

// {png, svg, csv} → functions that give a Blob; about() → what the picture is of: run, step, input
export const exportsOf = (figure, about = () => "") => ({
  png: async () => (await fetch(await image(figure, about(), "png", 2))).blob(),
  svg: async () => new Blob([decodeURIComponent((await image(figure, about(), "svg", 1)).replace(/^data:image\/svg\+xml,/, ""))], { type: MIME.svg }),
  csv: async () => new Blob([csvOf(figure)], { type: MIME.csv }),
});

export function save(name, blob) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function image({ Plotly, plot, spec, context, player }, about, format, scale) {
  const { width, height, _size: { l, r, t, b }, font } = plot._fullLayout, { layout: { font: { color }, hoverlabel } } = player.page.templates[context.state.theme];
  const wide = Math.max(width, LEAST) + 2 * EDGE, room = wide - 2 * EDGE;
  const written = (part, size, weight) => wrapped(evaluate(part, context).replaceAll("**", ""), size, weight, room, font.family);
  const head = [[written(spec.title, 18, 600), 18, "<b>", "</b>"], [written(about, 13, 400), 13, "", ""]], foot = [[written(spec.caption, 14, 400), 14, "", ""]];
  const tall = (blocks) => blocks.reduce((sum, [lines, size]) => sum + lines.length * size * LINE, 0) + 14;
  const above = tall(head) + EDGE, below = tall(foot) + EDGE, notes = [];
  const write = (blocks, y, yanchor, from) => {
    for (const [lines, size, open, close] of blocks) {
      if (!lines.length) continue;
      notes.push({ xref: "paper", yref: "paper", x: 0, y, xanchor: "left", yanchor: "top", xshift: -l, yshift: from, align: "left", showarrow: false,
        text: lines.map((line) => open + escaped(line) + close).join("<br>"), font: { size, color } });
      from -= lines.length * size * LINE;
    }
  };
  write(head, 1, "top", t + above - EDGE);
  write(foot, 0, "top", -b - 10);
  const layout = { ...plot.layout, width: wide, height: height + above + below, paper_bgcolor: hoverlabel.bgcolor,
    margin: { l: l + EDGE, r: r + wide - width - EDGE, t: t + above, b: b + below, autoexpand: false }, annotations: [...(plot.layout.annotations ?? []), ...notes] };
  return Plotly.toImage({ data: plot.data, layout }, { format, width: wide, height: layout.height, scale });
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

// lines of a text; also between any two Chinese characters
function wrapped(text, size, weight, most, family) {
  ruler.font = `${weight} ${size}px ${family}`;
  const lines = [];
  let line = "";
  for (const piece of text.match(/[\u3000-\u9fff\uff00-\uffef]|[^\s\u3000-\u9fff\uff00-\uffef]+\s*|\s+/g) ?? []) {
    if (line && ruler.measureText((line + piece).trimEnd()).width > most) {
      lines.push(line.trimEnd());
      line = "";
    }
    line += piece;
  }
  return line.trim() ? [...lines, line.trimEnd()] : lines;
}

// The figure's own table; else heatmaps with the tokens on their edges, other traces as one row a point.
export function csvOf({ plot: { data }, spec, context }) {
  if (Object.keys(spec.table).length) {
    const columns = Object.values(spec.table).map((column) => flat(evaluate(column, context)));
    return lines([Object.keys(spec.table), ...columns[0].map((_, row) => columns.map((column) => column[row]))]);
  }
  const maps = data.filter(({ type }) => type === "heatmap");
  if (maps.length) return maps.map((map) => table(map, evaluate(spec.tokens, context))).join("\n");
  const rows = data.flatMap(({ name, x = [], y = [] }, trace) => Array.from(y, (value, i) => [name ?? trace, x[i] ?? i, value]));
  return lines([["trace", "x", "y"], ...rows]);
}

const flat = (values) => (values?.shape ? Array.from(values.data) : Array.from(values, (value) => (typeof value === "object" && value !== null ? flat(value) : value)).flat());

function table({ z, x, y }, tokens) {
  const label = (axis, given, i) => tokens[axis]?.[i] ?? given?.[i] ?? i;
  const columns = Array.from(z[0] ?? [], (_, i) => label("x", x, i));
  return lines([["", ...columns], ...Array.from(z, (row, i) => [label("y", y, i), ...row])]);
}

const lines = (rows) => rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
const quoted = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ""));
