// How much of the loss's gradient reaches each token: asked for run by run, so that each line is there as soon as it can be.

import { askArrays, Refusal } from "./api.js";
import { chips, make } from "./dom.js";
import { pictured, question, runTitle } from "./gates_data.js";
import { Picture } from "./live/picture.js";
import { set, shown, state } from "./store.js";
import { say } from "./words.js";

const OF = ["input", "long", "untrained"], MOST_ANSWERS = 100;

export class Gradients {
  constructor(parent) {
    this.picture = new Picture(parent, { className: "gates-gradient", about: () => (this.of === "input" ? pictured() : say(`gates.gradient_help.${this.of}`)) });
    this.switch = make("div", { class: "chips" });
    this.waiting = make("p", { class: "waiting", hidden: true });
    this.picture.tools.append(this.switch);
    parent.append(this.waiting);
    this.answers = new Map(); // question → its answer
  }

  get of() {
    return OF.includes(state.gradientOf) ? state.gradientOf : "input";
  }

  draw() {
    if (state.gatesView !== "gradient") {
      this.asked = null;
      this.waiting.hidden = true;
      return this.picture.show(null);
    }
    chips(this.switch, OF.map((value) => ({ value, text: say(`gates.gradient_of.${value}`), title: say(`gates.gradient_help.${value}`) })), this.of, (gradientOf) => set({ gradientOf }), say("gates.view.gradient"));
    const runs = shown.gates.runs[this.of], questions = runs.map((_, i) => JSON.stringify({ ...question(), of: this.of, runs: runs.slice(0, i + 1), layer: this.of === "input" ? state.recurrent_layer : "" }));
    if (this.asked?.join() === questions.join()) return;
    if (this.answers.size > MOST_ANSWERS) this.answers.clear();
    this.asked = questions;
    this.ask(questions, runs);
  }

  async ask(questions, runs) {
    const first = Math.max(0, questions.findLastIndex((one) => this.answers.has(one)));
    for (let i = first; i < questions.length; i++) {
      this.waiting.hidden = this.answers.has(questions[i]);
      this.waiting.textContent = say("gates.computing", { name: runTitle(runs[i]) });
      const answer = this.answers.get(questions[i]) ?? await askArrays("gates/gradients", JSON.parse(questions[i])).catch((error) => error);
      if (answer instanceof Error && !(answer instanceof Refusal)) throw answer;
      if (answer.figures) this.answers.set(questions[i], answer);
      if (this.asked !== questions) return; // there is a newer question
      if (!answer.figures) return void (this.waiting.textContent = answer.message);
      this.picture.show(answer.figures.gradient, answer.arrays);
    }
    this.waiting.hidden = true;
  }
}
