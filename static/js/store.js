// What is being looked at, as one small object; views subscribe to its keys, and the address follows it (address.js).

import { language } from "./words.js";

// What belongs into a link, as it is when nothing has been chosen.
export const DEFAULTS = {
  theme: document.body.classList.contains("dark") ? "dark" : "light",
  language,
  tab: "attention",
  run: null,
  text: null, // typed input; null: held-out problem number `heldOut`
  heldOut: 0,
  snapshot: 0, // index of the snapshot
  group: null, // which attention: "blocks", "decoder.cross", …
  layer: 0,
  head: 0,
  query: null, // the chosen cell of a map
  key: null,
  focus: "map", // or "arcs"
  recurrent_layer: null, // "layers.0.fwd"
  gate: "hidden", // or state
  unit: 0,
  time: 0, // position in the sequence that a recurrent layer reads
  sort: "index",
  gatesView: "units", // or "path", "gradient"
  through: "time", // or "training"
  pathOf: "hidden",
  gradientOf: "input",
  scheme: null, // of the Positions tab: which scheme; its options (d_model, …) come from the server
  position: 5,
  offset: 3,
  pair: 1, // of dimensions
  biasHead: 0,
  sides: "two", // or "one": causal
  ropeKey: "same", // as the query, or "other"
  ropeSeed: 0,
  positionPart: null, // which part of a trained model
  tableView: "whole", // or "added": by training
  learnedSnapshot: null, // of a run shown in place of one without learned positions, or without buckets
  t5Snapshot: null,
  sentence: null, // read in two orders
  wordOrder: "shuffle", // or "reverse"
  shuffleSeed: 0,
  modelScheme: "none", // of the model that reads it
  part: null, // id of the selected part of the Build tab's model
  partHead: 0, // which head of the activations at it
  compared: 0, // 1: the first of two configurations, 2: the second; 0: there is one
  recipe: { family: "lstm", task: "parity", variant: "default", model: {}, task_options: {}, training: {}, seed: 0 }, // to be trained next; only what differs from its variant
  trained: null, // key of the run in focus on the Train tab
  trainScale: "log", // its steps: or "linear"
  trainPinned: null, // the step that was clicked on its charts
};

export const state = {
  ...DEFAULTS,
  trainStep: null, // the step that is pointed at on the charts of Train
  fineTuningLabels: null, // index of the number of labels that is pointed at
  picked: null, // in the list of runs: the run, or a checkpoint that is being offered
  opened: null, // a checkpoint that has come into memory
  typed: "", // in the box of the input, readable or not
  stepsMade: 0, // of the run's training
  pace: "usual", // of the player
  chosenLanguage: false, // not the browser's
  chosenTheme: false,
  large: false, // type to be read from the last row
};

// What belongs to the state but is too large for a link: the run's story, the look at its input, and what of the state these
// came with.
export const shown = { runs: [], story: null, look: null, jobs: [], opening: null };

// What a link may say of an input: below which number, or one of which names; null: nothing is known of it.
const heads = (look, values) => look.heads.find(({ name }) => name === values.group)?.shape ?? null;
export const CLAMPED = {
  group: (look) => look.heads.map(({ name }) => name),
  layer: (look, values) => heads(look, values)?.[1] ?? null,
  head: (look, values) => heads(look, values)?.[2] ?? null,
  query: (look, values) => rows(look, values, "queries"),
  key: (look, values) => rows(look, values, "keys"),
  recurrent_layer: (look) => look.recurrent_layers.map(({ name }) => name),
  time: (look, values) => look.axes[look.recurrent_layers.find(({ name }) => name === values.recurrent_layer)?.axis]?.length ?? null,
};

function rows(look, values, side) {
  const stack = look.heads.find(({ name }) => name === values.group);
  return stack ? look.axes[stack[side]]?.length ?? null : null;
}

// Keys that a link has named keep their values until a person does something: what opens late begins with them.
let held = new Set();
export const hold = (keys) => { held = new Set(keys ?? []); };
for (const kind of ["pointerdown", "keydown"]) document.addEventListener(kind, () => hold(null), true);

const listeners = [];

export function on(keys, listener) {
  listeners.push({ keys, listener });
}

// every change, whatever it is about
export const onAny = (listener) => listeners.push({ keys: null, listener });

export function set(changes) {
  const changed = Object.keys(changes).filter((key) => !held.has(key) && JSON.stringify(state[key]) !== JSON.stringify(changes[key]));
  if (!changed.length) return;
  for (const key of changed) state[key] = changes[key];
  notify(changed);
}

export function show(changes) {
  Object.assign(shown, changes);
  notify(Object.keys(changes));
}

function notify(changed) {
  for (const { keys, listener } of listeners) {
    if (keys && !keys.some((key) => changed.includes(key))) continue;
    try {
      listener(changed);
    } catch (error) {
      reportError(error); // told to the console; the other views go on
    }
  }
}
