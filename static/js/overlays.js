// What is drawn over a heatmap's cells, on the canvas and in the file alike: rings on the cells that should be dark,
// crosses on those that cannot be, paths from cell to cell.

import * as colour from "./colour.js";
import { make } from "./dom.js";

const EDGE = 1.5; // px between a ring and its cell
const CROSS = 5, DOT = 3.5; // px, at most: half a cross, half a dot on a path

// [{d, stroke, width, dash, fill}] of all that lies in view
export function overlays(heatmap) {
  const { marks, crosses, paths } = heatmap.data, { cellWidth, cellHeight } = heatmap.place, view = heatmap.window;
  const inView = (row, column) => row >= view.row && row < view.row + view.rows && column >= view.column && column < view.column + view.columns;
  const shapes = [], centre = ([row, column]) => [heatmap.x(column + 0.5), heatmap.y(row + 0.5)];
  const [wide, high] = [cellWidth, cellHeight].map((side) => Math.max(1, side - 2 * EDGE));
  (marks ?? []).forEach((columns, row) => columns.filter((column) => inView(row, column)).forEach((column) => {
    shapes.push({ d: `M${heatmap.x(column) + EDGE},${heatmap.y(row) + EDGE}h${wide}v${high}h${-wide}z`, stroke: "--iv-amber", width: 1.5 });
  }));
  const half = Math.min(CROSS, cellWidth / 4, cellHeight / 4);
  (crosses ?? []).filter((cell) => inView(...cell)).forEach((cell) => {
    const [x, y] = centre(cell);
    shapes.push({ d: `M${x - half},${y - half}l${2 * half},${2 * half}m0,${-2 * half}l${-2 * half},${2 * half}`, stroke: "--iv-mute", width: 1.4 });
  });
  const dot = Math.min(DOT, cellWidth / 4, cellHeight / 4);
  for (const { cells, tone, dash = null } of paths ?? []) {
    const seen = cells.filter((cell) => inView(...cell)).map(centre);
    if (!seen.length) continue;
    shapes.push({ d: `M${seen.map((at) => at.join(",")).join("L")}`, stroke: tone, width: 2.5, dash });
    shapes.push({ d: seen.map(([x, y]) => `M${x - dot},${y}a${dot},${dot} 0 1 0 ${2 * dot},0a${dot},${dot} 0 1 0 ${-2 * dot},0z`).join(""), stroke: tone, width: 1.5, fill: "--iv-card" });
  }
  return shapes;
}

export function paintOverlays(context, heatmap) {
  for (const { d, stroke, width, dash, fill } of overlays(heatmap)) {
    const shape = new Path2D(d);
    context.strokeStyle = colour.token(stroke);
    context.lineWidth = width;
    context.setLineDash(dash ?? []);
    if (fill) {
      context.fillStyle = colour.token(fill);
      context.fill(shape);
    }
    context.stroke(shape);
  }
  context.setLineDash([]);
}

export const overlayShapes = (heatmap) => overlays(heatmap).map(({ d, stroke, width, dash, fill }) => make("path", {
  d, fill: fill ? colour.token(fill) : "none", stroke: colour.token(stroke), "stroke-width": width, "stroke-dasharray": dash?.join(" "), "stroke-linejoin": "round" }));
