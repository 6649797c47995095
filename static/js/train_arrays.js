// The arrays behind the charts of training (app/figures/train_view.py), from the steps as they come in.

import { spread } from "./live/labels.js";
import { COLUMNS, SMOOTHED } from "./train_history.js";

const MEASURES = COLUMNS.slice(1);
const MOST = 400; // points of a curve on either scale; all steps are in the table
const DISC = 17; // px between the numbers of two runs
const column = (data) => ({ data, shape: [data.length], unit: 1, at() { return this; } });
const number = (value) => ({ data: [Number(value)], shape: [], unit: 1, at() { return this; } });
const meanOf = ({ columns, smooth }, measure) => smooth[measure] ?? columns[measure];

// runs: {key, job, history, moments, again}, the one in focus last; plot: where they are drawn
export function chartArrays(runs, lead, scale, plot) {
  const arrays = {}, put = (name, values) => { arrays[name] = column(values); };
  for (const { key, history } of runs) {
    for (const [name, part] of [[key, history], [`${key}.before`, history.ghost]]) {
      if (!part) continue;
    const kept = thinned(part.columns.step), taken = (values) => Float64Array.from(kept, (i) => values[i] ?? NaN), step = taken(part.columns.step);
      put(`${name}.step`, step);
      put(`${name}.log_step`, step.map(Math.log1p));
      for (const measure of MEASURES) {
        put(`${name}.${measure}`, taken(part === history ? part.columns[measure] : meanOf(part, measure)));
        if (part === history && SMOOTHED.includes(measure)) put(`${name}.${measure}.mean`, taken(part.smooth[measure]));
      }
    }
    put(`${key}.all.run`, Array(history.length).fill(key));
    for (const name of COLUMNS) put(`${key}.all.${name}`, history.columns[name]);
  }
  MEASURES.forEach((measure, i) => {
    const [low, high, log] = measure === "accuracy" ? [0, 1, false] : valueRange(runs, measure), place = log ? Math.log10 : (value) => value;
    put(`range.${measure}`, [place(low), place(high)]);
    arrays[`log.${measure}`] = number(log);
    arrays[`now.${measure}`] = number(lead.history.length ? meanOf(lead.history, measure).at(-1) ?? NaN : NaN);
    const axis = ["accuracy", "loss", "grad_norm", "lr", "tokens_per_s"].indexOf(measure), layout = plot?._fullLayout, name = axis ? axis + 1 : "";
    const ends = endsOf(runs, measure, scale, [place(low), place(high)], place, layout?.[`xaxis${name}`], layout?.[`yaxis${name}`]?._length ?? 168);
    for (const [part, values] of Object.entries(ends)) put(part.replace("_", `.${measure}.`), values);
  });
  for (const [name, value] of Object.entries(factsOf(lead))) arrays[`lead.${name}`] = number(value);
  return arrays;
}

// Indices of so many points, evenly spaced on both scales.
function thinned(steps) {
  if (steps.length <= MOST) return [...steps.keys()];
  const last = steps.length - 1, kept = new Set([last]);
  for (let i = 0; i < MOST; i++) {
    kept.add(Math.floor((i * last) / MOST));
    kept.add(Math.min(last, Math.floor(Math.expm1((i * Math.log1p(last)) / MOST))));
  }
  return [...kept].sort((a, b) => a - b);
}

// From 0 (or, on a log scale, a little below the least) to a little above the most: in steps, so that it seldom changes.
export function valueRange(runs, measure) {
  const parts = runs.flatMap(({ history }) => [history, history.ghost]).filter((part) => part?.columns.step.length);
  let [low, high] = [Infinity, -Infinity];
  for (const part of parts) for (const value of meanOf(part, measure)) if (value !== null) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (!(high > 0)) return [0, 1, false];
  const widely = (measure === "grad_norm" && low > 0 && high > 20 * low) || (measure === "loss" && high > 8 * parts[0].columns[measure][0]);
  const half = (value, round) => 10 ** (round(2 * Math.log10(value)) / 2), power = 10 ** Math.floor(Math.log10(high)); // half decades
  if (widely) return [half(Math.max(low, high / 1e6, 1e-9), Math.floor), half(high, Math.ceil), true];
  return [0, power * [1.05, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10.2].find((step) => step * power >= high * 1.01), false];
}

// The last points, within the chart; where discs would lie over each other they are moved apart, and tied to their curves.
function endsOf(runs, measure, scale, [low, high], place, axis, height) {
  const x = runs.map(({ history }) => (scale === "log" ? Math.log1p(history.last) : history.last)), tall = ["accuracy", "loss"].includes(measure);
  const share = runs.map(({ history }) => Math.max(0, Math.min(1, (place(meanOf(history, measure).at(-1) ?? NaN) - low) / (high - low)))), moved = [...share], at = [...x];
  const order = runs.map((_, i) => i).filter((i) => !Number.isNaN(share[i])).sort((a, b) => x[a] - x[b]), groups = [], ties = [];
  for (const i of tall && runs.length > 1 && axis ? order : []) {
    if (groups.length && (x[i] - x[groups.at(-1).at(-1)]) * (axis._length / (axis.range[1] - axis.range[0])) < DISC) groups.at(-1).push(i);
    else groups.push([i]);
  }
  for (const group of groups) {
    group.sort((a, b) => share[b] - share[a]);
    spread(group.map((i) => height * (1 - share[i])), DISC, 0, height - DISC / 2).forEach((px, k) => { moved[group[k]] = 1 - px / height; });
    for (const i of group) at[i] = Math.max(...group.map((j) => x[j]));
    for (const i of group) ties.push([x[i], share[i]], [at[i], moved[i]], [NaN, NaN]);
  }
  const value = (part) => (place === Math.log10 ? 10 ** (low + part * (high - low)) : low + part * (high - low));
  return { ends_x: at, ends_y: moved.map(value), ties_x: ties.map(([one]) => one), ties_y: ties.map(([, one]) => value(one)) };
}

const luck = (chance) => chance + Math.min(0.2 * chance, 0.1 * (1 - chance)); // of a small chance a small part more is already something learnt

// What the caption says of a run: the kind of its first sentence, and the numbers.
export function factsOf({ job, history, moments, again }) {
  const { length, ghost } = history, { loss = [], accuracy = [] } = history.smooth, now = accuracy.at(-1), found = history.repeated();
  const solved = moments.find(({ text }) => text.en === "the task is solved"), learnt = moments.some(({ text }) => text.en.endsWith("leaves chance"));
  const kind = again ? 1 : !length ? (ghost ? 0 : job.status === "queued" ? 2 : 3)
    : solved ? 4 : now <= luck(job.chance) && !learnt ? 5 : job.goal == null ? 6 : now >= job.goal ? 7 : 8;
  const told = length && !again;
  return {
    kind, begun: length > 0, step: history.last, now, solved: solved?.step ?? 0, several: told && length > 1, first_loss: loss[0], loss: loss.at(-1),
    ended: told && ["done", "stopped"].includes(job.status) && job.accuracy != null, newest: told && moments.length > 0 && moments.at(-1) !== solved,
    repeated: again || !ghost ? 0 : !found ? 1 : found.differs === null ? 2 : 3, same: found?.same ?? 0, differs: found?.differs ?? 0,
  };
}
