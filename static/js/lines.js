// Lines over one axis as SVG: named at their ends, exact numbers under the pointer or the arrow keys; PNG, SVG and CSV.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { pngOf, svgText } from "./svg_files.js";

const [TOP, BOTTOM, LEFT, RIGHT] = [12, 44, 62, 18]; // px around the lines
const TYPE = 13; // px, type size
const APART = 15; // px between two names
const FONT = "system-ui, 'Noto Sans CJK SC', sans-serif";

export class Lines {
  // options: height, onSelect(x)
  constructor(parent, options = {}) {
    this.options = { height: 280, ...options };
    this.svg = make("svg", { class: "lines", role: "img", tabindex: 0 });
    this.tip = make("div", { class: "tip", role: "status", hidden: true });
    this.box = make("div", { class: "lines-box" }, this.svg, this.tip);
    parent.append(this.box);
    this.at = null;
    this.svg.addEventListener("pointermove", (event) => this.hover(this.indexAt(event)));
    this.svg.addEventListener("pointerleave", () => this.hover(null));
    this.svg.addEventListener("click", (event) => this.choose(this.indexAt(event)));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(this.box);
  }

  // The width is measured when it changes only: to ask for it between two drawings makes the browser lay the page out.
  resize() {
    if (this.width === this.box.clientWidth) return;
    this.width = this.box.clientWidth;
    if (this.data) this.draw();
  }

  // series: [{name, y, colour, dash, width, dots, unnamed}], y null where there is no number; shade: {from, to, text}
  set(data) {
    this.data = { format: (value) => value.toFixed(3), formatX: String, step: false, marks: [], ...data };
    this.svg.setAttribute("aria-label", data.label);
    if (this.at !== null && this.at >= data.x.length) this.at = null;
    this.draw();
  }

  draw() {
    const width = (this.width ||= this.box.clientWidth), { height } = this.options;
    if (!width) return;
    const { x, series, range, shade, marks, xName, yName, format, formatX } = this.data;
    const names = series.filter((one) => !one.unnamed);
    const room = RIGHT + (names.length ? Math.min(150, Math.max(...names.map((one) => textWidth(one.name)))) : 0);
    const [low, high] = range ?? spread(series.flatMap((one) => one.y.filter((v) => v !== null)));
    const [first, last] = [x[0], x.at(-1)], foot = height - BOTTOM, inner = width - LEFT - room;
    const px = (value) => LEFT + (inner * (value - first)) / (last - first || 1);
    const py = (value) => TOP + (foot - TOP) * (1 - (value - low) / (high - low || 1));
    this.place = { px, py, foot, inner, width };
    const [ink, mute, line, soft] = ["--iv-ink", "--iv-mute", "--iv-line", "--iv-soft"].map(tint);
    const text = (attributes, words) => make("text", { fill: mute, "font-size": TYPE, ...attributes }, words);
    const parts = [];
    if (shade) {
      parts.push(make("rect", { x: px(shade.from), y: TOP, width: px(shade.to) - px(shade.from), height: foot - TOP, fill: soft }));
      parts.push(text({ x: px(shade.from) + 8, y: foot - 8, fill: tint("--iv-accent") }, shade.text));
    }
    for (const value of ticks(low, high, 5)) {
      parts.push(make("line", { x1: LEFT, x2: LEFT + inner, y1: py(value), y2: py(value), stroke: line }));
      parts.push(text({ x: LEFT - 8, y: py(value) + 4, "text-anchor": "end" }, this.data.formatY?.(value) ?? tidy(value)));
    }
    for (const value of ticks(first, last, Math.max(2, inner / 70)).filter((v) => !this.data.whole || Number.isInteger(v))) {
      parts.push(text({ x: px(value), y: foot + 18, "text-anchor": "middle" }, formatX(value)));
    }
    parts.push(text({ x: LEFT + inner / 2, y: height - 5, "text-anchor": "middle" }, `${xName} →`));
    parts.push(text({ x: 0, y: 0, "text-anchor": "middle", transform: `translate(13 ${(TOP + foot) / 2}) rotate(-90)` }, yName));
    for (const one of series) parts.push(...this.drawOne(one));
    for (const mark of marks) {
      const at = { x1: px(mark.x), x2: px(mark.x), y1: TOP, y2: foot };
      parts.push(make("line", { ...at, stroke: ink, "stroke-width": 1.5, "stroke-dasharray": "2 3" }));
      if (mark.y !== undefined) parts.push(make("circle", { cx: px(mark.x), cy: py(mark.y), r: 5, fill: ink }));
    }
    parts.push(...this.drawNames(names));
    this.cursor = make("g", {});
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", height);
    this.svg.setAttribute("font-family", FONT);
    this.svg.replaceChildren(...parts, this.cursor);
    this.paintCursor();
  }

  drawOne({ y, colour: stroke, dash, width = 2, dots }) {
    const { px, py } = this.place, { x, step } = this.data;
    const pieces = [];
    let before = null;
    y.forEach((value, i) => {
      if (value !== null) {
        const point = `${px(x[i]).toFixed(1)} ${py(value).toFixed(1)}`;
        pieces.push(before === null ? `M${point}` : step ? `H${px(x[i]).toFixed(1)}V${py(value).toFixed(1)}` : `L${point}`);
      }
      before = value;
    });
    const path = make("path", {
      d: pieces.join(""), fill: "none", stroke, "stroke-width": width, "stroke-dasharray": dash, "stroke-linejoin": "round",
    });
    const places = dots ? range(y.length).filter((i) => y[i] !== null) : [];
    return [path, ...places.map((i) => make("circle", { cx: px(x[i]), cy: py(y[i]), r: 1 + width / 1.4, fill: stroke }))];
  }

  // names beside the lines' ends, pushed apart where the lines meet
  drawNames(named) {
    const { px, py, foot } = this.place, { x } = this.data;
    const ends = named.map((one) => {
      const end = one.y.findLastIndex((value) => value !== null);
      return { one, x: px(x[end]), y: py(one.y[end] ?? 0) };
    }).sort((a, b) => a.y - b.y);
    for (let i = 1; i < ends.length; i++) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + APART);
    for (let i = ends.length - 1, most = foot + 6; i >= 0; i--, most -= APART) ends[i].y = Math.min(ends[i].y, most);
    return ends.map(({ one, x: at, y }) => make("text", {
      x: at + 8, y: y + 4, fill: one.colour, "font-size": TYPE, "font-weight": (one.width ?? 2) > 2.5 ? 700 : 400,
    }, one.name));
  }

  indexAt(event) {
    if (!this.place) return null;
    const at = event.clientX - this.svg.getBoundingClientRect().left;
    const distances = this.data.x.map((value) => Math.abs(this.place.px(value) - at));
    return distances.indexOf(Math.min(...distances));
  }

  hover(index) {
    if (index === this.at) return;
    this.at = index;
    this.paintCursor();
  }

  paintCursor() {
    const shown = this.at !== null && this.place;
    this.tip.hidden = !shown;
    this.cursor?.replaceChildren();
    if (!shown || !this.cursor) return;
    const { px, py, foot, width } = this.place, { x, series, format, formatX, xName } = this.data;
    const value = x[this.at], here = series.filter((one) => one.y[this.at] !== null);
    const parts = [make("line", { x1: px(value), x2: px(value), y1: TOP, y2: foot, stroke: tint("--iv-accent") })];
    for (const one of here) parts.push(make("circle", { cx: px(value), cy: py(one.y[this.at]), r: 4, fill: one.colour }));
    this.cursor.replaceChildren(...parts);
    const sorted = [...here].sort((a, b) => b.y[this.at] - a.y[this.at]);
    this.tip.textContent = [`${xName} ${formatX(value)}`, ...sorted.map((one) => `${one.name}: ${format(one.y[this.at])}`)].join("\n");
    const right = px(value) + 12, wide = this.tip.offsetWidth;
    this.tip.style.left = `${right + wide < width ? right : Math.max(0, px(value) - wide - 12)}px`;
    this.tip.style.top = `${TOP + 4}px`;
  }

  choose(index) {
    if (index !== null) this.options.onSelect?.(this.data.x[index]);
  }

  key(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move && event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") return this.choose(this.at);
    this.hover(Math.max(0, Math.min(this.data.x.length - 1, (this.at ?? -1) + move)));
  }

  csv() {
    const { x, series, xName } = this.data, quote = (text) => `"${String(text).replaceAll('"', '""')}"`;
    const rows = x.map((value, i) => [value, ...series.map((one) => one.y[i] ?? "")].join(","));
    return [[quote(xName), ...series.map((one) => quote(one.name))].join(","), ...rows].join("\n") + "\n";
  }

  svgText() {
    return svgText(this.svg);
  }

  png() {
    return pngOf(this.svgText());
  }
}

// A colour of the page's, asked for once per ground: each question costs a look at the whole page's style.
const known = {};
export const tint = (name) => (known[`${name} ${colour.dark()}`] ??= colour.token(name));

// Colours that stay apart for everybody; a dash besides, for print.
export function palette() {
  const blue = colour.css(colour.scale("signed")[0]);
  const colours = [tint("--iv-accent"), tint("--iv-amber"), blue, tint("--iv-ink"), tint("--iv-bad"), tint("--iv-mute")];
  return colours.map((one, i) => ({ colour: one, dash: [null, "7 3", "2 3", "9 3 2 3", "5 5", null][i] }));
}

// i of n in one hue, from light to ink: for lines that have an order.
export const shadeOf = (i, n) => colour.css(colour.scale("weight")[Math.round(90 + (165 * i) / Math.max(1, n - 1))]);

export function ticks(low, high, most) {
  const rough = (high - low) / Math.max(1, most), power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) ?? power;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

const range = (n) => Array.from({ length: n }, (_, i) => i);
const tidy = (value) => String(Number(value.toPrecision(6))).replace("-", "−");

function spread(values) {
  const low = Math.min(...values), high = Math.max(...values), more = (high - low || 1) * 0.06;
  return [low - more, high + more];
}

const textWidth = (text) => [...text].reduce((sum, c) => sum + (c > "\u2e7f" ? 14 : 7.4), 8);
