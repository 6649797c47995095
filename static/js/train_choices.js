// What is to be trained next, as a small set of differences from a recipe, and the whole that follows from it.

import { askJson } from "./api.js";
import { shown, state } from "./store.js";

export const PARTS = ["task_options", "model", "training"];

const ownTask = () => shown.file?.task ?? null; // how the dropped file was read: a task like the others

export const tasks = () => [...shown.menu.tasks, ...(ownTask() ? [ownTask()] : [])];
export const taskOf = (name) => tasks().find((task) => task.name === name);
// is the task of a run here: if it was made from a file, is it from this one?
export const hasTaskOf = ({ task, recipe }) => Boolean(taskOf(task)) && recipe.task.file?.digest === taskOf(task).digest;
export const variantsOf = (family, task) => shown.menu.recipes.filter((recipe) => recipe.family === family && recipe.task === task);

export function recipeOf({ family, task, variant }) {
  return variantsOf(family, task).find((recipe) => recipe.variant === variant) ?? { model: {}, task_options: {}, training: {}, why: null };
}

// A part's options, their defaults being those of the chosen recipe: what is marked as changed is changed from it.
export function optionsOf(choice, part) {
  const options = {
    task_options: taskOf(choice.task)?.task_options ?? [],
    model: shown.menu.families.find(({ name }) => name === choice.family)?.options ?? [],
    training: shown.menu.training,
  }[part];
  const base = recipeOf(choice)[part];
  return options.map((option) => (option.name in base ? { ...option, default: base[option.name] } : option));
}

export function chooseTask(name) {
  const task = taskOf(name), { recipe } = state;
  const withRecipe = task.families.filter((family) => variantsOf(family, name).length);
  const family = withRecipe.includes(recipe.family) ? recipe.family : withRecipe[0] ?? (task.families.includes(recipe.family) ? recipe.family : task.families[0]);
  return fresh(family, name);
}

export const chooseFamily = (family) => fresh(family, state.recipe.task);

export function fresh(family, task, variant = variantsOf(family, task)[0]?.variant ?? null) {
  return { family, task, variant, model: {}, task_options: {}, training: {}, seed: state.recipe.seed };
}

// To check or to start it. The server is told a file's digest; if it has forgotten that file, all of it.
export async function askAbout(choice, path, more = {}) {
  const body = { ...bodyOf(choice), ...more };
  try {
    return await askJson(path, body);
  } catch (refusal) {
    if (!body.file || refusal.option !== "file") throw refusal;
    return askJson(path, { ...body, file: { name: shown.file.name, text: shown.file.text } });
  }
}

// the recipe's own differences, and over them those that were chosen
function bodyOf(choice) {
  const base = recipeOf(choice), file = choice.task === ownTask()?.name ? { name: shown.file.name, digest: ownTask().digest } : undefined;
  const parts = PARTS.map((part) => [part, { ...base[part], ...choice[part] }]);
  return { family: choice.family, task: choice.task, variant: choice.variant, ...Object.fromEntries(parts), seed: choice.seed, file };
}

// The choice that makes a run, with changes on top: {model, task_options, training}.
export function choiceOf({ family, task, seed, recipe }, changes = {}, variant = undefined) {
  const known = variantsOf(family, task).map((one) => one.variant);
  const choice = fresh(family, task, known.includes(variant) ? variant : known[0] ?? null);
  const { name: _, file: __, ...task_options } = recipe.task;
  const values = { task_options, model: recipe.model, training: recipe.training };
  for (const part of PARTS) {
    const wanted = { ...values[part], ...changes[part] }, differing = optionsOf(choice, part).filter(({ name, default: usual }) => name in wanted && !alike(wanted[name], usual));
    choice[part] = Object.fromEntries(differing.map(({ name }) => [name, wanted[name]]));
  }
  return { ...choice, seed };
}

const alike = (a, b) => JSON.stringify(a) === JSON.stringify(b);
