// The runs of the Train tab: what the server tells of them while they are trained, and what can be asked of them.
// Each is {key, job, history, moments, sight, slot, visible, again}; `shown.jobs` lists them, the newest first.

import { askJson } from "./api.js";
import { askAbout } from "./train_choices.js";
import { History } from "./train_history.js";
import { asRun, forgetKey, knownJobs, rememberKey, slotOf } from "./train_keys.js";
import { chooseRun } from "./session.js";
import { set, show, shown, state } from "./store.js";

const COLOURS = 8;
const PAGE = crypto.randomUUID?.() ?? String(Math.random());
const MOVING = ["queued", "running", "paused"];
const LINGER_MS = 3000;
const [AGAIN_MS, FRAME_MS] = [2500, 40];
let source = null, streamed = [], closing = null;

export const find = (key) => shown.jobs.find((one) => one.key === key) ?? null;
export const focused = () => find(state.trained);
export const moving = ({ job }) => MOVING.includes(job.status);
export const colourOf = ({ slot }) => `--iv-run-${slot % COLOURS}`;
export const visible = () => shown.jobs.filter((one) => one.visible);

export async function comeBack() {
  const jobs = await knownJobs();
  for (const job of [...jobs].reverse()) take(job);
  for (const one of shown.jobs) one.visible = moving(one) || one === shown.jobs[0];
  if (!find(state.trained)) set({ trained: shown.jobs[0]?.key ?? null });
  tell();
  document.addEventListener("visibilitychange", follow);
}

// What the large button does with a run, by its key and by what the server knew of it when it was asked:
// "go", "show", "watch", "go_on", "again"; null when it is on show.
export function offerOf(key, known) {
  const here = find(key), status = here?.job.status ?? known, offer = { done: "show", queued: "watch", running: "watch", paused: "go_on", stopped: "go_on", failed: "again" }[status] ?? "go";
  return here && state.trained === key && ["show", "watch"].includes(offer) ? null : offer;
}

export async function start(choice) {
  return begun(await askAbout(choice, "train/start", { page: PAGE }));
}

export async function fork(key, body) {
  return begun(await askJson(`train/${key}/fork`, { ...body, page: PAGE }));
}

export async function command(key, what) {
  const job = await askJson(`train/${key}/${what}`, { page: PAGE }), one = take(job);
  if (what === "rewind") takeSteps(one, job.index, []);
  show({ curves: key });
  tell();
}

function begun(job) {
  rememberKey(job.key);
  const one = take(job);
  one.visible = true;
  one.again = job.status === "done" && !one.history.length && !window.matchMedia("(prefers-reduced-motion: reduce)").matches;
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
    one = { key: job.key, history: new History(), sight: null, slot: slotOf(job.key), visible: false, again: false };
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
  const keys = wanted();
  clearTimeout(closing);
  if (keys.join() === streamed.join()) return;
  const fewer = !document.hidden && keys.every((key) => streamed.includes(key)); // the last words of a run come after its last step
  if (fewer) closing = setTimeout(listen, LINGER_MS);
  else listen();
}

function wanted() {
  if (document.hidden) return [];
  const ones = shown.jobs.filter((one) => moving(one) || (one.visible && !one.history.length && one.job.index > 0));
  return ones.map(({ key }) => key).sort();
}

function listen() {
  source?.close();
  streamed = wanted();
  source = streamed.length ? new EventSource(`api/train/stream?keys=${streamed}`) : null;
  if (!source) return;
  hear("steps", ({ key, from, rows }) => {
    const one = find(key);
    if (one?.again && !one.history.length) showAgain(one, rows);
    else if (one) takeSteps(one, from, rows);
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

// What it said and looked like later is no longer so after a rewind.
function takeSteps(one, from, rows) {
  if (one.history.take(from, rows)) {
    one.sight = null;
    show({ sight: one.key });
  }
}

// A run that was trained before is drawn as it went, faster: whoever pressed the button sees it learn.
function showAgain(one, rows) {
  const each = Math.ceil(rows.length / (AGAIN_MS / FRAME_MS));
  let from = 0;
  const timer = setInterval(() => {
    for (const row of rows.slice(from, (from += each))) one.history.push(row);
    one.again = from < rows.length;
    if (!one.again) clearInterval(timer);
    show({ curves: one.key });
  }, FRAME_MS);
}

function hear(kind, listener) {
  source.addEventListener(kind, ({ data }) => listener(JSON.parse(data)));
}
