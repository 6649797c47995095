// One head as arcs from the looking token (left) to the seen one (right); as thick as their weight.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { pngOf, svgText } from "./svg_files.js";
import { LABEL, labelOf } from "./token_labels.js";

const ROW = 22, NAMES = 104; // px: per token, for the names on a side
export const FAINT = 0.02; // weights below this are not drawn
export const MOST_TOKENS = 128;

export class Arcs {
  // options: onSelect(cell), describe(row, column) → text of the tip
  constructor(parent, options) {
    this.options = options;
    this.svg = make("svg", { class: "arcs", role: "img", tabindex: 0 });
    this.selected = null;
    this.hot = null; // ["row" or "column", index] of the token under the pointer
    parent.append(this.svg);
    this.svg.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.data && this.draw()).observe(parent);
  }

  set(data) {
    this.data = data;
    this.svg.setAttribute("aria-label", data.label);
    this.draw();
  }

  select(cell) {
    this.selected = cell;
    if (this.data) this.draw();
  }

  draw() {
    const { values, rows, columns, allowed, marks } = this.data, width = this.svg.parentElement.clientWidth;
    if (!width) return;
    const [left, right] = [NAMES, width - NAMES], bend = (right - left) * 0.45, y = (i) => (i + 0.5) * ROW + 4;
    const [ink, accent, amber] = ["--iv-ink", "--iv-accent", "--iv-amber"].map(colour.token);
    const curve = (i, j, attributes, ...children) => make("path", {
      d: `M${left} ${y(i)} C${left + bend} ${y(i)} ${right - bend} ${y(j)} ${right} ${y(j)}`, fill: "none", ...attributes }, ...children);
    const hot = (i, j) => (this.hot ? this.hot[1] === (this.hot[0] === "row" ? i : j) : this.selected?.[0] === i);
    const lit = this.hot ?? this.selected, parts = [];
    marks?.forEach((targets, i) => targets.forEach((j) => parts.push(curve(i, j, { stroke: amber, "stroke-width": 1, "stroke-dasharray": "3 3" }))));
    rows.forEach((_, i) => columns.forEach((_, j) => {
      const weight = values.value(i, j);
      if (weight < FAINT || (allowed && !allowed.value(i, j))) return;
      parts.push(curve(i, j, {
        stroke: hot(i, j) ? accent : ink, "stroke-width": 0.5 + 5 * weight, "stroke-opacity": lit && !hot(i, j) ? 0.06 : 0.15 + 0.7 * weight,
        class: "arc", onclick: () => this.options.onSelect([i, j]),
      }, make("title", {}, this.options.describe(i, j))));
    }));
    const names = (tokens, x, anchor, side) => tokens.map((token, i) => make("text", {
      x, y: y(i) + 4, "text-anchor": anchor, class: "arc-token", "font-size": LABEL,
      fill: this.selected?.[side === "row" ? 0 : 1] === i || (this.hot?.[0] === side && this.hot[1] === i) ? accent : ink,
      onpointerenter: () => this.point([side, i]), onpointerleave: () => this.point(null), onclick: () => this.choose(side, i),
    }, labelOf(token).text));
    this.svg.setAttribute("height", Math.max(rows.length, columns.length) * ROW + 14);
    this.svg.setAttribute("width", width);
    this.svg.replaceChildren(...parts, ...names(rows, left - 8, "end", "row"), ...names(columns, right + 8, "start", "column"));
  }

  // drawing anew puts another element under the pointer, which reports it once more
  point(hot) {
    if (String(hot) === String(this.hot)) return;
    this.hot = hot;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.draw(), 30);
  }

  choose(side, index) {
    const [row, column] = this.selected ?? [0, 0];
    this.options.onSelect(side === "row" ? [index, this.strongest(index)] : [row, index]);
  }

  strongest(row) {
    const { values, columns } = this.data;
    return columns.reduce((best, _, j) => (values.value(row, j) > values.value(row, best) ? j : best), 0);
  }

  key(event) {
    const move = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    const row = Math.max(0, Math.min(this.data.rows.length - 1, (this.selected?.[0] ?? 0) + move));
    this.choose("row", row);
  }

  svgText() {
    return svgText(this.svg);
  }

  png() {
    return pngOf(this.svgText());
  }
}
