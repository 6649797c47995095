// What a figure shows before Plotly is there: its heatmaps, painted where Plotly will draw them, from the same arrays.

import { evaluate } from "./expressions.js";
import { paint } from "./heatmap_canvas.js";

// → the canvas, or null where there is nothing to paint
export function poster({ figure: { data, layout }, bindings }, context, { width, height }) {
  const maps = data.flatMap(({ type }, trace) => (type === "heatmap" ? [trace] : [])), ratio = window.devicePixelRatio || 1;
  if (!maps.length || layout.grid || layout.xaxis2) return null;
  const bound = (trace, name) => evaluate(bindings[`data[${trace}].${name}`] ?? data[trace][name], context);
  const { l, r, t, b } = { l: 8, r: 8, t: 8, b: 8, ...layout.margin }, canvas = document.createElement("canvas");
  canvas.className = "poster";
  canvas.width = (width - l - r) * ratio;
  canvas.height = (height - t - b) * ratio;
  canvas.style.cssText = `left:${l}px;top:${t}px;width:${width - l - r}px;height:${height - t - b}px`;
  for (const trace of maps) paintMap(canvas, bound(trace, "z"), bound(trace, "colorscale"), [bound(trace, "zmin") ?? 0, bound(trace, "zmax") ?? 1], layout);
  return canvas;
}

function paintMap(canvas, z, scale, limits, { xaxis = {}, yaxis = {} }) {
  const small = document.createElement("canvas"), rows = z.length, columns = z[0]?.length ?? 0;
  if (!columns || !scale) return;
  paint(small, z, scale, limits);
  const [left, right] = xaxis.range ?? [-0.5, columns - 0.5], [bottom, top] = yaxis.range ?? [-0.5, rows - 0.5];
  const into = canvas.getContext("2d"), across = canvas.width / (right - left), down = canvas.height / (bottom - top);
  into.imageSmoothingEnabled = false;
  into.drawImage(small, (-0.5 - left) * across, (-0.5 - top) * down, columns * across, rows * down);
}
