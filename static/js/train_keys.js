// The runs this browser has started or opened, by their keys: nobody else is told of them.

import { askJson } from "./api.js";

const KEPT = "innerview-runs", SLOTS = "innerview-run-slots", NAMES = "innerview-run-names";
const MOST = 100;

const stored = (name, none) => JSON.parse(localStorage.getItem(name) ?? none);
const store = (name, value) => localStorage.setItem(name, JSON.stringify(value));

export const keys = () => stored(KEPT, "[]");

export function rememberKey(key) {
  store(KEPT, [key, ...keys().filter((known) => known !== key)].slice(0, MOST));
}

export function forgetKey(key) {
  const { [key]: _, ...left } = stored(SLOTS, "{}");
  store(SLOTS, left);
  rememberName(key, "");
  store(KEPT, keys().filter((known) => known !== key));
}

// the name a person has given a run; null: none
export const nameOf = (key) => stored(NAMES, "{}")[key] ?? null;

export function rememberName(key, name) {
  const { [key]: _, ...others } = stored(NAMES, "{}");
  store(NAMES, name ? { ...others, [key]: name } : others);
}

// A run's number on the charts, and with it its colour: the same as long as it is on the list, also after a reload.
export function slotOf(key) {
  const all = stored(SLOTS, "{}"), known = new Set(keys());
  const slots = Object.fromEntries(Object.entries(all).filter(([other]) => known.has(other) || other === key)), taken = Object.values(slots);
  slots[key] ??= [...Array(taken.length + 1).keys()].find((slot) => !taken.includes(slot));
  store(SLOTS, slots);
  return slots[key];
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
