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
  focus: "map", // or "arcs", "rollout", "head", "model", "neuron" (BertViz)
  recurrent_layer: null, // "layers.0.fwd"
  gate: "hidden", // or state
  unit: 0,
  time: 0, // position in the sequence that a recurrent layer reads
  sort: "index",
  gatesView: "units", // or "path", "gradient"
  through: "time", // or "training"
  pathOf: "hidden",
  gradientOf: null, // "input", "long" or "untrained"
  scheme: null, // of the Positions tab; its other keys begin with the values of their controls
  schemeRun: null, // the run whose own scheme was opened
  ropeSeed: 0,
  shuffleSeed: 0,
  positionPart: null, // which part of a trained model
  learnedSnapshot: null, // of a run shown in place of one without learned positions, or without buckets
  t5Snapshot: null,
  sentence: null, // read in two orders
  part: null, // id of the selected part of the Build tab's model
  partHead: 0, // which head of the activations at it
  recipe: { family: "lstm", task: "parity", variant: "default", model: {}, task_options: {}, training: {}, seed: 0 }, // to be trained next; only what differs from its variant
  trained: null, // key of the run in focus on the Train tab
  trainScale: "log", // its steps: or "linear"
  trainPinned: null, // the step that was clicked on its charts
};

export const state = {
  ...DEFAULTS,
  lastStep: null, // of the run's training so far
  attentionOf: null, // run and input for which group, layer, head and cell were chosen
  hasTraining: true, // does what is looked at have a record of its training?
  long: false, // are exact maps and arithmetic asked for one head at a time?
  build: { a: null, b: null, side: "a" }, // configurations of the Build tab, {family, options}: null is the run's, or no second one
  built: null, // as they are drawn: {a, b, run}
  refused: null, // the option of the last one that could not be drawn,
  refusal: "", // and why not
  folded: { open: null, unrolled: [] }, // parts of the model's diagram: null is the first level
  copies: {}, // id of a group of equal parts → which of them is named
  side: "a", // of the Generate tab: the chosen way of writing
  token: 0, // and token of its text
  node: -1, // the chosen candidate of its beams
  treeSide: "a", // the way whose beams are drawn
  written: 1e5, // tokens that are shown of both texts
  masks: null, // positions; null: as in the input
  spanStart: -9, // a cell of the scores of spans, of tags; outside: none
  spanEnd: -9,
  latticeRow: -9,
  latticeColumn: -9,
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

// What belongs to the state but is too large for a link: the run's story and the look at its input.
export const shown = { runs: [], story: null, look: null, jobs: [] };

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
  notify(changed, Object.keys(changes));
}

export function show(changes) {
  Object.assign(shown, changes);
  notify(Object.keys(changes), Object.keys(changes));
}

// changed: keys that have another value; given: all that were set
function notify(changed, given) {
  for (const { keys, listener } of listeners) {
    if (keys && !keys.some((key) => changed.includes(key))) continue;
    try {
      listener(changed, given);
    } catch (error) {
      reportError(error); // told to the console; the other views go on
    }
  }
}
