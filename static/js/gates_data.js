// What the Gates tab shows just now: the chosen recurrent layer, its answer from the server, which comes once per input.

import { askArrays } from "./api.js";
import { show, shown, state } from "./store.js";
import { shortened } from "./token_labels.js";
import { inLanguage, say } from "./words.js";

let asked = null; // the look whose gates are on their way

// the same question as the look on screen answers
export const question = () => ({ run: state.run, text: state.text, held_out: state.text === null ? state.heldOut : null });

export async function loadGates() {
  const { look } = shown;
  if (asked === look) return;
  asked = look;
  try {
    const gates = await askArrays("gates", question());
    if (shown.look === look) show({ gates: { ...gates, look, arrays: { ...look.arrays, ...gates.arrays } } });
  } catch (error) {
    if (asked === look) asked = null;
    throw error;
  }
}

export const fresh = () => Boolean(shown.look) && shown.gates?.look === shown.look && Boolean(layer());
export const layer = () => shown.gates.layers.find(({ name }) => name === state.recurrent_layer);
export const tokens = (name = state.recurrent_layer) => shown.look.axes[shown.look.recurrent_layers.find((one) => one.name === name).axis];
export const array = (name) => shown.gates.arrays[`${state.recurrent_layer}.${name}`];
export const runTitle = (run) => inLanguage(shown.runs.find(({ name }) => name === run)?.title ?? { en: run, zh: run });

export const unit = () => Math.min(state.unit, array("hidden").shape[2] - 1);
export const position = () => Math.min(state.time, tokens().length - 1);

// What a kept picture is of.
export const pictured = () => [runTitle(state.run), inLanguage(layer().title), say("at_step", { step: shown.look.steps[state.snapshot] }), shortened(shown.look.text, 60)].join(" · ");
