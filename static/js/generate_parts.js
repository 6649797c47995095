// What the views of the Generate tab have in common: the question, how a token is written, its pictures.

import { Picture } from "./live/picture.js";
import { missing, neat } from "./numbers.js";
import { shown, state } from "./store.js";
import { shortened } from "./token_labels.js";
import { format, has, inLanguage, say } from "./words.js";

export const seen = (token) => (token === " " ? "␣" : token);
export const probability = (share) => (share > 0 && share < 5e-4 ? neat(share) : format(share, ".1%")); // as exact as it is
export const likelihood = (score) => (missing(score) ? null : Math.exp(score)); // a score is a logarithm

const step = () => shown.look.steps[Math.min(state.snapshot, shown.look.steps.length - 1)];
export const question = () => ({ run: state.run, text: state.text, held_out: state.text === null ? state.heldOut : null, step: step() });

function about() {
  const run = shown.runs.find(({ name }) => name === state.run);
  return [run ? inLanguage(run.title) : state.run, say("step", { step: step() }), shortened(shown.look.text, 60)].join(" · ");
}

export const pictureIn = (parent, className = "") => new Picture(parent, { className, about });

// another figure where there is one; the same one stays as it is
export function showIn(picture, spec, arrays) {
  if (!spec || picture.element.hidden || picture.figure?.spec !== spec) picture.show(spec ?? null, arrays);
}

// a sentence about so many things; of one it may be said otherwise
export const counted = (key, n, values = {}) => say(n === 1 && has(`${key}_one`) ? `${key}_one` : key, { n, ...values });

// One stop of the tab key for a row of buttons; arrow keys go from one to the next.
export function nextButton(event) {
  const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], all = [...event.currentTarget.children].filter((one) => !one.disabled), at = all.indexOf(event.target);
  if (!move || at < 0) return null;
  event.preventDefault();
  event.stopPropagation();
  const next = all[Math.max(0, Math.min(all.length - 1, at + move))];
  next.focus();
  return next;
}
