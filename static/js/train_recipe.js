// The left column: which task, which model, which recipe, and every option of the three; what cannot be is said beside it.

import { askJson, Refusal } from "./api.js";
import { Controls } from "./controls.js";
import { chips, make } from "./dom.js";
import { set, on, show, shown, state } from "./store.js";
import { bodyOf, chooseFamily, chooseTask, fresh, optionsOf, PARTS, recipeOf, taskOf, tasks, variantsOf } from "./train_choices.js";
import { exampleOf } from "./train_example.js";
import { mountFile } from "./train_file.js";
import { familyName, taskName } from "./train_words.js";
import { inLanguage, say } from "./words.js";

const PAUSE_MS = 220; // after the last change, before it is checked
const DRAWN = ["int", "float", "bool", "choice"];

export class RecipeColumn {
  constructor(parent) {
    this.tasks = make("div", { class: "chips" });
    this.families = make("div", { class: "chips" });
    this.variants = make("div", { class: "chips" });
    this.help = make("p", { class: "train-help" });
    this.example = make("div", { class: "card" });
    this.noRecipe = make("small", { hidden: true }, say("train.no_recipe"));
    this.why = make("p", { class: "train-why", hidden: true });
    this.taskProblem = make("p", { class: "problem", role: "alert", hidden: true });
    this.file = make("div");
    const open = make("div"), folded = make("div");
    this.more = make("summary", {}, "");
    this.controls = {};
    for (const part of PARTS) {
      const sections = [open, folded].map((box) => {
        const section = make("section", { class: `train-part train-${part}` }, make("h5", {}, say(`train.part.${part}`)));
        box.append(section);
        return { section, controls: new Controls(section, (_, name) => this.changed(part, name)) };
      });
      this.controls[part] = { main: sections[0], rest: sections[1] };
    }
    this.seed = make("input", { id: "train-seed", type: "number", min: 0, step: 1, "data-option": "seed", oninput: () => this.changed("seed") });
    this.seedProblem = make("p", { class: "problem", role: "alert", hidden: true });
    const dice = make("button", { type: "button", class: "small", title: say("train.other_seed"), "aria-label": say("train.other_seed"), onclick: () => {
      this.seed.value = Number(this.seed.value) + 1;
      this.changed("seed");
    } }, "+1");
    this.fold = make("details", { class: "train-more" }, this.more, folded);
    parent.append(
      section(say("train.task"), this.tasks, this.file, this.help, this.taskProblem, this.example),
      section(say("train.model"), this.families),
      section(say("train.recipe"), this.variants, this.noRecipe, this.why),
      section(say("train.options"), open, make("div", { class: "control control-seed" }, make("label", { for: "train-seed" }, "seed"), make("span", { class: "seed" }, this.seed, dice), make("small", {}, say("train.seed_help")), this.seedProblem), this.fold));
    mountFile(this.file, (name) => this.choose(chooseTask(name)));
    on(["recipe"], () => {
      if (!this.own) this.render();
      this.check();
    });
    on(["file"], () => this.render());
    this.render();
    this.check(0);
  }

  choose(recipe) {
    set({ recipe });
  }

  // from a control: nothing is drawn anew, so that nobody loses the place where they type
  changed(part) {
    const { recipe } = state, changes = {};
    if (part === "seed") changes.seed = this.seed.value === "" ? "" : Number(this.seed.value);
    else changes[part] = { ...this.controls[part].main.controls.values(), ...this.controls[part].rest.controls.values() };
    this.own = true;
    set({ recipe: { ...recipe, ...changes } });
    this.own = false;
  }

  render() {
    const { recipe } = state, { family, task, variant } = recipe, chosen = taskOf(task);
    chips(this.tasks, tasks().map(({ name, help }) => ({ value: name, text: taskName(name), title: inLanguage(help) })), task, (name) => this.choose(chooseTask(name)), say("train.task"));
    chips(this.families, chosen.families.map((name) => ({ value: name, text: familyName(name), title: variantsOf(name, task).length ? null : say("train.no_recipe") })), family, (name) => this.choose(chooseFamily(name)), say("train.model"));
    for (const button of this.families.children) button.classList.toggle("faint", !variantsOf(button.dataset.value, task).length);
    const variants = variantsOf(family, task), { why } = recipeOf(recipe);
    chips(this.variants, variants.map((one) => ({ value: one.variant, text: `${one.why ? "✗ " : ""}${inLanguage(one.title)}`, title: one.why ? inLanguage(one.why) : null })), variant, (name) => this.choose(fresh(family, task, name)), say("train.recipe"));
    for (const [i, button] of [...this.variants.children].entries()) button.classList.toggle("bad", Boolean(variants[i].why));
    this.noRecipe.hidden = variants.length > 0;
    this.why.hidden = !why;
    this.why.textContent = why ? say("train.bad_recipe", { why: inLanguage(why) }) : "";
    this.help.textContent = inLanguage(chosen.help);
    this.renderControls();
    this.seed.value = recipe.seed;
  }

  renderControls() {
    const { recipe } = state;
    let folded = 0, changed = 0;
    for (const part of PARTS) {
      const options = optionsOf(recipe, part).filter(({ kind }) => DRAWN.includes(kind)), { main, rest } = this.controls[part];
      const parts = [options.filter((option) => option.main), options.filter((option) => !option.main)];
      [main, rest].forEach((one, i) => {
        one.controls.show(parts[i], recipe[part]);
        one.section.hidden = !parts[i].length;
      });
      folded += parts[1].length;
      changed += parts[1].filter(({ name }) => name in recipe[part]).length;
    }
    this.more.textContent = say("train.more_options", { n: folded });
    if (changed) this.fold.open = true;
  }

  check(pause = PAUSE_MS) {
    clearTimeout(this.timer);
    const mine = (this.asked = (this.asked ?? 0) + 1);
    show({ checking: true });
    this.timer = setTimeout(async () => {
      const answer = await this.ask();
      if (mine === this.asked) this.answered(answer);
    }, pause);
  }

  async ask() {
    try {
      return { check: await askJson("train/check", bodyOf(state.recipe)), refusal: null };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { check: null, refusal: error };
    }
  }

  answered({ check, refusal }) {
    for (const part of PARTS) for (const { controls } of Object.values(this.controls[part])) controls.clear();
    this.seedProblem.hidden = this.taskProblem.hidden = true;
    this.seed.removeAttribute("aria-invalid");
    if (refusal) this.complain(refusal);
    if (check) this.example.replaceChildren(exampleOf(check.example));
    show({ check, refusal: refusal?.message ?? null, checking: false });
  }

  // beside the control it is about; where there is none, below the task
  complain({ option, message }) {
    const names = String(option ?? "").split(", ");
    for (const part of ["training", "knobs", "model"]) {
      for (const [place, { controls }] of Object.entries(this.controls[part])) {
        if (names.some((name) => controls.complain(name, message))) {
          if (place === "rest") this.fold.open = true;
          return;
        }
      }
    }
    const problem = option === "seed" ? this.seedProblem : this.taskProblem;
    if (option === "seed") this.seed.setAttribute("aria-invalid", "true");
    problem.textContent = message;
    problem.hidden = false;
  }
}

const section = (title, ...parts) => make("section", {}, make("h4", {}, title), ...parts);
