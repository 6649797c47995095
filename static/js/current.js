// What the Attention tab shows just now: the chosen stack of heads, its axes, and the question to ask the server about it.

import { shown, state } from "./store.js";
import { shortened } from "./token_labels.js";
import { inLanguage, say } from "./words.js";

export const heads = () => shown.look.heads.find(({ name }) => name === state.group);
export const ready = () => Boolean(shown.look && state.group && heads());
export const weights = () => shown.look.arrays[`${state.group}.weights`];
export const headName = () => `${state.layer}.${state.head}`;
export const momentWords = () => (shown.story.checkpoint ? say("checkpoint.pill") : say("at_step", { step: step() }));
export const step = () => shown.look.steps[state.snapshot];
export const pointOf = (layer) => heads().points[layer].replace(/\.weights$/, "");
// A recurrent decoder has one alignment and no heads.
export const isAlignment = () => !heads().points[0].includes("blocks");
export const headTitle = () => (isAlignment() ? say("alignment_title") : say("one_head_title", { head: headName() }));
export const isBertViz = () => ["head", "model", "neuron"].includes(state.focus);

export function axes() {
  const { queries, keys } = heads(), { axes: names } = shown.look;
  return { rows: names[queries], columns: names[keys] };
}

// What a kept picture is of.
export function about() {
  const run = shown.runs.find(({ name }) => name === state.run);
  return [run ? inLanguage(run.title) : state.run, say(`group.${state.group}`), momentWords(), shortened(shown.look.text, 60)].join(" · ");
}

export const question = () => ({ run: state.run, text: state.text, held_out: state.text === null ? state.heldOut : null, step: step() });

// The strongest cell of the middle row: something to begin with.
export function firstCell() {
  const [, , , rows, columns] = heads().shape, row = Math.min(rows - 1, (rows + 1) >> 1), side = heads().pooled || 1;
  const values = weights().at(state.snapshot, state.layer, state.head);
  let best = 0;
  for (let column = 0; column < columns; column += side) {
    const value = (at) => values.value(Math.floor(row / side), Math.floor(at / side));
    if (value(column) > value(best)) best = column;
  }
  return { query: row, key: best };
}
