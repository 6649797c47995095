// What the panels of all position schemes share: choices kept in the state, sliders, questions to the server, numbers.

import { askArrays, Refusal } from "./api.js";
import { chips, make } from "./dom.js";
import { busy } from "./header.js";
import { timesTen } from "./numbers.js";
import { set, state } from "./store.js";
import { say } from "./words.js";

const REMEMBERED = 40; // answers of the server kept in the page

export const chosen = () => state.positions;
export const choose = (changes) => set({ positions: { ...state.positions, ...changes } });

const answers = new Map();

// version: what else the answer depends on, such as how far a run has come
function ask(path, question, version) {
  const key = JSON.stringify([path, question, version]);
  if (!answers.has(key)) {
    answers.set(key, askArrays(`positions/${path}`, question));
    answers.get(key).catch(() => answers.delete(key));
    if (answers.size > REMEMBERED) answers.delete(answers.keys().next().value);
  }
  return answers.get(key);
}

// One scheme's pictures. `questions()`: {name: [path, question, version]}; `draw(answers)` redraws from choices, without asking.
export class Panel {
  constructor(parent) {
    this.box = make("div", { class: "positions-panel" });
    this.controls = make("div", { class: "positions-controls" });
    this.problem = make("p", { class: "problem", role: "alert", hidden: true });
    this.figures = make("div", { class: "positions-figures" });
    this.waiting = make("p", { class: "nothing" }, say("pos.waiting"));
    this.box.append(this.waiting, this.controls, this.problem, this.figures);
    this.controls.hidden = this.figures.hidden = true; // until the first answer is there
    parent.append(this.box);
    this.sliders = {};
  }

  async update() {
    const questions = this.questions(), key = JSON.stringify(questions);
    if (key !== this.asked) {
      this.asked = key;
      try {
        const found = await busy(Promise.all(Object.values(questions).map((parts) => ask(...parts))));
        if (this.asked !== key) return; // a newer question is on its way
        this.answers = Object.fromEntries(Object.keys(questions).map((name, i) => [name, found[i]]));
        this.problem.hidden = true;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        if (this.asked !== key) return;
        this.asked = null; // to be asked again, should only the connection have failed
        this.waiting.hidden = true;
        this.problem.hidden = false;
        this.problem.textContent = error.message;
        return;
      }
    }
    if (!this.answers) return;
    this.waiting.hidden = true;
    this.controls.hidden = this.figures.hidden = false;
    this.draw(this.answers);
  }

  // The moment of training has changed: nothing to do where nothing is trained.
  follow() {}

  slider(name, { low, high, step = 1 }) {
    this.sliders[name] = new Slider(this.controls, name, { low, high, step });
  }

  showSliders(values) {
    for (const [name, value] of Object.entries(values)) this.sliders[name].show(value);
  }
}

export class Slider {
  constructor(parent, name, limit) {
    this.name = name;
    this.value = make("output", {});
    const move = () => {
      this.show(Number(this.input.value)); // also when it will be refused
      choose({ [name]: Number(this.input.value) });
    };
    this.input = make("input", { type: "range", "data-slider": name, oninput: move });
    const words = make("span", {}, say(`pos.slider.${name}`), " ", this.value);
    this.label = make("label", { class: "positions-slider" }, words, this.input);
    parent.append(this.label);
    this.limit(limit);
  }

  limit({ low, high, step = 1 }) {
    Object.assign(this.input, { min: low, max: high, step });
  }

  show(value, words = String(value)) {
    this.input.value = value;
    this.value.textContent = words;
    this.input.setAttribute("aria-valuetext", words);
  }
}

// Chips for one of the choices; `current` where what is chosen may not be on offer here.
export function chipRow(parent, key, values, label, words = (value) => say(`pos.${key}.${value}`), current = chosen()[key]) {
  const same = JSON.stringify([values, current]);
  if (parent.dataset.shows === same) return;
  parent.dataset.shows = same;
  chips(parent, values.map((value) => ({ value, text: words(value) })), current, (value) => choose({ [key]: value }), label);
}

export const range = (n, from = 0) => Array.from({ length: n }, (_, i) => from + i);
export const signed = (n) => (n > 0 ? `+${n}` : String(n).replace("-", "−"));
export const number = (value, digits = 3) => value.toFixed(digits).replace("-", "−");

// 0.00000072 as 7.2 × 10⁻⁷
export function tiny(value) {
  if (value === 0 || value >= 0.001) return value === 0 ? "0" : value.toPrecision(2);
  return timesTen(...value.toExponential(1).split("e"));
}

// Numbers of one diagonal at a time: the largest difference between two places with the same offset.
export function unevenness(matrix) {
  const [n] = matrix.shape;
  let worst = 0;
  for (let offset = 1 - n; offset < n; offset++) {
    let low = Infinity, high = -Infinity;
    for (let i = Math.max(0, -offset); i < Math.min(n, n - offset); i++) {
      const value = matrix.data[i * n + i + offset];
      if (value < low) low = value;
      if (value > high) high = value;
    }
    worst = Math.max(worst, high - low);
  }
  return worst * matrix.unit;
}

// The row of a matrix by offset from its own place: null where the matrix ends.
export const byOffset = (matrix, row, offsets) => offsets.map((offset) => {
  const column = row + offset;
  return column >= 0 && column < matrix.shape[1] ? matrix.value(row, column) : null;
});
