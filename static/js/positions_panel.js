// What the panels of all position schemes share: sliders and chips for keys of the state, questions to the server, pictures.

import { askArrays, Refusal } from "./api.js";
import { chips, make } from "./dom.js";
import { busy } from "./header.js";
import { Picture } from "./live/picture.js";
import { set, state } from "./store.js";
import { say } from "./words.js";

const REMEMBERED = 40; // answers of the server kept in the page
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

// One scheme's controls and pictures. `questions()`: {name: [path, question, version]}; `drawn(answers)`: {picture: [answer, its figure's name]}.
export class Panel {
  constructor(parent) {
    this.bar = make("div", { class: "positions-controls", hidden: true }); // until the first answer is there
    this.problem = make("p", { class: "problem", role: "alert", hidden: true });
    this.figures = make("div", { class: "positions-figures", hidden: true });
    this.waiting = make("p", { class: "nothing" }, say("pos.waiting"));
    this.box = make("div", { class: "positions-panel" }, this.waiting, this.bar, this.problem, this.figures);
    parent.append(this.box);
    Object.assign(this, { controls: [], pictures: {}, specs: {} });
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
    this.bar.hidden = this.figures.hidden = false;
    for (const control of this.controls) control(this.answers);
    for (const [name, [answer, figure]] of Object.entries(this.drawn(this.answers))) {
      const spec = answer.figures[figure] ?? null;
      if (this.specs[name] !== spec) this.pictures[name].show(spec, answer.arrays); // what else changes, the figure follows by itself
      this.specs[name] = spec;
    }
  }

  // unless a scheme says otherwise: every picture from its one answer
  drawn(answers) {
    return Object.fromEntries(Object.keys(this.pictures).map((name) => [name, [Object.values(answers)[0], name]]));
  }

  picture(name, className, keep = ["png", "svg", "csv"]) {
    const about = () => say("pos.kept_about", { scheme: say(`pos.scheme.${state.scheme}`) });
    return (this.pictures[name] = new Picture(this.figures, { className, about, keep }));
  }

  // limits(answers) → {low, high}: those of the answer; shown(value): what the others allow of it
  slider(name, { low = 0, high = 1, step = 1 }, { limits = (one) => one.sliders?.[name], allowed = (value) => value, words = String } = {}) {
    const slider = new Slider(this.bar, name, words);
    slider.limit(low, high, step);
    this.controls.push((answers) => {
      const [least, most] = limits(Object.values(answers)[0]) ?? [low, high];
      slider.limit(least, most, step);
      slider.show(allowed(Math.max(least, Math.min(most, state[name])), most));
    });
  }

  // options(answers): values, or null where there is nothing to choose; current: where what is chosen may not be on offer
  chips(parent, key, label, words, options, current = () => state[key]) {
    const row = make("div", { class: "chips" });
    parent.append(row);
    this.controls.push((answers) => {
      const values = options(answers), now = values && current(values), same = JSON.stringify([values, now]);
      row.hidden = !values;
      if (!values || row.dataset.shows === same) return;
      row.dataset.shows = same;
      chips(row, values.map((value) => ({ value, text: words(value) })), now, (value) => set({ [key]: value }), say(label));
    });
  }

  // below the title of a picture, above the picture itself
  above(picture) {
    const box = make("div", {});
    picture.plot.before(box);
    return box;
  }
}

export class Slider {
  constructor(parent, key, words = String, name = key) {
    this.words = words;
    this.value = make("output", {});
    const move = () => {
      this.show(Number(this.input.value)); // also when it will be refused
      set({ [key]: Number(this.input.value) });
    };
    this.input = make("input", { type: "range", "data-slider": name, oninput: move });
    this.label = make("label", { class: "positions-slider" }, make("span", {}, say(`pos.slider.${name}`), " ", this.value), this.input);
    parent.append(this.label);
  }

  limit(min, max, step = 1) {
    Object.assign(this.input, { min, max, step });
  }

  show(value) {
    this.input.value = value;
    this.value.textContent = this.words(value);
    this.input.setAttribute("aria-valuetext", this.words(value));
  }
}

export const range = (n) => Array.from({ length: n }, (_, i) => i);
