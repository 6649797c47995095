// Large heatmaps, painted cell by cell on a canvas under the plot. Plotly draws a rectangle for each cell: 12 × 12 heads of
// 64 tokens take it 400 ms, an array of colours 15 ms. Files are still drawn by Plotly, from the same data.

const LARGE = 4000; // cells
const SHADES = 256;
const inks = new Map(); // colours of a scale as 32-bit pixels

// Has Plotly's module for heatmaps leave large ones in the page to a canvas. Its module is found in a plot of one cell.
export async function paintLargeHeatmaps(Plotly) {
  const probe = document.createElement("div"), hidden = { visible: false };
  await Plotly.newPlot(probe, [{ type: "heatmap", z: [[0]], showscale: false }], { width: 40, height: 40, margin: { l: 0, r: 0, t: 0, b: 0 }, xaxis: hidden, yaxis: hidden }, { staticPlot: true });
  const module = probe._fullData[0]._module, { plot: draw, hoverPoints } = module;
  Plotly.purge(probe);
  module.plot = (gd, subplot, calculated, layer) => {
    const large = calculated.filter(([{ trace }]) => isPainted(gd, trace)), kept = new Set(large.map(([{ trace }]) => trace.uid));
    draw(gd, subplot, calculated.filter((one) => !large.includes(one)), layer);
    for (const [first] of large) paintTrace(gd, subplot, first);
    for (const canvas of gd.querySelectorAll(`.painted[data-subplot="${subplot.id}"] canvas`)) if (!kept.has(canvas.dataset.uid)) canvas.remove();
  };
  module.hoverPoints = (...about) => hoverPoints(...about)?.filter(({ zLabelVal }) => !Number.isNaN(zLabelVal)); // between two maps
}

const isPainted = (gd, { z, zsmooth, _islinear }) => Boolean(gd.closest?.(".live")) && !zsmooth && _islinear && z.length * (z[0]?.length ?? 0) >= LARGE;

function paintTrace(gd, { id, xaxis, yaxis }, calculated) {
  const { trace, z, x, y } = calculated, frame = frameOf(gd, id);
  frame.style.cssText = `left:${xaxis._offset}px;top:${yaxis._offset}px;width:${xaxis._length}px;height:${yaxis._length}px`;
  const canvas = [...frame.children].find(({ dataset }) => dataset.uid === trace.uid) ?? frame.appendChild(document.createElement("canvas"));
  canvas.dataset.uid = trace.uid;
  paint(canvas, z, trace.colorscale, [trace.zmin, trace.zmax]);
  const edges = (axis, between) => [axis.c2p(between[0]), axis.c2p(between.at(-1))], [left, right] = edges(xaxis, x), [top, bottom] = edges(yaxis, y);
  const turned = [right < left ? -1 : 1, bottom < top ? -1 : 1];
  canvas.style.cssText = `left:${Math.min(left, right)}px;top:${Math.min(top, bottom)}px;width:${Math.abs(right - left)}px;height:${Math.abs(bottom - top)}px;transform:scale(${turned})`;
}

// The plot's area of a subplot, behind Plotly's own drawing.
function frameOf(gd, id) {
  const found = gd.querySelector(`.painted[data-subplot="${id}"]`);
  if (found) return found;
  const frame = Object.assign(document.createElement("div"), { className: "painted" });
  frame.dataset.subplot = id;
  gd.querySelector(".svg-container").prepend(frame);
  return frame;
}

// (row, column) as pixels, one for each cell; what is no number stays clear
export function paint(canvas, z, scale, [low, high]) {
  const rows = z.length, columns = z[0].length, ink = inkOf(scale), factor = (SHADES - 1) / (high - low || 1);
  if (canvas.width !== columns || canvas.height !== rows) [canvas.width, canvas.height] = [columns, rows];
  const pixels = new Uint32Array(rows * columns);
  let i = 0;
  for (const row of z) {
    for (let x = 0; x < columns; x++, i++) {
      const shade = (row[x] - low) * factor + 0.5;
      if (shade === shade) pixels[i] = ink[shade < 0 ? 0 : shade >= SHADES ? SHADES - 1 : shade | 0];
    }
  }
  canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), columns, rows), 0, 0);
}

function inkOf(scale) {
  const key = JSON.stringify(scale);
  if (!inks.has(key)) {
    const strip = Object.assign(document.createElement("canvas"), { width: SHADES, height: 1 }), brush = strip.getContext("2d");
    brush.fillStyle = brush.createLinearGradient(0.5, 0, SHADES - 0.5, 0);
    for (const [stop, colour] of scale) brush.fillStyle.addColorStop(stop, colour);
    brush.fillRect(0, 0, SHADES, 1);
    inks.set(key, new Uint32Array(brush.getImageData(0, 0, SHADES, 1).data.buffer));
  }
  return inks.get(key);
}
