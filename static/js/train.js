// The runs of the Train tab: their steps come in by one stream, at the server's pace, and are shown at the chosen one, live
// or again from the start. The tab itself is app/tabs/train; a stream is nothing that Gradio's events are cheap enough for.

import { grow } from "./components.js";
import { chooseRun } from "./session.js";
import { set, show, shown, state } from "./store.js";
import { on } from "./store.js";
import { openTab } from "./tabs.js";
import { chartArrays } from "./train_arrays.js";
import { COLUMNS, History } from "./train_history.js";
import { asRun, forgetKey, knownJobs, rememberKey, slotOf } from "./train_keys.js";

const MOVING = ["queued", "running", "paused"], RECURRENT = ["rnn", "gru", "lstm"];
const [FRAME_MS, LINGER_MS, WIDTH_STEP, CALM] = [40, 3000, 40, 2]; // CALM: time left to the page, in times of drawing
let source = null, streamed = [], closing = null, waiting = false, next = 0;

const find = (key) => shown.jobs.find((one) => one.key === key) ?? null;
const focused = () => find(state.trained);
const moving = ({ job }) => MOVING.includes(job.status);
const behind = ({ pending }) => pending.length > 0;

const redraw = grow("train", ({ runs, focus }, plot) => {
  const drawn = runs.map((key) => find(key) ?? gone(key));
  return chartArrays(drawn, drawn.find(({ key }) => key === focus) ?? drawn.at(-1), state.trainScale, plot);
});
const gone = (key) => ({ key, job: { status: "stopped" }, history: new History(), moments: [], again: false });

// app/tabs/train/runs.py: Runs. Its value, {job, order}, is what an event answered.
export async function trainingRuns(element, props, watch) {
  watch("value", () => props.value?.job && ordered(props.value));
  const main = element.closest(".train-main");
  new ResizeObserver(() => set({ trainWidth: WIDTH_STEP * Math.floor(main.clientWidth / WIDTH_STEP) })).observe(main);
  if (window.matchMedia("(max-width: 900px)").matches) document.querySelector(".train-side > .label-wrap.open")?.click(); // on a phone the options are folded away at first
  for (const job of (await knownJobs()).reverse()) take(job);
  for (const one of shown.jobs) one.visible = moving(one) || one === shown.jobs[0];
  if (!find(state.trained)) set({ trained: shown.jobs[0]?.key ?? null });
  on(["trained"], () => { set({ trainStep: null, trainPinned: null }); tell(); });
  on(["trainPinned"], tell);
  on(["trainScale"], soon);
  document.addEventListener("visibilitychange", follow);
  setInterval(play, FRAME_MS);
  tell();
}

function ordered({ job, order }) {
  const one = take(job);
  if (["start", "fork"].includes(order)) {
    rememberKey(job.key);
    Object.assign(one, { visible: true, held: false });
    if (order === "start" && one.history.length && !behind(one)) again(one);
    set({ trained: job.key });
  }
  if (order === "rewind") takeSteps(one, job.index, []);
  if (order === "step" && behind(one)) advance(one, one.pending[0][0]);
  if (["pause", "step", "stop"].includes(order)) one.held = behind(one);
  if (order === "go") one.held = false;
  tell();
}

function take(job) {
  let one = find(job.key);
  const before = one?.job.status;
  if (!one) {
    one = { key: job.key, history: new History(), pending: [], at: 0, held: false, slot: slotOf(job.key), visible: false };
    shown.jobs = [one, ...shown.jobs];
  }
  Object.assign(one, { job, moments: job.moments ?? [] });
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

// Small facts that events and texts follow.
function tell() {
  const one = focused(), facts = one?.job;
  document.body.dataset.trainRuns = shown.jobs.length;
  show({ jobs: shown.jobs });
  set({
    trainRuns: shown.jobs.map(({ key, slot, visible, job, moments, history }) => [key, slot + 1, visible, job.status, job.accuracy, moments.length, Boolean(history.ghost), history.columns.tokens_per_s.some((speed) => speed !== null)]),
    trainJob: one && { key: one.key, status: facts.status, begun: facts.index > (facts.recipe.origin?.step ?? 0), stored: facts.stored, forkable: facts.forkable?.length ?? 0, noticed: facts.noticed.length, accuracy: facts.accuracy, behind: behind(one), held: one.held },
  });
  soon();
  follow();
}

// which step the pictures below the charts are of: the one that was clicked, the one that is being played, or the newest
function sightOf({ key, job, history, sight, pending }) {
  const wanted = state.trainPinned ?? (pending.length ? history.last : null), kept = job.forkable ?? [];
  if (!kept.length || (wanted === null && sight)) return sight ? { key, step: sight, kept: false } : null;
  if (wanted === null) return history.length ? { key, kept: true, step: kept.at(-1) } : null;
  return { key, kept: true, step: state.trainPinned === null ? kept.findLast((step) => step <= wanted) ?? kept[0] : kept.reduce((best, step) => (Math.abs(step - wanted) < Math.abs(best - wanted) ? step : best)) };
}

// Many steps may come before the next picture: they are drawn together, and no more often than leaves the page free.
function soon() {
  if (waiting) return;
  waiting = true;
  setTimeout(() => requestAnimationFrame(() => {
    waiting = false;
    const began = performance.now(), one = focused();
    if (one) set({ trainIndex: one.history.last, trainMade: one.job.index, trainLeft: Math.ceil(one.job.seconds_left ?? 0), trainSight: sightOf(one) });
    document.body.style.setProperty("--train-progress", one ? one.history.last / one.job.steps : 0);
    redraw();
    next = performance.now() + CALM * (performance.now() - began);
  }), Math.max(0, next - performance.now()));
}

// One stream for all that moves or is still to be drawn; none when nothing does, or nobody sees the page.
function follow() {
  const keys = wanted();
  clearTimeout(closing);
  if (keys.join() === streamed.join()) return;
  const fewer = !document.hidden && keys.every((key) => streamed.includes(key)); // the last words of a run come after its last step
  if (fewer) closing = setTimeout(listen, LINGER_MS);
  else listen();
}

const wanted = () => (document.hidden ? [] : shown.jobs.filter((one) => moving(one) || (one.visible && !one.history.length && !behind(one) && one.job.index > 0)).map(({ key }) => key).sort());

function listen() {
  source?.close();
  streamed = wanted();
  source = streamed.length ? new EventSource(`api/train/stream?keys=${streamed}`) : null;
  const hear = (kind, listener) => source?.addEventListener(kind, ({ data }) => {
    const told = JSON.parse(data), one = find(told.key);
    if (one) listener(one, told);
  });
  hear("steps", (one, { from, rows }) => { takeSteps(one, from, rows); soon(); follow(); });
  hear("job", (_, job) => { take(job); tell(); });
  hear("moments", (one, { moments }) => { one.moments = one.job.moments = moments; tell(); });
  hear("sight", (one, { step }) => { one.sight = step; soon(); });
  hear("gone", ({ key }) => remove(key));
}

// Rows that replace everything after a step. Without rows it is a rewind: what it said and looked like later is no longer so.
function takeSteps(one, from, rows) {
  const last = one.pending.at(-1)?.[0] ?? one.history.last;
  if (from < last) {
    advance(one, Infinity);
    if (one.history.take(from, [])) one.sight = null;
  }
  if (!one.history.length && !behind(one)) one.at = 0;
  one.pending.push(...rows);
  if (state.trainPace === "all" && !one.held) advance(one, Infinity);
}

// Moves steps that have come in into the picture: those up to that one.
function advance(one, until) {
  const count = one.pending.findIndex(([step]) => step > until), rows = one.pending.splice(0, count < 0 ? one.pending.length : count);
  for (const row of rows) one.history.push(row);
  one.at = one.history.last;
  one.again = behind(one) && one.job.status === "done";
  return rows.length;
}

let played = performance.now();
function play() {
  const now = performance.now(), seconds = Math.min(1, (now - played) / 1000);
  played = now;
  for (const one of shown.jobs.filter((run) => behind(run) && !run.held)) {
    const at = state.trainPace === "all" ? Infinity : Math.max(one.at, one.history.last) + seconds * state.trainPace, before = one.again;
    if (advance(one, at)) soon();
    one.at = at;
    if (!behind(one) || one.again !== before) tell();
  }
}

// From its first step again, at the chosen pace.
function again(one) {
  const { columns } = one.history, rows = columns.step.map((_, i) => COLUMNS.map((name) => columns[name][i]));
  Object.assign(one, { pending: [...rows, ...one.pending], history: new History(), at: 0, held: false, again: true });
  set({ trainPinned: null });
  tell();
}

function remove(key) {
  forgetKey(key);
  const left = shown.jobs.filter((one) => one.key !== key);
  show({ runs: shown.runs.filter(({ name }) => name !== key), jobs: left });
  if (state.trained === key) set({ trained: (left.find((one) => one.visible) ?? left[0])?.key ?? null });
  tell();
}

async function lookInside() {
  const { key, job, history } = focused(), step = state.trainPinned ?? (behind(focused()) ? history.last : null);
  await chooseRun(key);
  if (shown.problem) return;
  const steps = shown.story.snapshots, nearest = steps.reduce((best, one, i) => (Math.abs(one - step) < Math.abs(steps[best] - step) ? i : best), 0);
  if (step !== null) set({ snapshot: nearest });
  openTab(RECURRENT.includes(job.family) ? "gates" : "attention");
}

window.innerview.train = {
  again: () => again(focused()),
  remove: () => remove(state.trained),
  lookInside,
  choose: (key) => { find(key).visible = true; set({ trained: key }); tell(); },
  show: (keys) => { for (const one of shown.jobs) one.visible = keys.includes(one.key); tell(); },
};
