// The left column: which task, which model, which recipe, and every option of the three; what cannot be is said beside it.

import { Refusal } from "./api.js";
import { chips, make } from "./dom.js";
import { on, set, show, state } from "./store.js";
import { askAbout, chooseFamily, chooseTask, fresh, recipeOf, taskOf, tasks, variantsOf } from "./train_choices.js";
import { exampleOf } from "./train_example.js";
import { mountFile } from "./train_file.js";
import { OptionControls } from "./train_options.js";
import { familyName, taskName } from "./train_words.js";
import { inLanguage, say } from "./words.js";

const FIRST = ["lstm", "parity"]; // instead of a task whose file did not come along with a new page
const PAUSE_MS = 220; // after the last change, before it is checked

export class RecipeColumn {
  constructor(parent) {
    const chipRow = () => make("div", { class: "chips" }), problem = () => make("p", { class: "problem", role: "alert", hidden: true });
    Object.assign(this, { tasks: chipRow(), families: chipRow(), variants: chipRow(), taskProblem: problem(), seedProblem: problem() });
    this.help = make("p", { class: "train-help" });
    this.example = make("div", { class: "card train-worked" });
    this.noRecipe = make("small", { hidden: true }, say("train.no_recipe"));
    this.why = make("p", { class: "train-why", hidden: true });
    const file = make("div"), open = make("div");
    this.options = new OptionControls(open, (part) => this.changed({ [part]: this.options.values(part) }));
    parent.append(
      section(say("train.task"), this.tasks, file, this.help, this.taskProblem, this.example),
      section(say("train.model"), this.families),
      section(say("train.recipe"), this.variants, this.noRecipe, this.why),
      section(say("train.options"), open, this.seedRow(), this.options.fold));
    mountFile(file, (name) => set({ recipe: chooseTask(name) }));
    on(["recipe", "file"], () => {
      if (!taskOf(state.recipe.task)) return set({ recipe: fresh(...FIRST) });
      if (!this.typing) this.render();
      this.check();
    });
    if (!taskOf(state.recipe.task)) set({ recipe: fresh(...FIRST) });
    this.render();
    this.check(0);
  }

  seedRow() {
    const read = () => this.changed({ seed: this.seed.value === "" ? "" : Number(this.seed.value) });
    this.seed = make("input", { id: "train-seed", type: "number", min: 0, step: 1, "data-option": "seed", oninput: read });
    const next = make("button", { type: "button", class: "small", title: say("train.other_seed"), "aria-label": say("train.other_seed"), onclick: () => {
      this.seed.value = Number(this.seed.value) + 1;
      read();
    } }, "+1");
    return make("div", { class: "control control-seed" }, make("label", { for: "train-seed" }, say("train.seed")), make("span", { class: "seed" }, this.seed, next), make("small", {}, say("train.seed_help")), this.seedProblem);
  }

  // from a control: nothing is drawn anew, so that nobody loses the place where they type
  changed(changes) {
    this.typing = true;
    set({ recipe: { ...state.recipe, ...changes } });
    this.typing = false;
    this.check(); // what is typed may come to the same and be refused as before
  }

  render() {
    const { recipe } = state, { family, task, variant } = recipe, chosen = taskOf(task), variants = variantsOf(family, task), { why } = recipeOf(recipe);
    const untuned = (name) => !variantsOf(name, task).length;
    chips(this.tasks, tasks().map(({ name, help }) => ({ value: name, text: taskName(name), title: inLanguage(help) })), task, (name) => set({ recipe: chooseTask(name) }), say("train.task"));
    chips(this.families, chosen.families.map((name) => ({ value: name, text: familyName(name), title: untuned(name) ? say("train.no_recipe") : null })), family, (name) => set({ recipe: chooseFamily(name) }), say("train.model"));
    for (const button of this.families.children) button.classList.toggle("faint", untuned(button.dataset.value));
    chips(this.variants, variants.map((one) => ({ value: one.variant, text: `${one.why ? "✗ " : ""}${inLanguage(one.title)}`, title: one.why ? inLanguage(one.why) : null })), variant, (name) => set({ recipe: fresh(family, task, name) }), say("train.recipe"));
    for (const [i, button] of [...this.variants.children].entries()) button.classList.toggle("bad", Boolean(variants[i].why));
    this.noRecipe.hidden = variants.length > 0;
    this.why.hidden = !why;
    this.why.textContent = why ? say("train.bad_recipe", { why: inLanguage(why) }) : "";
    this.help.textContent = inLanguage(chosen.help);
    this.options.show(recipe);
    this.seed.value = recipe.seed;
  }

  check(pause = PAUSE_MS) {
    clearTimeout(this.timer);
    const mine = (this.asked = (this.asked ?? 0) + 1);
    show({ checking: true });
    this.timer = setTimeout(async () => {
      const answer = await ask();
      if (mine === this.asked) this.answered(answer);
    }, pause);
  }

  answered({ check, refusal }) {
    this.options.clear();
    this.seedProblem.hidden = this.taskProblem.hidden = true;
    this.seed.removeAttribute("aria-invalid");
    if (refusal && !this.options.complain(refusal.option, refusal.message)) this.complain(refusal);
    if (check) this.example.replaceChildren(exampleOf(check.example));
    show({ check, refusal: refusal?.message ?? null, checking: false });
  }

  // about the seed, or about something that has no control: said below the task
  complain({ option, message }) {
    const problem = option === "seed" ? this.seedProblem : this.taskProblem;
    if (option === "seed") this.seed.setAttribute("aria-invalid", "true");
    problem.textContent = message;
    problem.hidden = false;
  }
}

async function ask() {
  try {
    return { check: await askAbout(state.recipe, "train/check"), refusal: null };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { check: null, refusal: error };
  }
}

const section = (title, ...parts) => make("section", {}, make("h4", {}, title), ...parts);
