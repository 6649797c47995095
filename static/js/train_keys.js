// The runs this browser has started or opened, by their keys: nobody else is told of them.

import { askJson } from "./api.js";

const KEPT = "innerview-runs";
const MOST = 100;

export const keys = () => JSON.parse(localStorage.getItem(KEPT) ?? "[]");

export function rememberKey(key) {
  localStorage.setItem(KEPT, JSON.stringify([key, ...keys().filter((known) => known !== key)].slice(0, MOST)));
}

export function forgetKey(key) {
  localStorage.setItem(KEPT, JSON.stringify(keys().filter((known) => known !== key)));
}

// The jobs of those runs, the newest first; what the store has given up is left out.
export async function knownJobs() {
  const asked = keys();
  if (!asked.length) return [];
  const jobs = await askJson("train/known", { keys: asked });
  return jobs.sort((a, b) => asked.indexOf(a.key) - asked.indexOf(b.key));
}

// as the run picker lists it
export const asRun = ({ key, family, task, seed, accuracy, title }) => ({ name: key, family, task, seed, accuracy, title, own: true });
