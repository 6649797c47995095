// The marks of a chart of training: axes, curves with their ghosts, names, moments, the cursor; from data and a width.

import { tint, ticks } from "./lines.js";
import { say } from "./words.js";

export const [TOP, BOTTOM, LEFT, RIGHT] = [26, 26, 50, 12]; // px around the curves
const APART = 15, TALL = 180, WIDE = 420; // px: between two names; from which height and width on there is room for words
const measuring = document.createElement("canvas").getContext("2d");

// Where a step and a value lie, and what has room. data and options as of TrainChart
export function layOut({ runs, last, scale }, { height, measure, logY, range }, width) {
  const tall = height >= TALL, named = tall && width >= WIDE && runs.length > 1;
  const room = named ? Math.min(130, Math.max(...runs.map(({ label }) => widthOf(shorten(label))))) + 8 : 0;
  const [low, high, log] = range ? [...range, false] : extent(runs, measure, logY);
  const foot = height - BOTTOM, inner = width - LEFT - RIGHT - room;
  const px = scale === "log" ? (step) => LEFT + (inner * Math.log1p(step)) / Math.log1p(last) : (step) => LEFT + (inner * step) / last;
  const f = log ? Math.log : (v) => v, span = f(high) - f(low) || 1;
  const y = (value) => TOP + (foot - TOP) * (1 - (f(log ? Math.max(value, 1e-12) : value) - f(low)) / span);
  const py = (value) => Math.max(TOP - 3, Math.min(foot + 2, y(value)));
  return { px, py, foot, inner, low, high, log, tall, named, same: [low, high, log, inner, foot, scale, last].join() };
}

export function sceneOf(data, options, place) {
  const { runs, lines = [], moments = [] } = data, { measure } = options;
  return [
    ...axes(data, options, place), ...lines.flatMap((line) => lineMarks(line, place)), ...runs.flatMap((run) => curve(run, measure, place)),
    ...momentMarks(moments, lines, measure === "accuracy", place), ...(place.named ? names(runs, measure, place) : []), ...heading(data, options, place),
  ];
}

function axes({ last, scale }, { formatY }, { px, py, foot, inner, low, high, log, tall }) {
  const [mute, line] = ["--iv-mute", "--iv-line"].map(tint), marks = [];
  for (const value of log ? decades(low, high) : ticks(low, high, tall ? 5 : 3)) {
    marks.push({ path: [LEFT, py(value), LEFT + inner, py(value)], stroke: line });
    marks.push({ text: formatY?.(value) ?? tidy(value), x: LEFT - 7, y: py(value) + 4, anchor: "end", fill: mute, size: 12 });
  }
  for (const step of stepTicks(last, scale, px)) marks.push({ text: String(step), x: px(step), y: foot + 17, anchor: "middle", fill: mute, size: 12 });
  return marks;
}

// what the curve is to be measured by; its words in the corners where curves seldom are: top left, bottom right
function lineMarks({ value, text }, { py, inner, tall }) {
  const mute = tint("--iv-mute"), high = value > 0.8, marks = [{ path: [LEFT, py(value), LEFT + inner, py(value)], stroke: mute, dash: [2, 4], width: 1.4 }];
  if (tall) marks.push({ text, x: high ? LEFT + 5 : LEFT + inner - 4, y: py(value) + (high ? 15 : -5), anchor: high ? "start" : "end", fill: mute, size: 12, halo: tint("--iv-card") });
  return marks;
}

function heading({ runs }, { title, format, measure }, { inner, log }) {
  const mute = tint("--iv-mute"), called = log ? say("train.log_axis", { name: title }) : title;
  const now = runs.find(({ focus }) => focus) ?? runs[0], value = now && (now.history.smooth[measure] ?? now.history.columns[measure]).at(-1);
  const marks = [{ text: say("train.steps_axis"), x: LEFT + inner, y: 14, anchor: "end", fill: mute, size: 12 }, { text: called, x: 2, y: 14, fill: mute, size: 13, bold: true }];
  if (value != null) marks.push({ text: format(value), x: 10 + widthOf(called, 13, true), y: 14, fill: runs.length > 1 ? now.colour : tint("--iv-ink"), size: 13, bold: true });
  return marks;
}

// the ghost wide and pale; each step thin, of the run in focus; the smoothed curve on top
function curve({ history, colour, focus, live }, measure, place) {
  const { px, py } = place;
  const { ghost, columns } = history, { step } = columns, smooth = history.smooth[measure], marks = [];
  if (ghost) marks.push({ path: trace(ghost.columns.step, ghost.smooth[measure] ?? ghost.columns[measure], place), stroke: colour, width: 8, alpha: 0.22 });
  if (!step.length) return marks;
  if (smooth && focus) marks.push({ path: trace(step, columns[measure], place), stroke: colour, width: 1, alpha: 0.3 });
  marks.push({ path: trace(step, smooth ?? columns[measure], place), stroke: colour, width: focus ? 2.4 : 1.7 });
  const end = (smooth ?? columns[measure]).at(-1);
  if (end != null) marks.push(disc(px(step.at(-1)), py(end), live ? 4.5 : 3, colour));
  return marks;
}

function names(runs, measure, { px, py, foot }) {
  const ends = runs.filter(({ history }) => history.length).map((run) => ({
    run, x: px(run.history.last), y: py((run.history.smooth[measure] ?? run.history.columns[measure]).at(-1) ?? 0),
  })).sort((a, b) => a.y - b.y);
  for (let i = 1; i < ends.length; i++) ends[i].y = Math.max(ends[i].y, ends[i - 1].y + APART);
  for (let i = ends.length - 1, most = foot - 2; i >= 0; i--, most -= APART) ends[i].y = Math.min(ends[i].y, most);
  return ends.map(({ run, x, y }) => ({ text: shorten(run.label), x: x + 8, y: y + 4, fill: run.colour, size: 12.5, bold: run.focus, halo: tint("--iv-card") }));
}

// diamonds at the foot for all; words where there is room for them, above a line that lies low
function momentMarks(moments, lines, worded, { px, py, foot, inner, tall }) {
  const amber = tint("--iv-amber"), marks = [], rows = [[], [], []];
  const low = lines.map(({ value }) => py(value)).filter((y) => foot - y < 60), base = low.length ? Math.min(...low) - 20 : foot - 10;
  for (const { step, text } of moments) {
    const at = px(step);
    marks.push({ path: [at, TOP, at, foot], stroke: amber, dash: [3, 3], alpha: 0.55 });
    marks.push({ shape: [at - 5, foot, at, foot - 6, at + 5, foot, at, foot + 6], fill: amber });
    if (!tall || !worded) continue;
    const wide = widthOf(text) + 12, from = at + wide > LEFT + inner ? at - wide : at;
    const row = from < LEFT ? -1 : rows.findIndex((taken) => taken.every(([a, b]) => from > b || from + wide < a));
    if (row < 0) continue;
    rows[row].push([from, from + wide]);
    marks.push({ text, x: from < at ? at - 6 : at + 6, y: base - 16 * row, anchor: from < at ? "end" : "start", fill: amber, size: 12.5, halo: tint("--iv-card") });
  }
  return marks;
}

export function cursorMarks({ cursor, pinned, runs }, { measure }, { px, py, foot }) {
  const marks = [];
  if (pinned !== null) marks.push({ path: [px(pinned), TOP, px(pinned), foot], stroke: tint("--iv-ink"), width: 1.5, dash: [2, 3] });
  if (cursor === null) return marks;
  marks.push({ path: [px(cursor), TOP, px(cursor), foot], stroke: tint("--iv-accent"), width: 1.2 });
  for (const { history, colour } of runs) {
    const i = history.at(cursor), value = i === null ? null : history.columns[measure][i];
    if (value != null) marks.push(disc(px(history.columns.step[i]), py(value), 4, colour));
  }
  return marks;
}

// (x0, y0, x1, y1, …); where many steps share a column of pixels, only what reaches beyond the others there.
// Columns of a history only grow: while the place stays the same, new steps are added to the points there are.
const traced = new WeakMap();
function trace(steps, values, { px, py, same }) {
  let done = traced.get(values);
  if (done?.same !== same) traced.set(values, (done = { same, count: 0, points: [], column: null, low: 0, high: 0 }));
  for (; done.count < values.length; done.count++) {
    const value = values[done.count];
    if (value == null || Number.isNaN(value)) continue;
    const x = px(steps[done.count]), y = py(value), column = Math.round(x);
    if (column !== done.column) Object.assign(done, { column, low: y, high: y });
    else if (y >= done.low && y <= done.high) continue;
    done.points.push(x, y);
    done.low = Math.min(done.low, y);
    done.high = Math.max(done.high, y);
  }
  return done.points;
}

// From 0 (or, on a log scale, a little below the least) to a little above the most: in steps, so that it seldom changes.
function extent(runs, measure, logY) {
  const parts = runs.flatMap(({ history }) => [history, history.ghost]).filter((part) => part?.columns.step.length);
  const lows = parts.map(({ extents }) => extents[measure].low), highs = parts.map(({ extents }) => extents[measure].high);
  const low = Math.min(...lows), high = Math.max(...highs), first = parts[0]?.columns[measure][0];
  if (!(high > -Infinity)) return [0, 1, false];
  const widely = (logY && low > 0 && high > 20 * low) || (measure === "loss" && high > 8 * first);
  if (widely) return [half(Math.max(low, high / 1e6, 1e-9), Math.floor), half(high, Math.ceil), true];
  return [0, high > 0 ? rounded(high) : 1, false];
}

const half = (value, round) => 10 ** (round(2 * Math.log10(value)) / 2); // to a half decade

function rounded(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1.05, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10.2].find((step) => step * power >= value * 1.01);
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
