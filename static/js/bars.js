// Shares as bars, one below the other, in one or more groups side by side; with two series, before and after.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { shortened } from "./token_labels.js";
import { csvLine, Walkable, within } from "./walk.js";

const ROW = 24, VALUE = 66, HEAD = 26, GAP = 28, NARROW = 250, WIDEST = 760; // px of a row, its number; a group's title; between groups; the narrowest group, the widest picture
const LEAST_NAME = 70, NAME_SHARE = 0.42; // px of a name at least, and its share of a group at most
const LEAST_SCALE = 0.25; // the longest bar stands for this much at least

const ruler = document.createElement("canvas").getContext("2d");

export class Bars {
  constructor(parent, { select = null, className = "" } = {}) {
    this.walk = new Walkable(parent, { className: `bars ${className}`, select: (i) => select?.(this.rows[i]), step: (i, key) => within(i + (key === "ArrowUp" || key === "ArrowLeft" ? -1 : 1), this.rows.length) });
    new ResizeObserver(() => this.data && this.walk.box.clientWidth && this.draw()).observe(parent);
    this.parent = parent;
  }

  // groups: [{title, rows: [{name, values: [share, …], text, words, strong, struck}]}]; legend: one name for each series
  set({ groups, label, legend = [] }) {
    this.data = { groups, label, legend };
    this.draw();
  }

  draw() {
    const { groups, label, legend } = this.data, width = Math.min(WIDEST * groups.length, Math.max(270, this.parent.clientWidth || 480));
    if (this.drawn?.[0] === this.data && this.drawn[1] === width && this.drawn[2] === colour.dark()) return;
    this.drawn = [this.data, width, colour.dark()];
    const across = Math.max(1, Math.min(groups.length, Math.floor((width + GAP) / (NARROW + GAP)))), wide = (width - GAP * (across - 1)) / across;
    this.scale = Math.max(LEAST_SCALE, ...groups.flatMap(({ rows }) => rows.flatMap(({ values }) => values)));
    this.rows = groups.flatMap(({ rows }) => rows);
    this.name = Math.min(wide * NAME_SHARE, Math.max(LEAST_NAME, ...this.rows.map(({ name }) => widthOf(name) + 14)));
    const shapes = [], parts = [];
    let y = legend.length > 1 ? this.legend(legend, shapes) : 2, tallest = 0;
    groups.forEach((group, g) => {
      if (g % across === 0) [y, tallest] = [y + tallest, 0];
      tallest = Math.max(tallest, this.group(group, (g % across) * (wide + GAP), y, wide, shapes, parts));
    });
    this.walk.draw({ width, height: y + tallest, label, shapes, parts });
  }

  legend(names, shapes) {
    let x = 0;
    names.forEach((name, i) => {
      shapes.push(make("rect", { x, y: 6, width: 12, height: 9, rx: 2, fill: tone(i, names.length) }), make("text", { x: x + 17, y: 15, "font-size": 13, fill: colour.token("--iv-mute") }, name));
      x += 36 + 7.4 * [...name].reduce((sum, letter) => sum + (letter > "\u2e80" ? 1.8 : 1), 0);
    });
    return 26;
  }

  group({ title, rows }, left, top, wide, shapes, parts) {
    const head = title ? HEAD : 0, room = wide - this.name - VALUE * (rows[0]?.values.length ?? 1);
    if (title) shapes.push(make("text", { x: left, y: top + 16, "font-size": 14, "font-weight": 600, fill: colour.token("--iv-ink") }, shortened(title, 34)));
    rows.forEach((row, i) => {
      const y = top + head + i * ROW, element = this.row(row, left, y, wide, room);
      shapes.push(element);
      parts.push({ element, words: row.words, box: [left, y, wide, ROW - 1] });
    });
    return head + rows.length * ROW + 10;
  }

  row({ name, values, text, strong, struck }, left, y, wide, room) {
    const [ink, mute, accent] = ["--iv-ink", "--iv-mute", "--iv-accent"].map(colour.token), thick = values.length > 1 ? 7 : 13;
    return make("g", {},
      make("rect", { x: left, y, width: wide, height: ROW - 1, fill: "transparent" }),
      make("text", { x: left + this.name - 8, y: y + 16, "text-anchor": "end", "font-size": 14, "font-weight": strong ? 700 : 400, fill: strong ? accent : struck ? mute : ink, "text-decoration": struck ? "line-through" : null }, fitting(name, this.name - 12)),
      ...values.map((value, i) => make("rect", { x: left + this.name, y: y + 5 + i * (thick + 1), width: Math.max(value > 0 ? 1 : 0, (room * value) / this.scale), height: thick, rx: 2, fill: tone(i, values.length) })),
      make("text", { x: left + wide, y: y + 16, "text-anchor": "end", "font-size": 13, fill: strong ? ink : mute }, text));
  }

  csv(head) {
    const { groups } = this.data;
    return `${[csvLine(head), ...groups.flatMap(({ title, rows }) => rows.map(({ name, values }) => csvLine([...(groups.length > 1 || head.length > values.length + 1 ? [title] : []), name, ...values])))].join("\n")}\n`;
  }

  svgText = () => this.walk.svgText();
}

function widthOf(name) {
  ruler.font = "700 14px system-ui, sans-serif";
  return ruler.measureText(name.slice(0, 200)).width;
}

const fitting = (name, room) => (widthOf(name) <= room ? name : shortened(name, Math.max(2, Math.floor(([...name].length * room) / widthOf(name)) - 1)));

// of two series the first is quiet: it is what the other came from
const tone = (i, of) => colour.token(of > 1 && i === 0 ? "--iv-mute" : "--iv-accent");
