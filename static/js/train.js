// The Train tab: on the left what is to be trained, on the right the runs as they learn.

import { askJson, Refusal } from "./api.js";
import { make } from "./dom.js";
import { drawFineTuning } from "./fine_tuning.js";
import { on, set, show, shown, state } from "./store.js";
import { Transport } from "./train_buttons.js";
import { Charts } from "./train_charts.js";
import { ForkPanel } from "./train_fork.js";
import { Hero } from "./train_hero.js";
import { comeBack, focused, offerOf, start } from "./train_jobs.js";
import { Noticed } from "./train_noticed.js";
import { Problems } from "./train_problems.js";
import { RecipeColumn } from "./train_recipe.js";
import { RunList } from "./train_runs.js";
import { Thumbnails } from "./train_thumbnails.js";
import { titleOf } from "./train_words.js";
import { say } from "./words.js";

export async function mountTrain(parent) {
  show({ menu: await askJson("train/menu") });
  const wide = window.matchMedia("(min-width: 901px)").matches;
  const column = make("div", { class: "train-recipe" }), main = make("div", { class: "train-main" });
  const summary = make("summary", {}), fold = make("details", { class: "train-side", open: wide }, summary, column);
  const go = make("button", { type: "button", class: "train-go" }), facts = make("small", { class: "train-facts" }), problem = make("p", { class: "problem", role: "alert", hidden: true });
  const foot = make("div", { class: "train-foot" }, go, facts, problem);
  parent.append(make("div", { class: "train" }, make("aside", { class: "train-aside" }, fold, foot), main));
  go.addEventListener("click", () => begin());

  const hero = new Hero(main, () => begin()), transport = new Transport(main, { onFork: () => panel.open(state.trainPinned) });
  const panel = new ForkPanel(main), noticed = new Noticed(main, () => begin()), runs = new RunList(main);
  const charts = new Charts(main);
  const below = make("div", { class: "train-below" });
  main.append(below);
  const problems = new Problems(below), thumbnails = new Thumbnails(below);
  new RecipeColumn(column);

  async function begin() {
    problem.hidden = true;
    if (shown.refusal && !shown.checking) return complain(shown.refusal);
    if (onShow() && !shown.checking) return main.scrollIntoView({ behavior: "smooth" });
    go.disabled = true;
    try {
      await start(state.recipe);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      complain(error.message);
    } finally {
      go.disabled = false;
    }
  }
  const complain = (sentence) => {
    problem.textContent = sentence;
    problem.hidden = false;
  };
  const onShow = () => shown.check && offerOf(shown.check.key, shown.check.known) === null;
  const offer = () => {
    const title = titleOf(state.recipe), { check, refusal } = shown, what = check ? offerOf(check.key, check.known) : "go";
    summary.textContent = say("train.summary", { title });
    go.textContent = say(`train.offer.${what ?? "on_show"}`, { title });
    go.setAttribute("aria-disabled", String(Boolean(refusal) || what === null));
    go.title = refusal ?? (what === null ? say("train.on_show_hint") : "");
    if (!refusal) problem.hidden = true;
    facts.textContent = check ? say(what === "show" ? "train.facts_known" : "train.facts", { n: check.parameters, steps: check.steps }) : refusal ? say("train.not_yet") : "";
  };
  const look = () => {
    const sight = focused()?.sight ?? null;
    below.hidden = !sight;
    problems.draw(sight);
    thumbnails.draw(sight);
  };
  const draw = () => {
    parent.classList.toggle("untrained", !shown.jobs.length);
    hero.draw();
    transport.draw();
    noticed.draw();
    runs.draw();
    charts.soon();
  };
  on(["jobs", "trained"], () => { draw(); offer(); });
  on(["curves", "trainScale"], () => charts.soon());
  on(["trained"], () => { set({ trainStep: null, trainPinned: null }); panel.close(); look(); });
  on(["sight"], look);
  on(["check", "recipe", "refusal"], () => { offer(); hero.draw(); });
  new ResizeObserver(() => { charts.soon(); look(); }).observe(main);
  offer();
  draw();
  look();
  await Promise.all([comeBack(), drawFineTuning(main)]);
}
