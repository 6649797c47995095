// All heads as a file: the same maps and names, and what the colours stand for.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { colourBar, pictureOf } from "./matrix_files.js";
import { roleSize } from "./roles.js";
import { svgText } from "./svg_files.js";

const ruler = document.createElement("canvas").getContext("2d");

export function gridSvg(grid) {
  const { left, top, side, pitchX, pitchY, layers, count, named } = grid.place, { limit, rows, columns } = grid.painted;
  const [mute, accent, line] = ["--iv-mute", "--iv-accent", "--iv-line"].map(colour.token), parts = [];
  const text = (x, y, words, attributes) => make("text", { x, y, "text-anchor": "middle", "font-size": 12, fill: mute, ...attributes }, words);
  for (let head = 0; head < count; head++) parts.push(text(left + head * pitchX + side / 2, 14, String(head)));
  for (let layer = 0; layer < layers; layer++) parts.push(text(9, top + layer * pitchY + side / 2 + 4, String(layer)));
  const label = named ? grid.labels(ruler) : null;
  grid.each((layer, head, role) => {
    const [x, y] = [left + head * pitchX, top + layer * pitchY];
    parts.push(pictureOf(grid.tile, [head * columns, layer * rows, columns, rows], [x, y, side, side]));
    parts.push(make("rect", { x, y, width: side, height: side, fill: "none", stroke: line }));
    if (!named) return;
    parts.push(text(x + side / 2, y + side + 15, label(role), { "font-size": roleSize(), fill: role.clear ? accent : mute, "font-weight": role.clear ? 600 : 400 }));
  });
  const foot = top + layers * pitchY + 6;
  parts.push(...colourBar("weight", limit, left, foot));
  return svgText(make("svg", { width: Math.max(220, left + count * pitchX), height: foot + 24 }, ...parts));
}
