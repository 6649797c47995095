// All options of a training as controls: the main ones open, the others folded; problems, model and training apart.

import { Controls } from "./controls.js";
import { make } from "./dom.js";
import { optionsOf, PARTS } from "./train_choices.js";
import { say } from "./words.js";

export const DRAWN = ["int", "float", "bool", "choice"]; // kinds there is a control for

export class OptionControls {
  // change(part): one of its options was changed
  constructor(open, change) {
    const folded = make("div");
    this.summary = make("summary", {});
    this.fold = make("details", { class: "train-more" }, this.summary, folded);
    this.parts = Object.fromEntries(PARTS.map((part) => [part, [open, folded].map((box) => {
      const section = make("section", { class: `train-part train-${part}` }, make("h5", {}, say(`train.part.${part}`)));
      box.append(section);
      return { section, controls: new Controls(section, () => change(part)) };
    })]));
  }

  show(recipe) {
    let count = 0;
    for (const part of PARTS) {
      const options = optionsOf(recipe, part).filter(({ kind }) => DRAWN.includes(kind));
      const [main, rest] = [options.filter((option) => option.main), options.filter((option) => !option.main)];
      [main, rest].forEach((some, i) => {
        const { section, controls } = this.parts[part][i];
        controls.show(some, recipe[part]);
        section.hidden = !some.length;
      });
      count += rest.length;
      if (rest.some(({ name }) => name in recipe[part])) this.fold.open = true;
    }
    this.summary.textContent = say("train.more_options", { n: count });
  }

  // what differs from the recipe
  values(part) {
    return Object.assign({}, ...this.parts[part].map(({ controls }) => controls.values()));
  }

  clear() {
    for (const { controls } of Object.values(this.parts).flat()) controls.clear();
  }

  // beside the control it is about (or the first of them); false if there is none here
  complain(option, message) {
    const names = String(option ?? "").split(", ");
    const places = ["training", "task_options", "model"].flatMap((part) => this.parts[part].map(({ controls }, i) => [controls, i === 1]));
    return places.some(([controls, folded]) => {
      const found = names.some((name) => controls.complain(name, message));
      if (found && folded) this.fold.open = true;
      return found;
    });
  }
}
