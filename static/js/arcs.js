// One head as arcs from the looking token (left) to the seen one (right), as thick as their weight, on a canvas.

import { arcsSvg } from "./arc_files.js";
import * as colour from "./colour.js";
import { make } from "./dom.js";
import { resize } from "./heatmap.js";
import { fitted, fontOf, LABEL, labelOf } from "./token_labels.js";

const LEAST_ROW = 22, MOST_ROW = 46, NAMES = 104, TOP = 4, BEND = 0.45; // px: per token, for the names on a side in the usual type; share of the width
const NEAR = 5; // px from an arc that still point at it
export const FAINT = 0.02; // weights below this are not drawn
export const MOST_TOKENS = 128;

export class Arcs {
  // options: onSelect(cell), describe(row, column) and describeToken(axis, index) → text of the tip
  constructor(parent, options) {
    this.options = options;
    this.canvas = make("canvas", { class: "arcs", role: "img", tabindex: 0 });
    this.tip = make("div", { class: "tip", role: "status", hidden: true });
    this.box = make("div", { class: "heatmap-box" }, this.canvas, this.tip);
    this.selected = null;
    this.hot = null; // what is under the pointer: {arc: [row, column]}, {row} or {column}
    parent.append(this.box);
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("pointermove", (event) => this.point(this.at(event), event));
    this.canvas.addEventListener("pointerleave", () => this.point(null));
    this.canvas.addEventListener("click", (event) => this.choose(this.at(event)));
    new ResizeObserver(() => this.data && this.draw()).observe(this.box);
  }

  set(data) {
    this.data = data;
    this.canvas.setAttribute("aria-label", data.label);
    this.arcs = this.strong(data);
    this.draw();
  }

  // the arcs that are drawn, weakest first, so that the strong ones lie on top
  strong({ values, rows, columns, allowed }) {
    const found = [], { data, unit } = values;
    for (let row = 0, i = 0; row < rows.length; row++) {
      for (let column = 0; column < columns.length; column++, i++) {
        const weight = data[i] * unit;
        if (weight >= FAINT && (!allowed || allowed.data[i])) found.push({ row, column, weight });
      }
    }
    return found.sort((a, b) => a.weight - b.weight);
  }

  select(cell) {
    this.selected = cell;
    if (this.data) this.draw();
  }

  y = (index) => (index + 0.5) * this.place.row + TOP;

  // which arcs stand out: those of the token under the pointer, the arc itself, or those of the chosen row
  lit({ row, column }) {
    const { hot } = this;
    if (hot?.arc) return hot.arc[0] === row && hot.arc[1] === column;
    return hot ? hot.row === row || hot.column === column : this.selected?.[0] === row;
  }

  style(arc) {
    const lit = this.lit(arc), dimmed = !lit && (this.hot || this.selected);
    return { lit, width: 0.5 + 5 * arc.weight, opacity: dimmed ? 0.12 + 0.25 * arc.weight : 0.2 + 0.7 * arc.weight };
  }

  draw() {
    const { rows, columns, marks } = this.data, width = this.box.clientWidth, ratio = window.devicePixelRatio || 1;
    if (!width) return;
    const count = Math.max(rows.length, columns.length), row = Math.max(LEAST_ROW, Math.min(MOST_ROW, (window.innerHeight - 420) / count));
    const size = Math.min(fitted(row, []).size, Math.max(LABEL, width / 40)), names = (NAMES * size) / LABEL; // a phone has no room for larger ones
    const height = count * row + 14, left = names, right = width - names;
    this.place = { left, right, bend: (right - left) * BEND, width, height, row, size };
    resize(this.canvas, width, height, ratio);
    const context = this.canvas.getContext("2d"), [ink, accent, amber] = ["--iv-ink", "--iv-accent", "--iv-amber"].map(colour.token);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (marks) this.paintMarks(context, marks, amber);
    for (const lit of [false, true]) { // the ones that stand out over the others
      for (const arc of this.arcs) {
        const style = this.style(arc);
        if (style.lit !== lit) continue;
        context.strokeStyle = lit ? accent : ink;
        context.lineWidth = style.width;
        context.globalAlpha = style.opacity;
        this.stroke(context, arc.row, arc.column);
      }
    }
    context.globalAlpha = 1;
    this.paintNames(context, ink, accent);
  }

  stroke(context, row, column) {
    const { left, right, bend } = this.place, [from, to] = [this.y(row), this.y(column)];
    context.beginPath();
    context.moveTo(left, from);
    context.bezierCurveTo(left + bend, from, right - bend, to, right, to);
    context.stroke();
  }

  paintMarks(context, marks, amber) {
    context.strokeStyle = amber;
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    marks.forEach((columns, row) => columns.forEach((column) => this.stroke(context, row, column)));
    context.setLineDash([]);
  }

  paintNames(context, ink, accent) {
    const { rows, columns } = this.data, { left, right } = this.place;
    context.font = fontOf(this.place.size);
    context.direction = "ltr";
    context.textBaseline = "middle";
    const names = (tokens, side, x, align) => {
      context.textAlign = align;
      tokens.forEach((token, i) => {
        context.fillStyle = this.named(side, i) ? accent : ink;
        context.fillText(labelOf(token).text, x, this.y(i));
      });
    };
    names(rows, "row", left - 8, "right");
    names(columns, "column", right + 8, "left");
  }

  named(side, index) {
    const at = side === "row" ? 0 : 1;
    return this.hot ? this.hot[side] === index || this.hot.arc?.[at] === index : this.selected?.[at] === index;
  }

  // All arcs share x(t), and with it the share s of the way from their row to their column: y = from + s (to − from).
  at(event) {
    if (!this.place) return null;
    const box = this.canvas.getBoundingClientRect(), [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const { left, right } = this.place, index = Math.floor((y - TOP) / this.place.row), { rows, columns } = this.data;
    if (x < left) return index >= 0 && index < rows.length ? { row: index } : null;
    if (x > right) return index >= 0 && index < columns.length ? { column: index } : null;
    const share = this.shareAt((x - left) / (right - left));
    let best = null, nearest = Infinity;
    for (const { row, column, weight } of this.arcs) {
      const away = Math.max(0, Math.abs(this.y(row) + share * (this.y(column) - this.y(row)) - y) - (0.5 + 5 * weight) / 2);
      if (away <= NEAR && away <= nearest) [best, nearest] = [{ arc: [row, column] }, away];
    }
    return best;
  }

  shareAt(x) {
    let [low, high] = [0, 1];
    for (let i = 0; i < 20; i++) {
      const t = (low + high) / 2, along = 3 * BEND * t * (1 - t) ** 2 + 3 * (1 - BEND) * t * t * (1 - t) + t ** 3;
      if (along < x) low = t;
      else high = t;
    }
    return 3 * low * low - 2 * low ** 3;
  }

  point(hot, event = null) {
    if (hot && event) this.showTip(hot, event);
    if (JSON.stringify(hot) === JSON.stringify(this.hot)) return;
    this.hot = hot;
    this.canvas.style.cursor = hot ? "pointer" : "";
    if (!hot) this.tip.hidden = true;
    this.draw();
  }

  showTip(hot, event) {
    const box = this.canvas.getBoundingClientRect(), { describe, describeToken } = this.options;
    this.tip.textContent = hot.arc ? describe(...hot.arc) : hot.row !== undefined ? describeToken("row", hot.row) : describeToken("column", hot.column);
    this.tip.hidden = false;
    const room = this.box.clientWidth - this.tip.offsetWidth - 4;
    this.tip.style.left = `${Math.max(0, Math.min(event.clientX - box.left + 12, room))}px`;
    this.tip.style.top = `${event.clientY - box.top + 16}px`;
  }

  choose(hit) {
    if (!hit) return;
    if (hit.row !== undefined) this.options.onSelect([hit.row, this.strongest(hit.row)]);
    else this.options.onSelect(hit.arc ?? [this.selected?.[0] ?? 0, hit.column]);
  }

  strongest(row) {
    const { values, columns } = this.data;
    return columns.reduce((best, _, j) => (values.value(row, j) > values.value(row, best) ? j : best), 0);
  }

  // up and down: another row and what it looks at most; left and right: the other tokens it may look at
  key(event) {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    const { rows, columns } = this.data, within = (x, n) => Math.max(0, Math.min(n - 1, x));
    const [row, column] = this.selected ?? [0, 0], next = within(row + move[0], rows.length);
    this.options.onSelect(move[0] ? [next, this.strongest(next)] : [row, within(column + move[1], columns.length)]);
  }

  svgText() {
    return arcsSvg(this);
  }
}
