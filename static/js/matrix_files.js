// A heatmap as a file: CSV of all its numbers, SVG of the part in view.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { LABEL, labelOf } from "./token_labels.js";

const MOST_RECTS = 20000; // cells of an SVG that are shapes; more of them are one picture

export function csvOf(heatmap) {
  const { rows, columns } = heatmap.data;
  const quote = (text) => `"${String(text).replaceAll('"', '""')}"`;
  const lines = rows.map((token, i) => [quote(token), ...columns.map((_, j) => heatmap.value(i, j))].join(","));
  return [["", ...columns.map(quote)].join(","), ...lines].join("\n") + "\n";
}

export function svgOf(heatmap) {
  const { left, top, cellWidth, cellHeight } = heatmap.place, { rows, columns } = heatmap.data, view = heatmap.window;
  const width = left + cellWidth * view.columns + 1, height = top + cellHeight * view.rows + 1;
  const root = make("svg", {
    xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-size": LABEL,
    "font-family": "ui-monospace, monospace", fill: colour.token("--iv-ink"),
  });
  root.append(...(view.rows * view.columns > MOST_RECTS ? [picture(heatmap)] : cells(heatmap)));
  const every = (size) => Math.max(1, Math.ceil((LABEL + 2) / size));
  for (let i = view.row; i < view.row + view.rows; i += every(cellHeight)) {
    root.append(make("text", { x: left - 5, y: heatmap.y(i + 0.5) + 4, "text-anchor": "end" }, labelOf(rows[i]).text));
  }
  for (let j = view.column; j < view.column + view.columns; j += every(cellWidth)) {
    root.append(make("text", { transform: `translate(${heatmap.x(j + 0.5) + 4} ${top - 5}) rotate(-90)` }, labelOf(columns[j]).text));
  }
  return new XMLSerializer().serializeToString(root);
}

function cells(heatmap) {
  const { kind, limit, allowed } = heatmap.data, { cellWidth, cellHeight } = heatmap.place, view = heatmap.window;
  const colours = colour.scale(kind), rects = [];
  const slope = kind === "signed" ? 127.5 / limit : 255 / limit, shift = kind === "signed" ? 127.5 : 0;
  for (let i = view.row; i < view.row + view.rows; i++) {
    for (let j = view.column; j < view.column + view.columns; j++) {
      const level = Math.max(0, Math.min(255, Math.round(heatmap.value(i, j) * slope + shift)));
      const fill = colour.css(!allowed || allowed.value(i, j) ? colours[level] : colour.closed());
      rects.push(make("rect", { x: heatmap.x(j), y: heatmap.y(i), width: cellWidth, height: cellHeight, fill }));
    }
  }
  return rects;
}

function picture(heatmap) {
  const { left, top, cellWidth, cellHeight } = heatmap.place, view = heatmap.window, { pooled } = heatmap.data;
  const part = document.createElement("canvas");
  [part.width, part.height] = [Math.ceil(view.columns / pooled), Math.ceil(view.rows / pooled)];
  part.getContext("2d").drawImage(heatmap.small, -view.column / pooled, -view.row / pooled);
  const image = document.createElementNS("http://www.w3.org/2000/svg", "image");
  const attributes = {
    x: left, y: top, width: cellWidth * view.columns, height: cellHeight * view.rows, href: part.toDataURL(),
    preserveAspectRatio: "none", style: "image-rendering: pixelated",
  };
  for (const [name, value] of Object.entries(attributes)) image.setAttribute(name, value);
  return image;
}
