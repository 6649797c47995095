// What a figure shows before Plotly is there: its heatmaps, painted where Plotly will draw them, from the same arrays.

import { evaluate } from "./expressions.js";

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
  for (const trace of maps) paint(canvas, bound(trace, "z"), bound(trace, "colorscale"), [bound(trace, "zmin") ?? 0, bound(trace, "zmax") ?? 1], layout);
  return canvas;
}

function paint(canvas, z, scale, [low, high], { xaxis = {}, yaxis = {} }) {
  const small = document.createElement("canvas"), rows = z.length, columns = z[0]?.length ?? 0;
  if (!columns || !scale) return;
  [small.width, small.height] = [columns, rows];
  const brush = small.getContext("2d"), image = brush.createImageData(columns, rows), colours = scale.map(([, hex]) => rgb(hex));
  for (let y = 0, i = 0; y < rows; y++) {
    for (let x = 0; x < columns; x++, i += 4) {
      if (Number.isNaN(z[y][x])) continue;
      const share = Math.max(0, Math.min(1, (z[y][x] - low) / (high - low || 1)));
      image.data.set([...colours[Math.round(share * (colours.length - 1))], 255], i);
    }
  }
  brush.putImageData(image, 0, 0);
  const [left, right] = xaxis.range ?? [-0.5, columns - 0.5], [bottom, top] = yaxis.range ?? [-0.5, rows - 0.5];
  const into = canvas.getContext("2d"), across = canvas.width / (right - left), down = canvas.height / (bottom - top);
  into.imageSmoothingEnabled = false;
  into.drawImage(small, (-0.5 - left) * across, (-0.5 - top) * down, columns * across, rows * down);
}

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
