// The kinds of picture on the Positions tab, each with title, axes, a computed caption and files to keep.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { Figure } from "./figure.js";
import { Heatmap } from "./heatmap.js";
import { Lines } from "./lines.js";
import { chosen } from "./positions_parts.js";
import { say } from "./words.js";

export const about = () => say("pos.kept_about", { scheme: say(`pos.scheme.${chosen().scheme}`) });
const plain = (sentence) => sentence.replaceAll("**", "");
// What stays the same is not written again: each change makes the browser lay the page out.
export function sayOnce(figure, caption) {
  if (figure.said === caption) return;
  figure.said = caption;
  figure.say(caption);
}

const filesOf = (give) => ({ png: () => give().png(), svg: () => give().svgText(), csv: () => give().csv() });

// A matrix; below it what its rows and columns are, and what its colours mean.
export class MapFigure {
  constructor(parent, { title, file, ...options }) {
    this.figure = new Figure(parent, { title, name: () => file, className: file, about, keep: filesOf(() => this.map) });
    this.map = new Heatmap(this.figure.body, options);
    this.axes = make("div", { class: "positions-axes" });
    this.figure.body.append(this.axes);
  }

  // names: [rows, columns]; ends: what the two ends of the scale mean; levels: which part of the scale occurs
  show({ caption, names, ends, levels = [0, 255], ...data }) {
    this.map.set({ ...data, label: plain(caption) });
    sayOnce(this.figure, caption);
    const key = JSON.stringify([names, ends, levels, colour.dark()]);
    if (key !== this.key) this.writeAxes(names, ends, levels, colour.scale(data.kind));
    this.key = key;
  }

  writeAxes(names, ends, levels, scale) {
    const level = (share) => Math.round(levels[0] + share * (levels[1] - levels[0]));
    const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => colour.css(scale[level(share)]));
    const bar = make("i", { style: `background: linear-gradient(90deg, ${stops.join(", ")})` });
    this.axes.replaceChildren(make("span", {}, `↓ ${names[0]}`), make("span", {}, `→ ${names[1]}`),
      make("span", { class: "positions-legend" }, ends[0], bar, ends[1]));
  }
}

export class LinesFigure {
  constructor(parent, { title, file, wide = false, ...options }) {
    this.figure = new Figure(parent, { title, name: () => file, className: wide ? `${file} wide` : file, about, keep: filesOf(() => this.lines) });
    this.lines = new Lines(this.figure.body, options);
  }

  show({ caption, ...data }) {
    this.lines.set({ whole: true, ...data, label: plain(caption) });
    sayOnce(this.figure, caption);
  }
}

// Numbers to be read one by one: columns are names, rows lists of texts, numbers the same rows as they are kept.
export class TableFigure {
  constructor(parent, { title, file, wide = false }) {
    this.figure = new Figure(parent, { title, name: () => file, className: wide ? `${file} wide` : file, keep: { csv: () => this.csv() } });
    this.table = make("table", { class: "positions-table" });
    this.figure.body.append(make("div", { class: "positions-table-box", tabindex: 0 }, this.table));
  }

  show({ caption, columns, rows, numbers, hot }) {
    sayOnce(this.figure, caption);
    const key = JSON.stringify([columns, numbers, hot, colour.dark()]);
    if (key === this.key) return;
    Object.assign(this, { key, data: { columns, numbers } });
    const line = (row, i) => make("tr", { class: i === hot ? "hot" : null }, ...row.map((cell) => make("td", {}, cell)));
    this.table.replaceChildren(
      make("thead", {}, make("tr", {}, ...columns.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, ...rows.map(line)));
  }

  csv() {
    const quote = (cell) => (typeof cell === "number" ? cell : `"${String(cell).replaceAll('"', '""')}"`);
    return [this.data.columns, ...this.data.numbers].map((row) => row.map(quote).join(",")).join("\n") + "\n";
  }
}
