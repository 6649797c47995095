// What the pictures of the Generate tab have in common: how tokens and shares are written, and what a kept one is of.

import { Figure } from "./figure.js";
import { missing, neat, NONE } from "./numbers.js";
import { shown, state } from "./store.js";
import { shortened } from "./token_labels.js";
import { format, has, inLanguage, say } from "./words.js";

export const seen = (token) => (token === " " ? "␣" : token);
export const signed = (value, digits = 2) => (missing(value) ? NONE : (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits));
export const percent = (share) => format(share, ".1%"); // in a chart, where all are written alike
export const probability = (share) => (share > 0 && share < 5e-4 ? neat(share) : percent(share)); // alone, as exact as it is
export const likelihood = (score) => (missing(score) ? null : Math.exp(score)); // a score is a logarithm
export const spoken = (sentence) => sentence.replaceAll("**", ""); // for a screen reader

export const step = () => shown.look.steps[Math.min(state.snapshot, shown.look.steps.length - 1)];
export const question = () => ({ run: state.run, text: state.text, held_out: state.text === null ? state.heldOut : null, step: step() });

export function about() {
  const run = shown.runs.find(({ name }) => name === state.run);
  return [run ? inLanguage(run.title) : state.run, say("step", { step: step() }), shortened(shown.look.text, 60)].join(" · ");
}

// A figure around something that can tell itself as SVG and CSV.
export const framed = (parent, { title, name, view, csv = () => view().csv(), className = "", about: told = about }) => new Figure(parent, {
  title, className, about: told, name: () => `${state.run}-${name}`, keep: { svg: () => view().svgText(), csv } });

// a sentence about so many things; of one it may be said otherwise
export const counted = (key, n, values = {}) => say(n === 1 && has(`${key}_one`) ? `${key}_one` : key, { n, ...values });

export const greatest = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);
