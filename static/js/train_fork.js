// A fork: another run that begins at a moment of this one, with other options from there on.

import { Refusal } from "./api.js";
import { Controls } from "./controls.js";
import { make } from "./dom.js";
import { shown } from "./store.js";
import { focused, fork } from "./train_jobs.js";
import { DRAWN } from "./train_options.js";
import { inLanguage, say } from "./words.js";

export class ForkPanel {
  constructor(parent) {
    this.title = make("h4", {});
    this.step = make("select", { id: "fork-step", "data-option": "step" });
    this.seed = make("input", { id: "fork-seed", type: "number", min: 0, step: 1, "data-option": "seed" });
    this.problem = make("p", { class: "problem", role: "alert", hidden: true });
    const quiet = () => { this.problem.hidden = true; };
    const training = make("div"), rest = make("div");
    this.training = new Controls(training, quiet);
    this.model = new Controls(rest, quiet);
    this.element = make("form", { class: "card train-fork", hidden: true, novalidate: true, onsubmit: (event) => { event.preventDefault(); this.begin(); }, onkeydown: (event) => event.key === "Escape" && this.close() },
      this.title, make("p", {}, say("train.fork_help")),
      make("div", { class: "fork-row" }, make("label", { for: "fork-step" }, say("train.fork_from")), this.step, make("label", { for: "fork-seed" }, say("train.seed")), this.seed),
      training, make("details", { class: "train-more" }, make("summary", {}, say("train.fork_model")), rest), this.problem,
      make("div", { class: "fork-row" }, make("button", { class: "train-go", type: "submit" }, say("train.fork_go")), make("button", { type: "button", class: "small", onclick: () => this.close() }, say("train.cancel"))));
    parent.append(this.element);
  }

  // from the step nearest to the wanted one whose weights were kept
  open(wanted) {
    const { job } = focused(), steps = job.forkable, aim = wanted ?? steps.at(-1);
    this.of = job;
    this.problem.hidden = true;
    this.title.textContent = say("train.fork_of", { title: inLanguage(job.title) });
    this.step.replaceChildren(...steps.map((step) => make("option", { value: step }, say("step", { step }))));
    this.step.value = steps.reduce((best, step) => (Math.abs(step - aim) < Math.abs(best - aim) ? step : best));
    this.seed.value = job.seed;
    const family = shown.menu.families.find(({ name }) => name === job.family);
    this.training.show(asOf(shown.menu.training, job.recipe.training));
    this.model.show(asOf(family.options, job.recipe.model));
    this.element.hidden = false;
    this.step.focus();
    this.element.scrollIntoView({ block: "nearest" });
  }

  close() {
    this.element.hidden = true;
  }

  async begin() {
    const seed = this.seed.value === "" ? "" : Number(this.seed.value);
    try {
      await fork(this.of.key, { step: Number(this.step.value), seed: seed === this.of.seed ? null : seed, model: this.model.values(), training: this.training.values() });
      this.close();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.complain(error);
    }
  }

  complain({ option, message }) {
    const names = String(option ?? "").split(", ");
    if ([this.training, this.model].some((controls) => names.some((name) => controls.complain(name, message)))) return;
    this.problem.textContent = message;
    this.problem.hidden = false;
  }
}

// the parent's values stand for the defaults: what is sent is what differs from them; what no control can show stays
const drawn = ({ name, kind, choices }, values) => DRAWN.includes(kind) && (kind !== "choice" || values[name] == null || values[name] in choices);
const asOf = (options, values) => options.filter((option) => drawn(option, values)).map((option) => (option.name in values ? { ...option, default: values[option.name] } : option));
