// One measure of one or more runs over their steps: light enough to be painted anew with every step.

import { tint, ticks } from "./lines.js";
import { paint } from "./train_scene.js";
import { make } from "./dom.js";
import { say } from "./words.js";

const [TOP, BOTTOM, LEFT, RIGHT] = [26, 26, 50, 12]; // px around the curves
const APART = 15, SMALL = 180; // px: between two names; the height from which on names and moments have room
const measuring = document.createElement("canvas").getContext("2d");

export class TrainChart {
  // options: measure, height, title, format(value), logY, range; onMove(step), onPick(step)
  constructor(parent, options) {
    this.options = options;
    this.canvas = make("canvas", { class: "train-canvas", role: "img", tabindex: 0, "data-measure": options.measure });
    this.tip = make("div", { class: "tip", role: "status", hidden: true });
    this.box = make("div", { class: "train-chart-body" }, this.canvas, this.tip);
    this.box.style.height = `${options.height}px`;
    parent.append(make("div", { class: `train-chart train-chart-${options.measure}` }, this.box));
    this.canvas.addEventListener("pointermove", (event) => options.onMove(this.stepAt(event), this));
    this.canvas.addEventListener("pointerleave", () => options.onMove(null, this));
    this.canvas.addEventListener("click", (event) => options.onPick(this.stepAt(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(this.box);
  }

  resize() {
    if (this.width === this.box.clientWidth) return;
    this.width = this.box.clientWidth;
    if (this.data) this.draw();
  }

  // data: {runs: [{label, colour, history, focus, live}], scale, last, lines: [{value, text}], moments, cursor, pinned}
  set(data) {
    this.data = data;
    this.draw();
  }

  draw() {
    const width = (this.width ||= this.box.clientWidth), { height } = this.options;
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    paint(context, [...this.scene(), ...this.cursorMarks()]);
    this.showTip();
  }

  scene() {
    const { runs, last, scale, lines = [], moments = [] } = this.data, { height, measure, title, format, logY } = this.options;
    const named = height >= SMALL && runs.length > 1;
    const room = named ? Math.min(130, Math.max(...runs.map(({ label }) => widthOf(label)))) + 8 : 0;
    const [low, high, log] = this.options.range ? [...this.options.range, false] : extent(runs, measure, logY);
    const foot = height - BOTTOM, inner = this.width - LEFT - RIGHT - room;
    const px = scale === "log" ? (step) => LEFT + (inner * Math.log1p(step)) / Math.log1p(last) : (step) => LEFT + (inner * step) / last;
    const f = log ? Math.log : (v) => v, span = f(high) - f(low) || 1;
    const py = (value) => Math.max(TOP - 3, Math.min(foot + 2, TOP + (foot - TOP) * (1 - (f(log ? Math.max(value, 1e-12) : value) - f(low)) / span)));
    this.place = { px, py, foot, inner };
    const [ink, mute, line, card] = ["--iv-ink", "--iv-mute", "--iv-line", "--iv-card"].map(tint), marks = [];
    for (const value of log ? decades(low, high) : ticks(low, high, height >= SMALL ? 5 : 3)) {
      marks.push({ path: [LEFT, py(value), LEFT + inner, py(value)], stroke: line });
      marks.push({ text: this.options.formatY?.(value) ?? tidy(value), x: LEFT - 7, y: py(value) + 4, anchor: "end", fill: mute, size: 12 });
    }
    for (const step of stepTicks(last, scale, px)) marks.push({ text: String(step), x: px(step), y: foot + 17, anchor: "middle", fill: mute, size: 12 });
    for (const { value, text } of lines) {
      marks.push({ path: [LEFT, py(value), LEFT + inner, py(value)], stroke: mute, dash: [2, 4], width: 1.4 });
      if (height >= SMALL) marks.push({ text, x: LEFT + inner - 4, y: py(value) + (value > 0.9 ? 15 : -5), anchor: "end", fill: mute, size: 12, halo: card });
    }
    for (const run of runs) marks.push(...this.curve(run));
    marks.push(...this.momentMarks(moments, foot, inner, lines));
    if (named) marks.push(...this.names(runs));
    const called = log ? say("train.log_axis", { name: title }) : title;
    marks.push({ text: say("train.steps_axis"), x: LEFT + inner, y: 14, anchor: "end", fill: mute, size: 12 });
    marks.push({ text: called, x: 2, y: 14, fill: mute, size: 13, bold: true });
    const now = runs.find(({ focus }) => focus) ?? runs[0], value = now && current(now.history, measure);
    if (value != null) marks.push({ text: format(value), x: 10 + widthOf(called, 13, true), y: 14, fill: runs.length > 1 ? now.colour : ink, size: 13, bold: true });
    return marks;
  }

  // the ghost wide and pale, each step thin, the smoothed curve on top
  curve({ history, colour, focus, live }) {
    const { measure } = this.options, { px, py } = this.place, { step } = history.columns, smooth = history.smooth[measure];
    const bold = focus ? 2.4 : 1.7, marks = [];
    if (history.ghost) {
      const { ghost } = history;
      marks.push({ path: trace(ghost.columns.step, ghost.smooth[measure] ?? ghost.columns[measure], px, py), stroke: colour, width: 8, alpha: 0.22 });
    }
    if (!step.length) return marks;
    if (smooth) marks.push({ path: trace(step, history.columns[measure], px, py), stroke: colour, width: 1, alpha: focus ? 0.3 : 0.16 });
    marks.push({ path: trace(step, smooth ?? history.columns[measure], px, py), stroke: colour, width: bold });
    const end = (smooth ?? history.columns[measure]).at(-1);
    if (end != null) marks.push(disc(px(step.at(-1)), py(end), live ? 4.5 : 3, colour));
    return marks;
  }

  names(runs) {
    const { measure } = this.options, { px, py, foot } = this.place;
    const ends = runs.filter(({ history }) => history.length).map((run) => ({
      run, x: px(run.history.last), y: py((run.history.smooth[measure] ?? run.history.columns[measure]).at(-1) ?? 0),
    })).sort((a, b) => a.y - b.y);
    for (let i = 1; i < ends.length; i++) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + APART);
    for (let i = ends.length - 1, most = foot - 2; i >= 0; i--, most -= APART) ends[i].y = Math.min(ends[i].y, most);
    return ends.map(({ run, x, y }) => ({ text: shorten(run.label), x: x + 8, y: y + 4, fill: run.colour, size: 12.5, bold: run.focus, halo: tint("--iv-card") }));
  }

  // diamonds at the foot for all; words where there is room for them
  momentMarks(moments, foot, inner, lines) {
    const low = lines.map(({ value }) => this.place.py(value)).filter((y) => foot - y < 60), base = low.length ? Math.min(...low) - 20 : foot - 10;
    const { px } = this.place, amber = tint("--iv-amber"), marks = [], rows = [[], [], []], tall = this.options.height >= SMALL;
    for (const { step, text } of moments) {
      const at = px(step);
      marks.push({ path: [at, TOP, at, foot], stroke: amber, dash: [3, 3], alpha: 0.55 });
      marks.push({ shape: [at - 5, foot, at, foot - 6, at + 5, foot, at, foot + 6], fill: amber });
      if (!tall || this.options.measure !== "accuracy") continue;
      const wide = widthOf(text) + 12, from = at + wide > LEFT + inner ? at - wide : at;
      const row = from < LEFT ? -1 : rows.findIndex((taken) => taken.every(([a, b]) => from > b || from + wide < a));
      if (row < 0) continue;
      rows[row].push([from, from + wide]);
      marks.push({ text, x: from < at ? at - 6 : at + 6, y: base - 16 * row, anchor: from < at ? "end" : "start", fill: amber, size: 12.5, halo: tint("--iv-card") });
    }
    return marks;
  }

  cursorMarks() {
    const { cursor, pinned, runs } = this.data, { measure } = this.options, { px, py, foot } = this.place, marks = [];
    if (pinned !== null) marks.push({ path: [px(pinned), TOP, px(pinned), foot], stroke: tint("--iv-ink"), width: 1.5, dash: [2, 3] });
    if (cursor === null) return marks;
    marks.push({ path: [px(cursor), TOP, px(cursor), foot], stroke: tint("--iv-accent"), width: 1.2 });
    for (const { history, colour } of runs) {
      const i = history.at(cursor), value = i === null ? null : history.columns[measure][i];
      if (value != null) marks.push(disc(px(history.columns.step[i]), py(value), 4, colour));
    }
    return marks;
  }

  showTip() {
    const { cursor, hovered, runs, moments = [] } = this.data;
    this.tip.hidden = cursor === null || hovered !== this;
    if (this.tip.hidden) return;
    const lines = [say("step", { step: cursor })];
    for (const { label, history } of runs) {
      const i = history.at(cursor), value = i === null ? null : history.columns[this.options.measure][i];
      if (value != null) lines.push(`${runs.length > 1 ? `${label}: ` : ""}${this.options.exact(value)}`);
    }
    const near = moments.filter(({ step }) => Math.abs(this.place.px(step) - this.place.px(cursor)) < 7);
    this.tip.textContent = [...lines, ...near.map(({ step, text }) => `◆ ${say("moment_at", { step, what: text })}`)].join("\n");
    const at = this.place.px(cursor), wide = this.tip.offsetWidth;
    this.tip.style.left = `${at + 12 + wide < this.width ? at + 12 : Math.max(0, at - wide - 12)}px`;
    this.tip.style.top = `${TOP + 2}px`;
  }

  stepAt(event) {
    if (!this.place) return null;
    const x = event.clientX - this.canvas.getBoundingClientRect().left, { last, scale } = this.data;
    const share = Math.max(0, Math.min(1, (x - LEFT) / this.place.inner));
    return Math.round(scale === "log" ? Math.expm1(share * Math.log1p(last)) : share * last);
  }

  key(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -25, PageDown: 25 }[event.key], { cursor, last } = this.data;
    const to = { Home: 1, End: last, Escape: null }[event.key];
    if (!move && to === undefined && event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") return this.options.onPick(cursor);
    this.options.onMove(move ? Math.max(1, Math.min(last, (cursor ?? 0) + move)) : to, this);
  }
}

const current = (history, measure) => (history.smooth[measure] ?? history.columns[measure]).at(-1);

// (x0, y0, x1, y1, …); where many steps share a column of pixels, their lowest and highest
function trace(steps, values, px, py) {
  const points = [];
  let column = null, low = 0, high = 0;
  for (let i = 0; i < steps.length; i++) {
    if (values[i] == null || Number.isNaN(values[i])) continue;
    const x = px(steps[i]), y = py(values[i]), here = Math.round(x * 2);
    if (here === column) {
      if (y < low || y > high) points.push(x, y);
      low = Math.min(low, y);
      high = Math.max(high, y);
    } else {
      points.push(x, y);
      column = here;
      low = high = y;
    }
  }
  return points;
}

function extent(runs, measure, logY) {
  let low = Infinity, high = -Infinity, first = null;
  for (const { history } of runs) {
    for (const { columns, smooth } of [history, history.ghost].filter(Boolean)) {
      const values = smooth[measure] ?? columns[measure];
      first ??= values[0];
      for (const value of values) {
        if (value > high) high = value;
        if (value < low) low = value;
      }
    }
  }
  if (!(high > -Infinity)) return [0, 1, false];
  if ((logY && low > 0 && high > 20 * low) || (measure === "loss" && high > 8 * first)) return [Math.max(low, high / 1e6, 1e-9) / 1.2, high * 1.3, true];
  return [0, high > 0 ? high * 1.06 : 1, false];
}

function decades(low, high) {
  const all = [];
  for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high); power++) all.push(10 ** power);
  const every = Math.max(1, Math.ceil(all.length / 4));
  return all.length ? all.filter((_, i) => i % every === 0) : [high / 1.3];
}

// 1, 2, 5, 10, … and the last one, each with room for its number
function stepTicks(last, scale, px) {
  const room = 34, inner = ticks(0, last, Math.max(2, (px(last) - px(0)) / 70)).filter(Number.isInteger);
  const all = scale === "linear" ? inner : [0];
  if (scale === "log") for (let decade = 1; decade < last; decade *= 10) all.push(...[1, 2, 5].map((m) => m * decade));
  const kept = [];
  for (const step of all) {
    if (step < last && (!kept.length || px(step) - px(kept.at(-1)) >= room) && px(last) - px(step) >= room) kept.push(step);
  }
  return [...kept, last];
}

function disc(x, y, r, fill) {
  const shape = [];
  for (let i = 0; i < 16; i++) shape.push(x + r * Math.cos((i * Math.PI) / 8), y + r * Math.sin((i * Math.PI) / 8));
  return { shape, fill };
}

const widths = new Map();
function widthOf(text, size = 12.5, bold = false) {
  const key = `${size}${bold}${text}`;
  if (!widths.has(key)) {
    measuring.font = `${bold ? "600 " : ""}${size}px system-ui, 'Noto Sans CJK SC', sans-serif`;
    widths.set(key, measuring.measureText(text).width);
  }
  return widths.get(key);
}

const shorten = (text) => (text.length > 24 ? `${text.slice(0, 23)}…` : text);
const tidy = (value) => (Math.abs(value) >= 1000 ? `${Number((value / 1000).toPrecision(3))}k` : String(Number(value.toPrecision(3))));
