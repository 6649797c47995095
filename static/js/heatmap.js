// One matrix with its tokens on the axes, on a canvas: hover, click, arrow keys, zoom; PNG, SVG and CSV of what is shown.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { csvOf, svgOf } from "./matrix_files.js";
import { paintOverlays } from "./overlays.js";
import { pngOf } from "./svg_files.js";
import { fitted, fontOf, labelOf, widthOf } from "./token_labels.js";

const DENSE = 40; // tokens on a side from which zooming is offered
const CLOSEST = 6; // tokens on a side that remain in view at the closest
const DRAGGED = 4; // px a pointer moves before a click becomes a drag

// A canvas given the size it has would cost the page a new layout.
export function resize(canvas, width, height, ratio) {
  const [inner, outer] = [[width, height].map((side) => Math.round(side * ratio)), `${height}px`];
  if (canvas.width !== inner[0]) canvas.width = inner[0];
  if (canvas.height !== inner[1]) canvas.height = inner[1];
  if (canvas.style.height !== outer) canvas.style.height = outer;
}

export class Heatmap {
  // options: onHover(cell), onSelect(cell), onZoom(window), describe(row, column) and describeToken(axis, index) → text
  // of the tip, square, height, zoom (true: wheel, drag, + − 0 move a window over a dense matrix), axes: () → what rows
  // and columns are, for the files
  constructor(parent, options = {}) {
    this.options = options;
    this.canvas = make("canvas", { tabindex: 0, role: "img", class: "heatmap" });
    this.tip = make("div", { class: "tip", role: "status", hidden: true });
    this.box = make("div", { class: "heatmap-box" }, this.canvas, this.tip);
    parent.append(this.box);
    this.small = document.createElement("canvas");
    this.cell = null; // [row, column] under the pointer; either may be null where a token on an axis is
    this.selected = null;
    this.window = { row: 0, column: 0, rows: 0, columns: 0 };
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerleave", () => this.hover(null));
    this.canvas.addEventListener("pointerdown", (event) => { this.grip = { x: event.clientX, y: event.clientY, from: { ...this.window }, dragged: false }; });
    this.canvas.addEventListener("click", (event) => { if (!this.grip?.dragged) this.choose(this.cellAt(event)); });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    if (options.zoom) this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    new ResizeObserver(() => this.data && this.draw()).observe(this.box);
  }

  // values: Tensor (row, column); kind "weight" (0…1) or "signed" (−limit…limit); pooled: each value stands for so many
  // rows and columns (0: one of each); marks: per row, columns with a ring; crosses, paths: see overlays.js
  set({ values, rows, columns, allowed = null, kind = "weight", limit = 1, marks = null, crosses = null, paths = null, label = "", pooled = 0 }) {
    const same = this.data?.rows.length === rows.length && this.data.columns.length === columns.length;
    this.data = { values, rows, columns, allowed, kind, limit, marks, crosses, paths, pooled: pooled || 1 };
    if (!same) this.window = { row: 0, column: 0, rows: rows.length, columns: columns.length };
    this.painted = null;
    this.canvas.setAttribute("aria-label", label);
    if (!same) this.cell = null;
    this.draw();
    this.showTip();
    if (!same) this.options.onZoom?.(this.window);
  }

  draw() {
    const { rows, columns, kind } = this.data, { window: view } = this;
    if (this.painted !== colour.scale(kind)) this.paintCells();
    const context = this.canvas.getContext("2d"), ratio = window.devicePixelRatio || 1, width = this.box.clientWidth;
    if (!width) return;
    const { left, top, cellWidth, cellHeight } = (this.place = this.arrange(rows, columns, width));
    const height = top + cellHeight * view.rows + 1;
    resize(this.canvas, width, height, ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const { pooled } = this.data, [inX, inY] = [cellWidth * view.columns, cellHeight * view.rows];
    context.imageSmoothingEnabled = cellHeight * ratio * pooled < 1;
    context.drawImage(this.small, view.column / pooled, view.row / pooled, view.columns / pooled, view.rows / pooled, left, top, inX, inY);
    this.paintLabels(context);
    context.save();
    context.beginPath();
    context.rect(left - 2, top - 2, inX + 4, inY + 4);
    context.clip();
    paintOverlays(context, this);
    this.paintCursor(context);
    context.restore();
    context.strokeStyle = colour.token("--iv-line");
    context.strokeRect(left + 0.5, top + 0.5, inX - 1, inY - 1);
  }

  // Names need room, and how large they are depends on the room they leave: settled after a few rounds.
  arrange(rows, columns, width) {
    const view = this.window, tallest = this.options.height ?? Math.max(240, window.innerHeight - 420);
    const [down, along] = [rows.slice(view.row, view.row + view.rows), columns.slice(view.column, view.column + view.columns)];
    let cellWidth = width / view.columns, cellHeight = cellWidth, place;
    for (let round = 0; round < 3; round++) {
      const names = { rows: fitted(cellHeight, down), columns: fitted(cellWidth, along) }, { size, every } = names.columns, room = cellWidth * every - 4;
      const lies = (token) => widthOf(token, size) <= room; // the others stand upright
      const tops = along.filter((_, i) => i % every === 0).map((token) => (lies(token) ? size + 8 : Math.ceil(widthOf(token, size)) + 10));
      const left = Math.ceil(Math.max(...down.map((token) => widthOf(token, names.rows.size)))) + 8, top = Math.max(...tops);
      const widest = (width - left - 1) / view.columns;
      cellHeight = this.options.square
        ? Math.min(widest, Math.max(tallest / view.rows, this.options.zoom ? 0 : 3))
        : Math.max(3, Math.min(26, tallest / view.rows));
      cellWidth = this.options.square ? cellHeight : widest;
      place = { left, top, cellWidth, cellHeight, names, lies };
    }
    return place;
  }

  x = (column) => this.place.left + (column - this.window.column) * this.place.cellWidth;
  y = (row) => this.place.top + (row - this.window.row) * this.place.cellHeight;

  paintCells() {
    const { values, rows, columns, allowed, kind, limit, pooled } = this.data;
    const width = (this.small.width = Math.ceil(columns.length / pooled)), height = (this.small.height = Math.ceil(rows.length / pooled));
    const context = this.small.getContext("2d"), image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const colours = (this.painted = colour.scale(kind)), shut = colour.closed();
    const { data, unit } = values;
    const slope = kind === "signed" ? 127.5 / limit : 255 / limit, shift = kind === "signed" ? 127.5 : 0;
    for (let i = 0; i < pixels.length; i++) {
      const level = Math.max(0, Math.min(255, Math.round(data[i] * unit * slope + shift)));
      pixels[i] = allowed && !allowed.data[i] ? shut : colours[level];
    }
    context.putImageData(image, 0, 0);
  }

  paintLabels(context) {
    const { rows, columns } = this.data, { left, top, names: types, lies } = this.place, view = this.window;
    const [ink, mute, accent] = ["--iv-ink", "--iv-mute", "--iv-accent"].map(colour.token);
    context.direction = "ltr";
    context.textBaseline = "middle";
    const [hotRow, hotColumn] = this.cell ?? this.selected ?? [null, null];
    // every so many tokens have room for their name; a hot one always has, its neighbours give way
    const names = (tokens, from, count, { size, every }, hot, paint) => {
      context.font = fontOf(size);
      for (let i = from; i < from + count; i++) {
        const close = hot !== null && i !== hot && Math.abs(i - hot) < every;
        if (i !== hot && ((i - from) % every || close)) continue;
        context.fillStyle = i === hot ? accent : hot === null ? ink : mute;
        paint(labelOf(tokens[i]).text, i);
      }
    };
    context.textAlign = "right";
    names(rows, view.row, view.rows, types.rows, hotRow, (text, i) => context.fillText(text, left - 5, this.y(i + 0.5)));
    names(columns, view.column, view.columns, types.columns, hotColumn, (text, i) => {
      const flat = lies(columns[i]);
      context.save();
      context.translate(this.x(i + 0.5), top - 5);
      if (!flat) context.rotate(-Math.PI / 2);
      context.textAlign = flat ? "center" : "left";
      context.fillText(text, 0, flat ? -types.columns.size / 2 + 1 : 0);
      context.restore();
    });
  }

  paintCursor(context) {
    const { cellWidth, cellHeight } = this.place, { rows, columns } = this.data;
    context.strokeStyle = colour.token("--iv-accent");
    const [row, column] = this.cell ?? [null, null];
    context.lineWidth = 1;
    if (row !== null) context.strokeRect(this.x(0), this.y(row), cellWidth * columns.length, cellHeight);
    if (column !== null) context.strokeRect(this.x(column), this.y(0), cellWidth, cellHeight * rows.length);
    if (this.selected) {
      context.lineWidth = 2.5;
      context.strokeRect(this.x(this.selected[1]), this.y(this.selected[0]), cellWidth, cellHeight);
    }
    context.lineWidth = 1;
  }

  // [row, column] of the cell under the pointer; outside the cells null
  cellAt(event) {
    const [row, column] = this.axesAt(event);
    return row === null || column === null ? null : [row, column];
  }

  axesAt(event) {
    if (!this.place) return [null, null];
    const box = this.canvas.getBoundingClientRect(), { left, top, cellWidth, cellHeight } = this.place, view = this.window;
    const within = (at, from, count) => (at >= 0 && at < count ? from + at : null);
    return [
      within(Math.floor((event.clientY - box.top - top) / cellHeight), view.row, view.rows),
      within(Math.floor((event.clientX - box.left - left) / cellWidth), view.column, view.columns),
    ];
  }

  move(event) {
    if (event.buttons && this.grip && this.zoomed()) return this.drag(event);
    const [row, column] = this.axesAt(event);
    if (row !== null && column !== null) return this.hover([row, column]);
    if (!this.options.describeToken || (row === null && column === null)) return this.hover(null);
    return row !== null ? this.point("row", row) : this.point("column", column);
  }

  // a token on an axis: its row or column; where rows and columns are the same tokens, both
  point(axis, index) {
    const both = this.data.rows === this.data.columns;
    this.hover([axis === "row" || both ? index : null, axis === "column" || both ? index : null], this.options.describeToken(axis, index));
  }

  hover(cell, text = null) {
    if (String(cell) === String(this.cell)) return;
    this.cell = cell;
    this.about = text; // what the tip says of a token; of a cell it says what the numbers are now
    this.draw();
    this.showTip();
    this.options.onHover?.(cell);
  }

  showTip() {
    const { cell } = this;
    this.tip.textContent = cell && this.place ? this.about ?? this.options.describe?.(...cell) ?? "" : "";
    this.tip.hidden = !this.tip.textContent;
    if (this.tip.hidden) return;
    const room = this.box.clientWidth - this.tip.offsetWidth - 4;
    this.tip.style.left = `${Math.max(0, Math.min(this.x((cell[1] ?? cell[0]) + 1) + 8, room))}px`;
    this.tip.style.top = `${this.y((cell[0] ?? this.window.row) + 1) + 6}px`;
  }

  choose(cell) {
    if (!cell) return;
    this.options.onSelect?.(cell);
  }

  select(cell) {
    this.selected = cell;
    if (this.data) this.draw();
  }

  key(event) {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const zoom = this.zoomable() ? { "+": 1.5, "=": 1.5, "-": 1 / 1.5, 0: 0 }[event.key] : undefined;
    if (!move && zoom === undefined && event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    const [row, column] = (this.cell ?? this.selected ?? [0, 0]).map((at) => at ?? 0);
    if (zoom !== undefined) return this.zoom(zoom, [row, column]);
    if (event.key === "Enter") return this.choose([row, column]);
    const { rows, columns } = this.data, within = (x, n) => Math.max(0, Math.min(n - 1, x));
    const next = [within(row + move[0], rows.length), within(column + move[1], columns.length)];
    this.reveal(next);
    this.hover(next);
  }

  zoomable = () => this.options.zoom && Math.max(this.data.rows.length, this.data.columns.length) > DENSE;
  zoomed = () => this.window.rows < this.data.rows.length || this.window.columns < this.data.columns.length;

  // times closer, about a cell, which stays where it is; 0: all of it
  zoom(times, [row, column]) {
    const { rows, columns } = this.data, view = this.window;
    const size = (shown, all) => Math.min(all, times ? Math.max(Math.min(CLOSEST, all), Math.round(shown / times)) : all);
    const next = { rows: size(view.rows, rows.length), columns: size(view.columns, columns.length) };
    next.row = Math.round(row - ((row - view.row) * next.rows) / view.rows);
    next.column = Math.round(column - ((column - view.column) * next.columns) / view.columns);
    return this.look(next);
  }

  look(view) {
    const { rows, columns } = this.data, within = (x, most) => Math.max(0, Math.min(most, x));
    const next = { ...view, row: within(view.row, rows.length - view.rows), column: within(view.column, columns.length - view.columns) };
    if (["row", "column", "rows", "columns"].every((key) => next[key] === this.window[key])) return false;
    this.window = next;
    this.canvas.style.touchAction = this.zoomed() ? "none" : "";
    this.draw();
    this.options.onZoom?.(next);
    return true;
  }

  reveal([row, column]) {
    const view = this.window, shift = (at, from, count) => (at < from ? at : at >= from + count ? at - count + 1 : from);
    this.look({ ...view, row: shift(row, view.row, view.rows), column: shift(column, view.column, view.columns) });
  }

  wheel(event) {
    const cell = this.zoomable() && this.cellAt(event);
    if (cell && this.zoom(event.deltaY < 0 ? 1.25 : 1 / 1.25, cell)) event.preventDefault();
  }

  drag(event) {
    const { x, y, from } = this.grip, [dx, dy] = [event.clientX - x, event.clientY - y];
    if (Math.hypot(dx, dy) > DRAGGED) this.grip.dragged = true;
    if (!this.grip.dragged) return;
    const { cellWidth, cellHeight } = this.place;
    this.look({ ...this.window, row: Math.round(from.row - dy / cellHeight), column: Math.round(from.column - dx / cellWidth) });
  }

  value(row, column) {
    const { values, pooled } = this.data;
    return values.value(Math.floor(row / pooled), Math.floor(column / pooled));
  }

  csv() {
    return csvOf(this);
  }

  svgText() {
    return svgOf(this);
  }

  png() {
    return pngOf(this.svgText());
  }
}
