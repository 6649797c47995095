// Arcs as a file: the same curves, as an SVG.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { svgText } from "./svg_files.js";
import { labelOf } from "./token_labels.js";

export function arcsSvg(arcs) {
  const { left, right, bend, width, height, size } = arcs.place, { rows, columns, marks } = arcs.data;
  const [ink, accent, amber] = ["--iv-ink", "--iv-accent", "--iv-amber"].map(colour.token);
  const curve = (row, column, attributes) => make("path", {
    d: `M${left} ${arcs.y(row)} C${left + bend} ${arcs.y(row)} ${right - bend} ${arcs.y(column)} ${right} ${arcs.y(column)}`, fill: "none", ...attributes });
  const drawn = arcs.arcs.map((arc) => {
    const { lit, width: thick, opacity } = arcs.style(arc);
    return curve(arc.row, arc.column, { class: "arc", stroke: lit ? accent : ink, "stroke-width": thick, "stroke-opacity": opacity });
  });
  const ideal = (marks ?? []).flatMap((targets, row) => targets.map((column) => curve(row, column, { stroke: amber, "stroke-dasharray": "3 3" })));
  const names = (tokens, side, x, anchor) => tokens.map((token, i) => make("text", {
    x, y: arcs.y(i) + size / 3, "text-anchor": anchor, "font-size": size, "font-family": "ui-monospace, monospace", fill: arcs.named(side, i) ? accent : ink,
  }, labelOf(token).text));
  return svgText(make("svg", { width, height }, ...ideal, ...drawn, ...names(rows, "row", left - 8, "end"), ...names(columns, "column", right + 8, "start")));
}
