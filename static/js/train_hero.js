// The first look at the tab, before anything is trained: what will be learnt, and one problem of it, large.

import { make } from "./dom.js";
import { set, shown, state } from "./store.js";
import { fresh, recipeOf, taskOf, variantsOf } from "./train_choices.js";
import { exampleOf } from "./train_example.js";
import { offerOf } from "./train_jobs.js";
import { titleOf } from "./train_words.js";
import { inLanguage, say, sayInto } from "./words.js";

const OTHERS = [["transformer", "copy", "default"], ["gpt", "induction", "default"], ["seq2seq", "dates", "default"], ["rnn", "parity", "too-fast"]];

export class Hero {
  // begin(): train what is chosen
  constructor(parent, begin) {
    this.title = make("h2", {});
    this.help = make("p", { class: "hero-help" });
    this.example = make("div", { class: "card" });
    this.words = make("p", { class: "hero-words" });
    this.go = make("button", { type: "button", class: "train-go hero-go", onclick: begin });
    this.others = make("div", { class: "hero-others" }, ...OTHERS.map((one) => this.other(...one)).filter(Boolean));
    this.element = make("div", { class: "train-hero" }, this.title, this.help, this.example, this.words, this.go, make("h4", {}, say("train.or_begin_with")), this.others);
    parent.append(this.element);
  }

  // another pair to begin with, if there is a recipe for it
  other(family, task, variant) {
    const found = variantsOf(family, task).find((one) => one.variant === variant);
    return found && make("button", { type: "button", class: "card hero-other", onclick: () => set({ recipe: fresh(family, task, variant) }) },
      make("b", {}, titleOf({ family, task })), make("small", {}, found.why ? say("train.bad_recipe", { why: inLanguage(found.why) }) : inLanguage(taskOf(task).help)));
  }

  draw() {
    this.element.hidden = shown.jobs.length > 0;
    if (this.element.hidden) return;
    const { recipe } = state, task = taskOf(recipe.task), { check, refusal } = shown;
    const what = check ? offerOf(check.key, check.known) : "go";
    this.title.textContent = say(what === "go" ? "train.hero_title" : "train.hero_known", { title: titleOf(recipe) });
    this.help.textContent = inLanguage(task.help);
    this.go.textContent = say(`train.hero_do.${what}`);
    this.go.setAttribute("aria-disabled", String(Boolean(refusal)));
    this.go.title = refusal ?? "";
    if (!check) return;
    this.example.replaceChildren(exampleOf(check.example));
    sayInto(this.words, say(what !== "go" ? "train.hero_again" : recipeOf(recipe).why ? "train.hero_bad" : "train.hero_words", { chance: check.chance, steps: check.steps, n: check.parameters }));
  }
}
