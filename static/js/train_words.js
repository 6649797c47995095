// What tasks, families and recipes are called in the reader's language.

import { shown } from "./store.js";
import { taskOf } from "./train_choices.js";
import { inLanguage, say } from "./words.js";

const UNSEEN = { " ": "␣", "\n": "⏎", "\t": "⇥" };

export const taskName = (name) => inLanguage(taskOf(name).title);
export const familyName = (name) => inLanguage(shown.menu.families.find((family) => family.name === name).title);
export const titleOf = ({ family, task }) => say("train.title", { family: familyName(family), task: taskName(task) });
export const visibleToken = (token) => UNSEEN[token] ?? token;
