// Lines over one axis as SVG: named at their ends, exact numbers under the pointer or the arrow keys; PNG, SVG and CSV.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { pngOf, svgText } from "./svg_files.js";

const [TOP, BOTTOM, LEFT, RIGHT] = [12, 44, 62, 24]; // px around the lines
const APART = 17, TIE = 16; // px between two names, and from a line's end to its name
const FONT = "system-ui, 'Noto Sans CJK SC', sans-serif";

// px: larger where there is room, so that it can be read from the last row
export const typeSize = () => (window.innerWidth >= 1700 ? 15 : 13);

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

  // series: [{name, y, colour, dash, width, opacity, dots, unnamed, quiet, tell}], y null where there is no number; quiet:
  // not told under the pointer; tell(index): in other words than the number; shade: {from, to, text}
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
    const room = RIGHT + (names.length ? Math.min(170, Math.max(...names.map((one) => textWidth(one.name)))) : 0);
    const [low, high] = range ?? spread(series.flatMap((one) => one.y.filter((v) => v !== null)));
    const levels = ticks(low, high, 5).map((value) => ({ value, words: this.data.formatY?.(value) ?? tidy(value) }));
    const left = Math.max(LEFT, ...levels.map(({ words }) => textWidth(words) + (yName ? 30 : 12))); // the numbers, and what stands beside them
    const [first, last] = [x[0], x.at(-1)], foot = height - BOTTOM, inner = width - left - room;
    const px = (value) => left + (inner * (value - first)) / (last - first || 1);
    const py = (value) => TOP + (foot - TOP) * (1 - (value - low) / (high - low || 1));
    this.place = { px, py, foot, inner, width };
    const [ink, mute, line, soft] = ["--iv-ink", "--iv-mute", "--iv-line", "--iv-soft"].map(tint);
    const text = (attributes, words) => make("text", { fill: mute, "font-size": typeSize(), ...attributes }, words);
    const parts = [];
    if (shade) {
      parts.push(make("rect", { x: px(shade.from), y: TOP, width: px(shade.to) - px(shade.from), height: foot - TOP, fill: soft }));
      parts.push(text({ x: px(shade.from) + 8, y: foot - 8, fill: tint("--iv-accent") }, shade.text));
    }
    for (const { value, words } of levels) {
      parts.push(make("line", { x1: left, x2: left + inner, y1: py(value), y2: py(value), stroke: line }));
      parts.push(text({ x: left - 8, y: py(value) + 4, "text-anchor": "end" }, words));
    }
    for (const value of ticks(first, last, Math.max(2, inner / 70)).filter((v) => !this.data.whole || Number.isInteger(v))) {
      parts.push(text({ x: px(value), y: foot + 18, "text-anchor": "middle" }, formatX(value)));
    }
    parts.push(text({ x: left + inner / 2, y: height - 5, "text-anchor": "middle" }, `${xName} →`));
    parts.push(text({ x: 0, y: 0, "text-anchor": "middle", transform: `translate(13 ${(TOP + foot) / 2}) rotate(-90)` }, yName));
    for (const one of [...series].sort((a, b) => strengthOf(a) - strengthOf(b))) parts.push(...this.drawOne(one)); // the chosen one on top
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

  drawOne({ y, colour: stroke, dash, width = 2, opacity, dots }) {
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
      d: pieces.join(""), fill: "none", stroke, "stroke-width": width, "stroke-dasharray": dash, "stroke-linejoin": "round", "stroke-opacity": opacity,
    });
    const places = dots ? range(y.length).filter((i) => y[i] !== null) : [];
    return [path, ...places.map((i) => make("circle", { cx: px(x[i]), cy: py(y[i]), r: 1 + width / 1.4, fill: stroke }))];
  }

  // names beside the lines' ends, spread where lines meet; a name that had to move is tied to its line. Where there is
  // not room for all, the strong lines' names stay
  drawNames(named) {
    const { px, py, foot } = this.place, { x } = this.data, room = Math.floor((foot + 6 - TOP) / APART) + 1;
    const kept = named.length > room ? new Set([...named].sort((a, b) => strengthOf(b) - strengthOf(a)).slice(0, room)) : new Set(named);
    const ends = named.filter((one) => kept.has(one)).map((one) => {
      const end = one.y.findLastIndex((value) => value !== null);
      return { one, x: px(x[end]), y: py(one.y[end] ?? 0) };
    }).sort((a, b) => a.y - b.y);
    const places = spreadOut(ends.map(({ y }) => y), APART, TOP, foot + 6);
    return ends.flatMap(({ one, x: at, y }, i) => [
      Math.abs(places[i] - y) > 3
        ? make("path", { d: `M${at + 2} ${y}L${at + TIE - 3} ${places[i]}`, stroke: one.colour, fill: "none", "stroke-width": 1, opacity: 0.7 }) : null,
      make("text", {
        class: "line-name", x: at + TIE, y: places[i] + 4, fill: one.colour, "font-size": typeSize(), "font-weight": strengthOf(one) > 2.5 ? 700 : 400,
      }, one.name),
    ].filter(Boolean));
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
    const value = x[this.at], here = series.filter((one) => one.y[this.at] !== null && !one.quiet);
    const parts = [make("line", { x1: px(value), x2: px(value), y1: TOP, y2: foot, stroke: tint("--iv-accent") })];
    for (const one of here) parts.push(make("circle", { cx: px(value), cy: py(one.y[this.at]), r: 4, fill: one.colour }));
    this.cursor.replaceChildren(...parts);
    const sorted = [...here].sort((a, b) => b.y[this.at] - a.y[this.at]);
    this.tip.textContent = [`${xName} ${formatX(value)}`, ...sorted.map((one) => `${one.name}: ${one.tell?.(this.at) ?? format(one.y[this.at])}`)].join("\n");
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

const strengthOf = ({ width = 2 }) => width;
const range = (n) => Array.from({ length: n }, (_, i) => i);
const tidy = (value) => String(Number(value.toPrecision(6))).replace("-", "−");

// Places at least so far apart between two bounds, in the order given and together as near to what was wanted as can be:
// those that would meet share the room around their middle (pool adjacent violators).
export function spreadOut(wanted, apart, low, high) {
  const groups = [];
  wanted.forEach((y, i) => {
    groups.push({ sum: y - i * apart, count: 1 });
    while (groups.length > 1 && middle(groups.at(-2)) > middle(groups.at(-1))) {
      const last = groups.pop(), before = groups.at(-1);
      before.sum += last.sum;
      before.count += last.count;
    }
  });
  const most = Math.max(low, high - (wanted.length - 1) * apart);
  const places = groups.flatMap((group) => Array(group.count).fill(Math.max(low, Math.min(most, middle(group)))));
  return places.map((place, i) => place + i * apart);
}

const middle = ({ sum, count }) => sum / count;

function spread(values) {
  const low = Math.min(...values), high = Math.max(...values), more = (high - low || 1) * 0.06;
  return [low - more, high + more];
}

const textWidth = (text) => [...text].reduce((sum, c) => sum + (c > "\u2e7f" ? 1.08 : 0.57) * typeSize(), 8);
