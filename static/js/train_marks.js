// The marks of a chart of training: axes, curves with their ghosts, the cursor; from data and a width.

import { tint, ticks } from "./lines.js";
import { disc, flagsOf, lift, lineMarks, lineRoom, momentMarks, numberMarks, ROW, widthOf } from "./train_labels.js";
import { tick } from "./train_numbers.js";
import { format, say } from "./words.js";

const [TOP, BOTTOM, LEFT, RIGHT] = [26, 26, 44, 14]; // px around the curves, at least
const TALL = 180; // px: the height from which on there is room for words
const SEEN = 2; // rows of flags there is always room for, so that the first ones do not move the curves

// Where a step and a value lie, and what has room. data and options as of TrainChart
export function layOut({ runs, last, scale, lines = [], moments = [] }, { height, measure, logY, range, formatY = tick }, width) {
  const tall = height >= TALL, worded = tall && measure === "accuracy", numbered = tall && runs.length > 1;
  const [low, high, log] = range ? [...range, false] : extent(runs, measure, logY);
  const values = (log ? decades(low, high) : ticks(low, high, tall ? 5 : 3)).map((value) => [value, formatY(value)]);
  const left = Math.max(LEFT, ...values.map(([, text]) => Math.ceil(widthOf(text, 12)) + 12));
  const foot = height - BOTTOM, inner = width - left - RIGHT - (tall ? lineRoom(lines) : 0);
  const px = scale === "log" ? (step) => left + (inner * Math.log1p(step)) / Math.log1p(last) : (step) => left + (inner * step) / last;
  const flags = worded ? flagsOf(moments, px, left + inner, width) : [], top = TOP + (worded ? lift(numbered) - 6 + ROW * Math.max(SEEN, ...flags.map(({ row }) => row + 1)) : 0);
  const f = log ? Math.log : (v) => v, span = f(high) - f(low) || 1;
  const y = (value) => top + (foot - top) * (1 - (f(log ? Math.max(value, 1e-12) : value) - f(low)) / span);
  const py = (value) => Math.max(top - 3, Math.min(foot + 2, y(value)));
  return { px, py, left, top, foot, inner, log, tall, numbered, values, flags, same: [low, high, log, left, top, inner, foot, scale, last].join() };
}

export function sceneOf(data, options, place) {
  const { runs, lines = [], moments = [] } = data, { measure } = options;
  return [
    ...axes(data, place), ...(place.tall ? lineMarks(lines, place.numbered, place) : []), ...momentMarks(moments, place.flags, place),
    ...runs.flatMap((run) => curve(run, measure, place)), ...(place.numbered ? numberMarks(endsOf(runs, measure, place), place) : []), ...heading(data, options, place),
  ];
}

function axes({ last, scale }, { px, py, left, foot, inner, values }) {
  const [mute, line] = ["--iv-mute", "--iv-line"].map(tint), marks = [];
  for (const [value, text] of values) {
    marks.push({ path: [left, py(value), left + inner, py(value)], stroke: line });
    marks.push({ text, x: left - 7, y: py(value) + 4, anchor: "end", fill: mute, size: 12 });
  }
  for (const step of stepTicks(last, scale, px)) marks.push({ text: format(step || 0, ","), x: px(step), y: foot + 17, anchor: "middle", fill: mute, size: 12 });
  return marks;
}

// the last one is left out where the others need its room
function heading({ runs }, { title, format: written, measure }, { left, inner, log }) {
  const mute = tint("--iv-mute"), called = log ? say("train.log_axis", { name: title }) : title, axis = say("train.steps_axis");
  const now = runs.find(({ focus }) => focus) ?? runs[0], value = now && latest(now, measure), said = value == null ? "" : written(value);
  const from = 10 + widthOf(called, 13, true), marks = [{ text: called, x: 2, y: 14, fill: mute, size: 13, bold: true }];
  if (said) marks.push({ text: said, x: from, y: 14, fill: runs.length > 1 ? now.colour : tint("--iv-ink"), size: 13, bold: true });
  if (from + widthOf(said, 13, true) + 12 < left + inner - widthOf(axis, 12)) marks.push({ text: axis, x: left + inner, y: 14, anchor: "end", fill: mute, size: 12 });
  return marks;
}

const drawnOf = ({ history }, measure) => history.smooth[measure] ?? history.columns[measure];
const latest = (run, measure) => drawnOf(run, measure).at(-1);

// the ghost wide and pale; each step thin, of the run in focus; the smoothed curve on top
function curve(run, measure, place) {
  const { history, colour, focus, live } = run, { ghost, columns } = history, { step } = columns, marks = [];
  if (ghost) marks.push({ path: trace(ghost.columns.step, ghost.smooth[measure] ?? ghost.columns[measure], place), stroke: colour, width: 8, alpha: 0.22 });
  if (!step.length) return marks;
  if (history.smooth[measure] && focus) marks.push({ path: trace(step, columns[measure], place), stroke: colour, width: 1, alpha: 0.3 });
  marks.push({ path: trace(step, drawnOf(run, measure), place), stroke: colour, width: focus ? 2.4 : 1.7 });
  const end = latest(run, measure);
  if (end != null && !place.numbered) marks.push(disc(place.px(step.at(-1)), place.py(end), live ? 4.5 : 3, colour));
  return marks;
}

function endsOf(runs, measure, { px, py }) {
  const ended = runs.filter((run) => latest(run, measure) != null);
  return ended.map((run) => ({ x: px(run.history.last), y: py(latest(run, measure)), colour: run.colour, number: run.number, focus: run.focus }));
}

export function cursorMarks({ cursor, pinned, runs }, { measure }, { px, py, top, foot }) {
  const marks = [];
  if (pinned !== null) marks.push({ path: [px(pinned), top, px(pinned), foot], stroke: tint("--iv-ink"), width: 1.5, dash: [2, 3] });
  if (cursor === null) return marks;
  marks.push({ path: [px(cursor), top, px(cursor), foot], stroke: tint("--iv-accent"), width: 1.2 });
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
  const room = 38, inner = ticks(0, last, Math.max(2, (px(last) - px(0)) / 70)).filter(Number.isInteger);
  const all = scale === "linear" ? inner : [0];
  if (scale === "log") for (let decade = 1; decade < last; decade *= 10) all.push(...[1, 2, 5].map((m) => m * decade));
  const kept = [];
  for (const step of all) {
    if (step < last && (!kept.length || px(step) - px(kept.at(-1)) >= room) && px(last) - px(step) >= room) kept.push(step);
  }
  return [...kept, last];
}
