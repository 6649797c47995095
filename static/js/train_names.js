// What tells runs apart, in few words: family and task, where they differ; among those alike, seed and options.

import { shown } from "./store.js";
import { inLanguage } from "./words.js";

const FOLLOWS = ["vocab_size", "max_len", "n_labels", "head", "digest", "ending", "parent", "exact"]; // from other choices
const MOST = 2; // options that are named

export function shortNames(runs) {
  const facts = runs.map(({ job }) => flat(job));
  const apart = differing(facts, ["family", "task"]).map((name) => facts.map((one) => titled(name, one[name])));
  const kinds = facts.map((_, i) => apart.map((values) => values[i]).join(" · "));
  return runs.map(({ job }, i) => {
    const alike = facts.filter((_, j) => kinds[j] === kinds[i]), options = Object.keys(facts[i]).filter((name) => !FOLLOWS.includes(name));
    const own = differing(alike, options).slice(0, MOST).map((name) => `${name} ${written(facts[i][name])}`);
    return [kinds[i], ...own].filter(Boolean).join(" · ") || inLanguage(job.title);
  });
}

const titled = (kind, name) => {
  const found = shown.menu[{ family: "families", task: "tasks" }[kind]].find((one) => one.name === name); // a task from a file is not on the menu
  return found ? inLanguage(found.title) : name;
};

const differing = (facts, names) => names.filter((name) => new Set(facts.map((one) => JSON.stringify(one[name]))).size > 1);

function flat({ family, task, seed, recipe }) {
  const { name: _, file, ...knobs } = recipe.task, { family: __, ...model } = recipe.model;
  return { family, task, ...recipe.training, ...model, ...knobs, ...recipe.origin, ...file, seed };
}

const written = (value) => (value == null ? "–" : typeof value === "number" ? String(Number(value.toPrecision(3))) : String(value));
