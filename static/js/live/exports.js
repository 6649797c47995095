// A figure as a file: PNG and SVG by Plotly, with its title, what it is of and its caption; CSV from the data it holds.

import { pack } from "../payload.js";
import { evaluate, keysOf } from "./expressions.js";

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

// Figures as one page that scrubs from disk: the same player, their descriptions and arrays, in a file of its own.
export async function pageOf(figures, address) {
  const { state, templates } = figures[0].player.page, used = new Set(), all = Object.assign({}, ...figures.map(({ arrays }) => arrays));
  for (const { spec } of figures) for (const key of keysOf({ ...spec, figure: null })) if (key.startsWith("#")) used.add(key.slice(1));
  const packed = pack(Object.fromEntries([...used].filter((name) => all[name]).map((name) => [name, all[name]])));
  const compressed = await new Response(new Blob([packed]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer();
  const page = { figures: figures.map(({ spec }) => spec), templates, state, keys: Object.assign({}, ...figures.map(({ spec }) => spec.keys)), arrays: base64(new Uint8Array(compressed)) };
  const text = JSON.stringify(page).replaceAll("<", "\\u003c"), template = await (await fetch(address)).text();
  const filled = { PAGE: text, THEME: state.theme, LANGUAGE: state.language };
  return new Blob([template.replace(/__(PAGE|THEME|LANGUAGE)__/g, (_, name) => filled[name])], { type: "text/html" });
}

function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(text);
}

// An SVG that brings its own style, as a PNG of three times its size.
export async function rasterised(svg) {
  const address = URL.createObjectURL(new Blob([svg], { type: MIME.svg })), picture = Object.assign(new Image(), { src: address }), canvas = document.createElement("canvas");
  await picture.decode();
  const scale = Math.min(3, 8000 / picture.width, 8000 / picture.height); // px that browsers can hold
  Object.assign(canvas, { width: Math.round(scale * picture.width), height: Math.round(scale * picture.height) });
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  return new Promise((done) => canvas.toBlob(done, MIME.png));
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
export function csvOf({ plot, plot: { data }, spec, context }) {
  if (Array.isArray(spec.table)) return spread(spec.table, context);
  if (Object.keys(spec.table).length) {
    const columns = Object.values(spec.table).map((column) => flat(evaluate(column, context)));
    return lines([Object.keys(spec.table), ...columns[0].map((_, row) => columns.map((column) => column[row]))]);
  }
  const maps = data.filter(({ type, visible, meta }) => type === "heatmap" && visible !== false && meta !== "overlay");
  if (maps.length) return maps.map((map) => table(map, evaluate(spec.tokens, context))).join("\n");
  const named = data.filter(({ name, x, visible }) => name && x && visible !== false);
  if (named.length && named.every(({ x }) => String(x) === String(named[0].x))) { // over one axis: a column each
    const axis = (plot.layout.xaxis?.title?.text ?? "x").replace(/ →$/, "");
    return lines([[axis, ...named.map(({ name }) => name)], ...Array.from(named[0].x, (x, i) => [x, ...named.map(({ y }) => (Number.isNaN(y[i]) ? "" : y[i]))])]);
  }
  const rows = data.flatMap(({ name, x = [], y = [] }, trace) => Array.from(y, (value, i) => [name ?? trace, x[i] ?? i, value]));
  return lines([["trace", "x", "y"], ...rows]);
}

// pairs of a name and its column, or of several names and rows of values
function spread(columns, context) {
  const parts = evaluate(columns, context), several = (value) => (Array.isArray(value) || ArrayBuffer.isView(value) ? Array.from(value) : [value]);
  return lines([parts.flatMap(([head]) => several(head)), ...Array.from(parts[0][1], (_, row) => parts.flatMap(([, column]) => several(column[row])))]);
}

const flat = (values) => (values?.shape ? Array.from(values.data) : Array.from(values, (value) => (typeof value === "object" && value !== null ? flat(value) : value)).flat());

function table({ name, z, x, y }, tokens) {
  const label = (axis, given, i) => tokens[axis]?.[i] ?? given?.[i] ?? i;
  const columns = Array.from(z[0] ?? [], (_, i) => label("x", x, i));
  return lines([[name ?? "", ...columns], ...Array.from(z, (row, i) => [label("y", y, i), ...row])]);
}

const lines = (rows) => rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
const quoted = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ""));
