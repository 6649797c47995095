// What the Gates tab draws from: the chosen layer of the look, and its workings, which come once per input.

import { askArrays } from "./api.js";
import { set, show, shown, state } from "./store.js";
import { quoted, shortened } from "./token_labels.js";
import { has, inLanguage, say } from "./words.js";

const ORDER = ["forget", "reset", "input", "update", "candidate", "output", "cell", "hidden"]; // as the equations go
const SIGNED = ["candidate", "hidden", "cell"]; // the others are gates, 0…1
const limits = new WeakMap();
let asked = null; // the look whose workings are on their way

// the same question as the look on screen answers
export const question = (run = state.run) => ({ run, text: state.text, held_out: state.text === null ? state.heldOut : null });

export async function loadWorkings() {
  const { look } = shown;
  if (asked === look) return;
  asked = look;
  try {
    const workings = await askArrays("gates", question());
    if (shown.look === look) show({ workings: { ...workings, look } });
  } catch (error) {
    if (asked === look) asked = null;
    throw error;
  }
}

export const fresh = () => Boolean(shown.look) && shown.workings?.look === shown.look && Boolean(layer());
export const layer = () => shown.look.cells.find(({ name }) => name === state.cells);
export const about = () => shown.workings.layers.find(({ name }) => name === state.cells);
export const tokens = () => shown.look.axes[layer().axis];
export const last = () => shown.look.steps.length - 1;
export const trainingStep = () => shown.look.steps[state.snapshot];
export const values = (point) => shown.look.arrays[`${state.cells}.${point}`]; // (snapshot, time, unit)
export const working = (key) => shown.workings.arrays[`${state.cells}.${key}`];
export const signals = () => shown.workings.signals[layer().axis];
export const units = () => values("hidden").shape[2];

export const unit = () => Math.min(state.unit, units() - 1);
export const time = () => Math.min(state.step ?? tokens().length - 1, tokens().length - 1);
export const point = () => (layer().points.includes(state.point) ? state.point : "hidden");

export const points = () => ORDER.filter((name) => layer().points.includes(name));

export const kindOf = (name) => (SIGNED.includes(name) ? "signed" : "weight");

// 1, or for what has no bound the largest that any unit (or a given one) ever is: the same through all of the training
export function limitOf(name, one = null) {
  if (kindOf(name) === "weight" || (name !== "cell" && about().activation === "tanh")) return 1;
  const { data } = values(name);
  if (!limits.has(data)) {
    const most = new Float32Array(units());
    data.forEach((x, i) => { most[i % most.length] = Math.max(most[i % most.length], Math.abs(x)); });
    limits.set(data, most);
  }
  return Math.max(1e-6, one === null ? Math.max(...limits.get(data)) : limits.get(data)[one]);
}

// Pearson's r of every unit of a point with a signal: core.analysis.measures.correlation
export function correlations(name, signal, moment) {
  const at = values(name).at(moment), [length, count] = at.shape, found = new Float64Array(count);
  const middle = signal.reduce((sum, x) => sum + x, 0) / length;
  const around = signal.map((x) => x - middle), power = around.reduce((sum, x) => sum + x * x, 0);
  for (let u = 0; u < count; u++) {
    let mean = 0, own = 0, both = 0;
    for (let t = 0; t < length; t++) mean += at.value(t, u) / length;
    for (let t = 0; t < length; t++) {
      const x = at.value(t, u) - mean;
      own += x * x;
      both += x * around[t];
    }
    const scale = Math.sqrt(own * power);
    found[u] = scale > 1e-12 ? both / scale : 0;
  }
  return found;
}

export function signalName(name) {
  const key = `gates.signal.${name}`;
  return has(key) ? say(key) : say("gates.signal.token", { token: quoted(name.slice("token ".length)) });
}

// only as much as tells it from the run's other layers
export function layerName(name) {
  const parse = (one) => one.match(/^(?:(\w+)\.)?layers\.(\d+)\.(\w+)$/);
  const [, stack, number, direction] = parse(name), others = shown.look.cells.map((cells) => parse(cells.name));
  const deep = others.some((one) => one[2] !== "0"), both = others.some((one) => one[1] === stack && one[3] === "bwd");
  const parts = [stack && say(`gates.${stack}`), deep && say("gates.layer", { n: number }), both && say(`gates.${direction}`)].filter(Boolean);
  return parts.length ? parts.join(" · ") : say("gates.layer", { n: number });
}

// What a kept picture is of.
export function pictured() {
  const run = shown.runs.find(({ name }) => name === state.run);
  return [run ? inLanguage(run.title) : state.run, layerName(state.cells), say("at_step", { step: trainingStep() }), shortened(shown.look.text, 60)].join(" · ");
}

// Left and right on a picture over the tokens: another token.
export function stepKeys(event) {
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!move) return;
  event.preventDefault();
  event.stopPropagation();
  set({ step: Math.max(0, Math.min(tokens().length - 1, time() + move)) });
}

export const pointName = (name) => say(`gates.point.${name}`);
