// The words on a chart of training, each where no curve runs: moments as flags above the curves, what they are measured by
// beside them, and the number of each run in a disc at its end.

import { spreadOut, tint } from "./lines.js";
import { say } from "./words.js";

export const ROW = 16; // px, of a row of flags
export const lift = (numbered) => (numbered ? RADIUS + 6 : 6); // px, of the lowest one above the curves: no disc reaches it
const [MOST, TOGETHER, GAP] = [5, 60, 6]; // flags there may be; px between heads told together; px between flags
const PLACES = [0, 1, 2].flatMap((row) => [false, true].map((left) => ({ row, left }))); // of a flag, on its line
const [RADIUS, APART, LINES_APART] = [8, 17, 30]; // px, of discs and between them; between two measures
const measuring = document.createElement("canvas").getContext("2d");

const widths = new Map();
export function widthOf(text, size = 12.5, bold = false) {
  const key = `${size}${bold}${text}`;
  if (!widths.has(key)) {
    measuring.font = `${bold ? "600 " : ""}${size}px system-ui, 'Noto Sans CJK SC', sans-serif`;
    widths.set(key, measuring.measureText(text).width);
  }
  return widths.get(key);
}

export function disc(x, y, r, fill) {
  const shape = [];
  for (let i = 0; i < 16; i++) shape.push(x + r * Math.cos((i * Math.PI) / 8), y + r * Math.sin((i * Math.PI) / 8));
  return { shape, fill };
}

// Moments as flags on their lines, {step, at, text, row, left, from, to}: as many as find a place, the most telling first;
// the others have their diamond only. A line that goes up to its flag crosses no other flag. Sought anew only when
// something of it changes: not with every step.
let laid = { of: null, flags: [] };
export function flagsOf(moments, px, edge, width) {
  const told = gathered(moments, px).slice(0, MOST), of = JSON.stringify([told, edge, width, told.map(({ step }) => px(step))]);
  if (laid.of !== of) laid = { of, flags: best(told.map((one) => ({ ...one, at: px(one.step) })), edge, width) };
  return laid.flags;
}

function best(told, edge, width, flags = []) {
  if (!told.length) return flags;
  const [one, ...rest] = told, wide = widthOf(one.text) + 6;
  let found = [];
  for (const { row, left } of PLACES) {
    const flag = { ...one, row, left, from: left ? one.at - wide : one.at, to: left ? one.at : one.at + wide };
    if (flag.from < 0 || flag.to > (row ? width : edge) || !flags.every((other) => apart(flag, other))) continue;
    const tried = best(rest, edge, width, [...flags, flag]);
    if (tried.length > found.length) found = tried;
    if (found.length === flags.length + told.length) return found;
  }
  const without = best(rest, edge, width, flags);
  return without.length > found.length ? without : found;
}

function apart(one, other) {
  if (one.row === other.row) return one.from > other.to + GAP || one.to + GAP < other.from;
  const [lower, upper] = one.row < other.row ? [one, other] : [other, one];
  return upper.at < lower.from - GAP / 2 || upper.at > lower.to + GAP / 2;
}

// the run's own moments, then its heads: those that find their role at about the same time are told together
function gathered(moments, px) {
  const groups = [];
  for (const moment of moments.filter(({ head }) => head !== null)) {
    const last = groups.at(-1)?.at(-1);
    if (last && px(moment.step) - px(last.step) < TOGETHER) groups.at(-1).push(moment);
    else groups.push([moment]);
  }
  groups.sort((a, b) => b.length - a.length);
  const heads = groups.map((group) => (group.length === 1 ? group[0] : { step: group[0].step, text: say("train.heads_find", { n: group.length }) }));
  return [...moments.filter(({ head }) => head === null).reverse(), ...heads];
}

// a diamond at the foot and a line up for every moment
export function momentMarks(moments, flags, { px, top, foot, numbered }) {
  const amber = tint("--iv-amber"), height = new Map(flags.map(({ step, row }) => [step, top - lift(numbered) - ROW * row])), marks = [];
  for (const step of new Set(moments.map((moment) => moment.step))) {
    const at = px(step);
    marks.push({ path: [at, height.get(step) ?? top, at, foot], stroke: amber, dash: [3, 3], alpha: 0.55 });
    marks.push({ shape: [at - 5, foot, at, foot - 6, at + 5, foot, at, foot + 6], fill: amber });
  }
  for (const { at, step, text, left } of flags) {
    marks.push({ text, x: left ? at - 5 : at + 5, y: height.get(step), anchor: left ? "end" : "start", fill: amber });
  }
  return marks;
}

// what the curve is to be measured by: a dotted line, its name and value beside the chart
export const lineRoom = (lines) => (lines.length ? Math.max(...lines.flatMap(({ name, share }) => [widthOf(name, 12), widthOf(share, 12)])) + 6 : 0);

export function lineMarks(lines, numbered, { py, left, inner, top, foot }) {
  const mute = tint("--iv-mute"), sorted = [...lines].sort((a, b) => b.value - a.value), x = left + inner + (numbered ? RADIUS + 5 : 8);
  const places = spreadOut(sorted.map(({ value }) => py(value)), LINES_APART, top + 4, foot - 6);
  return sorted.flatMap(({ value, name, share }, i) => [
    { path: [left, py(value), left + inner, py(value)], stroke: mute, dash: [2, 4], width: 1.4 },
    { text: name, x, y: places[i] - 2, fill: mute, size: 12 }, { text: share, x, y: places[i] + 12, fill: mute, size: 12 },
  ]);
}

// Discs with the runs' numbers at the ends of their curves; where ends meet, above each other and tied to their curve.
export function numberMarks(ends, { top, foot }) {
  const groups = [];
  for (const end of [...ends].sort((a, b) => a.x - b.x)) {
    if (groups.length && end.x - groups.at(-1).at(-1).x < APART) groups.at(-1).push(end);
    else groups.push([end]);
  }
  return groups.flatMap((group) => {
    const sorted = group.sort((a, b) => a.y - b.y), x = Math.max(...sorted.map((end) => end.x));
    const places = spreadOut(sorted.map((end) => end.y), APART, top, foot - 2);
    const ties = sorted.map((end, i) => ({ path: [end.x, end.y, x, places[i]], stroke: end.colour, width: 1.2 }));
    return [...ties, ...sorted.flatMap(({ colour, number, focus }, i) => [
      disc(x, places[i], focus ? RADIUS + 1 : RADIUS, colour),
      { text: String(number), x, y: places[i] + 4, anchor: "middle", fill: tint("--iv-card"), size: 11.5, bold: true },
    ])];
  });
}
