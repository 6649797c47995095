// The runs of the Train tab: what the server tells of them while they are trained, and what can be asked of them.
// Each is {key, job, history, moments, sight, colour, visible}; `shown.jobs` lists them, the newest first.

import { askJson } from "./api.js";
import { History } from "./train_history.js";
import { asRun, forgetKey, knownJobs, rememberKey } from "./train_keys.js";
import { chooseRun } from "./session.js";
import { set, show, shown, state } from "./store.js";
import { inLanguage } from "./words.js";

export const COLOURS = 6;
const PAGE = crypto.randomUUID?.() ?? String(Math.random());
const MOVING = ["queued", "running", "paused"];
let source = null, streamed = "";

export const find = (key) => shown.jobs.find((one) => one.key === key) ?? null;
export const focused = () => find(state.trained);
export const moving = ({ job }) => MOVING.includes(job.status);
export const visible = () => shown.jobs.filter((one) => one.visible);

export async function comeBack() {
  const jobs = await knownJobs();
  for (const job of [...jobs].reverse()) take(job);
  for (const one of shown.jobs) one.visible = moving(one) || one === shown.jobs[0];
  if (!find(state.trained)) set({ trained: shown.jobs[0]?.key ?? null });
  tell();
  document.addEventListener("visibilitychange", follow);
}

export async function start(body) {
  return begun(await askJson("train/start", { ...body, page: PAGE }));
}

export async function fork(key, body) {
  return begun(await askJson(`train/${key}/fork`, { ...body, page: PAGE }));
}

export async function command(key, what) {
  const job = await askJson(`train/${key}/${what}`, {}), one = take(job);
  if (what === "rewind") one.history.take(job.index, []);
  show({ curves: key });
  tell();
}

function begun(job) {
  rememberKey(job.key);
  const one = take(job);
  one.visible = true;
  set({ trained: job.key });
  tell();
  return one;
}

export function setVisible(key, seen) {
  find(key).visible = seen;
  tell();
}

export function remove(key) {
  forgetKey(key);
  const left = shown.jobs.filter((one) => one.key !== key);
  show({ runs: shown.runs.filter(({ name }) => name !== key), jobs: left });
  if (state.trained === key) set({ trained: (left.find((one) => one.visible) ?? left[0])?.key ?? null });
  tell();
}

function take(job) {
  let one = find(job.key);
  const before = one?.job.status;
  if (!one) {
    const taken = shown.jobs.map(({ colour }) => colour), free = [...Array(COLOURS).keys()].find((i) => !taken.includes(i));
    one = { key: job.key, history: new History(), sight: null, colour: free ?? shown.jobs.length % COLOURS, visible: false };
    shown.jobs = [one, ...shown.jobs];
  }
  one.job = job;
  one.moments = job.moments ?? [];
  list(one, before);
  return one;
}

// In the run picker from when on there is something to look at; a run that is being looked at is looked at anew when it ends.
function list({ key, job }, before) {
  const listed = shown.runs.find(({ name }) => name === key);
  if (job.stored !== null && (!listed || listed.accuracy !== job.accuracy)) {
    show({ runs: listed ? shown.runs.map((run) => (run === listed ? asRun(job) : run)) : [...shown.runs, asRun(job)] });
  }
  if (state.run === key && MOVING.includes(before) && !MOVING.includes(job.status)) chooseRun(key, { ...state });
}

const tell = () => {
  show({ jobs: shown.jobs });
  follow();
};

// One stream for all that moves or is still to be drawn; none when nothing does, or nobody sees the page.
function follow() {
  const wanted = document.hidden ? [] : shown.jobs.filter((one) => moving(one) || (one.visible && !one.history.length && one.job.index > 0));
  const keys = wanted.map(({ key }) => key).sort().join(",");
  if (keys === streamed) return;
  source?.close();
  streamed = keys;
  source = keys ? new EventSource(`api/train/stream?keys=${keys}`) : null;
  if (!source) return;
  hear("steps", ({ key, from, rows }) => {
    find(key)?.history.take(from, rows);
    show({ curves: key });
    follow();
  });
  hear("job", (job) => {
    take(job);
    tell();
  });
  hear("moments", ({ key, moments }) => {
    const one = find(key);
    if (one) one.moments = one.job.moments = moments;
    show({ curves: key });
  });
  hear("sight", (sight) => {
    const one = find(sight.key);
    if (one) one.sight = sight;
    show({ sight: sight.key });
  });
  hear("gone", ({ key }) => find(key) && remove(key));
}

function hear(kind, listener) {
  source.addEventListener(kind, ({ data }) => listener(JSON.parse(data)));
}

// What tells runs apart from each other, in few words: family, task, seed, and the options in which they differ.
export function shortNames(runs) {
  const facts = runs.map(({ job }) => flat(job));
  const names = [...new Set(facts.flatMap(Object.keys))].filter((name) => new Set(facts.map((one) => JSON.stringify(one[name]))).size > 1);
  const follows = ["vocab_size", "max_len", "n_labels", "head", "digest", "ending", "parent", "exact"];
  return runs.map(({ job }, i) => {
    const own = names.filter((name) => !follows.includes(name)).slice(0, 3).map((name) => (["family", "task"].includes(name) ? facts[i][name] : `${name} ${written(facts[i][name])}`));
    return own.join(" · ") || inLanguage(job.title);
  });
}

function flat({ family, task, seed, recipe }) {
  const { name, file, ...knobs } = recipe.task, { family: _, ...model } = recipe.model;
  return { family, task, seed, ...recipe.origin, ...knobs, ...model, ...recipe.training, ...file };
}

const written = (value) => (value == null ? "–" : typeof value === "number" ? String(Number(value.toPrecision(3))) : String(value));
