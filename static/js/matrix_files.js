// A heatmap as a file: CSV of all its numbers, SVG of the part in view.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { overlayShapes } from "./overlays.js";
import { LABEL, labelOf } from "./token_labels.js";

const MOST_RECTS = 20000; // cells of an SVG that are shapes; more of them are one picture
const AXIS = 20, BAR_ROOM = 34; // px for what an axis is, and for the bar of colours

export function csvOf(heatmap) {
  const { rows, columns } = heatmap.data;
  const quote = (text) => `"${String(text).replaceAll('"', '""')}"`;
  const lines = rows.map((token, i) => [quote(token), ...columns.map((_, j) => heatmap.value(i, j))].join(","));
  return [["", ...columns.map(quote)].join(","), ...lines].join("\n") + "\n";
}

// What is in view, with its tokens, what rows and columns are, and a bar that tells what the colours stand for.
export function svgOf(heatmap) {
  const { left, top, cellWidth, cellHeight, names, lies } = heatmap.place, { rows, columns } = heatmap.data, view = heatmap.window;
  const [inX, inY] = [cellWidth * view.columns, cellHeight * view.rows], axes = heatmap.options.axes?.();
  const [edge, head] = axes ? [AXIS, AXIS] : [0, 0], width = edge + Math.max(left + inX + 1, 220), height = head + top + inY + BAR_ROOM;
  const ink = colour.token("--iv-ink"), mute = colour.token("--iv-mute");
  const inside = make("g", { transform: `translate(${edge} ${head})` });
  inside.append(...(view.rows * view.columns > MOST_RECTS ? [picture(heatmap)] : cells(heatmap)));
  const { rows: down, columns: along } = names;
  for (let i = view.row; i < view.row + view.rows; i += down.every) {
    inside.append(make("text", { x: left - 5, y: heatmap.y(i + 0.5) + down.size / 3, "text-anchor": "end", "font-size": down.size }, labelOf(rows[i]).text));
  }
  for (let j = view.column; j < view.column + view.columns; j += along.every) {
    const place = lies(columns[j]) ? { x: heatmap.x(j + 0.5), y: top - 7, "text-anchor": "middle" } : { transform: `translate(${heatmap.x(j + 0.5) + along.size / 3} ${top - 5}) rotate(-90)` };
    inside.append(make("text", { ...place, "font-size": along.size }, labelOf(columns[j]).text));
  }
  inside.append(...overlayShapes(heatmap), ...colourBar(heatmap.data.kind, heatmap.data.limit, left, top + inY + 14));
  const words = axes ? [
    make("text", { transform: `translate(12 ${head + top + inY / 2}) rotate(-90)`, "text-anchor": "middle", fill: mute }, axes.rows),
    make("text", { x: edge + left + inX / 2, y: 12, "text-anchor": "middle", fill: mute }, axes.columns)] : [];
  return new XMLSerializer().serializeToString(make("svg", {
    xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-size": LABEL, "font-family": "ui-monospace, monospace", fill: ink,
  }, inside, ...words));
}

// from the least to the most that the colours of a kind show
export function colourBar(kind, limit, left, y) {
  const colours = colour.scale(kind), steps = 64, wide = 128 / steps, fill = colour.token("--iv-mute");
  const most = Number(limit.toPrecision(3)), ends = kind === "signed" ? [`−${most}`, String(most)] : ["0", String(most)];
  const first = 8 * ends[0].length + 6;
  return [
    make("text", { x: left + first - 6, y: y + 10, "text-anchor": "end", fill }, ends[0]),
    ...Array.from({ length: steps }, (_, i) => make("rect", {
      x: left + first + i * wide, y, width: wide + 0.2, height: 11, fill: colour.css(colours[Math.round((i * 255) / (steps - 1))]) })),
    make("rect", { x: left + first, y, width: 128, height: 11, fill: "none", stroke: fill, "stroke-opacity": 0.5 }),
    make("text", { x: left + first + 134, y: y + 10, fill }, ends[1]),
  ];
}

function cells(heatmap) {
  const { kind, limit, allowed } = heatmap.data, { cellWidth, cellHeight } = heatmap.place, view = heatmap.window;
  const colours = colour.scale(kind), rects = [];
  const slope = kind === "signed" ? 127.5 / limit : 255 / limit, shift = kind === "signed" ? 127.5 : 0;
  for (let i = view.row; i < view.row + view.rows; i++) {
    for (let j = view.column; j < view.column + view.columns; j++) {
      const level = Math.max(0, Math.min(255, Math.round(heatmap.value(i, j) * slope + shift)));
      const fill = colour.css(!allowed || allowed.value(i, j) ? colours[level] : colour.closed());
      rects.push(make("rect", { x: heatmap.x(j), y: heatmap.y(i), width: cellWidth, height: cellHeight, fill, "shape-rendering": "crispEdges" }));
    }
  }
  return rects;
}

function picture(heatmap) {
  const { left, top, cellWidth, cellHeight } = heatmap.place, view = heatmap.window, { pooled } = heatmap.data;
  const from = [view.column, view.row, view.columns, view.rows].map((side) => Math.ceil(side / pooled));
  return pictureOf(heatmap.small, from, [left, top, cellWidth * view.columns, cellHeight * view.rows]);
}

// a part [x, y, width, height] of a canvas as an image of an SVG
export function pictureOf(canvas, [x, y, width, height], [left, top, wide, high]) {
  const part = document.createElement("canvas");
  [part.width, part.height] = [width, height];
  part.getContext("2d").drawImage(canvas, -x, -y);
  const image = document.createElementNS("http://www.w3.org/2000/svg", "image");
  const attributes = { x: left, y: top, width: wide, height: high, href: part.toDataURL(), preserveAspectRatio: "none", style: "image-rendering: pixelated" };
  for (const [name, value] of Object.entries(attributes)) image.setAttribute(name, value);
  return image;
}
