// The page's address is a link to the view: run, input and what differs from how they open. Back and Forward go from view to
// view (tab, run); moves within one replace its address.

import { CLAMPED, DEFAULTS, hold, onAny, set, show, shown, state } from "./store.js";
import { openTab } from "./tabs.js";
import { say } from "./words.js";

const SETTLE_MS = 250; // browsers refuse many changes of the address in a short time
const OWN = new Set(["tab", "run", "text", "heldOut", "snapshot", "query", "key", "language", "theme"]); // written by other names
const THEME = "__theme", HUB = "https://huggingface.co";
let timer = null, written = null, paused = 0;

// What a link says, {tab, run, text, heldOut, step, others: {key: value}} as far as it names them, and what cannot be read.
export function read(query = location.search) {
  const link = { tab: DEFAULTS.tab, others: {} }, wrong = [];
  for (const [name, text] of new URLSearchParams(query)) {
    if ([THEME, "lang"].includes(name) || name.startsWith("__")) continue;
    if (name === "tab" && !document.getElementById(`tab-${text}-button`)) wrong.push(say("link.tab", { name: text }));
    else if (["tab", "run", "text"].includes(name)) link[name] = text;
    else if (["problem", "step"].includes(name) && /^\d{1,9}$/.test(text)) link[name === "problem" ? "heldOut" : "step"] = Number(text);
    else if (name === "cell" && /^(\d*)\.(\d*)$/.test(text)) [link.others.query, link.others.key] = text.split(".").map((at) => (at === "" ? null : Number(at)));
    else if (name in DEFAULTS && !OWN.has(name) && fits(DEFAULTS[name], decoded(text))) link.others[name] = decoded(text);
    else wrong.push(say("link.part", { part: `${name}=${text.slice(0, 40)}` }));
  }
  if (link.heldOut > 999) {
    wrong.push(say("link.part", { part: `problem=${link.heldOut}` }));
    delete link.heldOut;
  }
  return { link, wrong };
}

// Moves the page to what a link says of an open run; what does not exist in it is told.
export function move({ tab, step, others }) {
  const steps = shown.story.snapshots, wrong = [], values = { ...DEFAULTS, ...shown.opening };
  for (const key of [...OWN]) delete values[key];
  Object.assign(values, { query: null, key: null }, others, { snapshot: shown.opening.snapshot });
  if (step !== undefined) {
    values.snapshot = steps.reduce((best, at, i) => (Math.abs(at - step) < Math.abs(steps[best] - step) ? i : best), 0);
    if (steps[values.snapshot] !== step) wrong.push(say("link.step", { step, nearest: steps[values.snapshot] }));
  }
  for (const [key, allowed] of Object.entries(CLAMPED)) {
    const limit = allowed(shown.look, values);
    if (limit === null || !(key in others) || values[key] === null) continue;
    if (Array.isArray(limit) ? limit.includes(values[key]) : Number.isInteger(values[key]) && values[key] >= 0 && values[key] < limit) continue;
    wrong.push(say("link.part", { part: `${key}=${String(values[key]).slice(0, 40)}` }));
    values[key] = shown.opening[key] ?? DEFAULTS[key];
  }
  hold(null);
  set(values);
  hold([...Object.keys(others), ...(step === undefined ? [] : ["snapshot"])]);
  openTab(tab);
  return wrong;
}

// The state as a query.
export function query() {
  const link = new URLSearchParams(), { story, opening } = shown, put = (name, value) => link.set(name, encoded(value));
  if (state.tab !== DEFAULTS.tab) link.set("tab", state.tab);
  if (state.run) link.set("run", state.run);
  if (state.text !== null && state.text !== story?.first_input) link.set("text", state.text);
  else if (state.text === null && (state.heldOut || story?.first_input)) put("problem", state.heldOut);
  if (story && state.snapshot !== story.snapshots.length - 1) put("step", story.snapshots[state.snapshot]);
  for (const key of Object.keys(DEFAULTS)) {
    const usual = opening && key in opening ? opening[key] : DEFAULTS[key];
    if (!OWN.has(key) && JSON.stringify(state[key]) !== JSON.stringify(usual)) put(key, state[key]);
  }
  if (state.query !== null || state.key !== null) link.set("cell", `${state.query ?? ""}.${state.key ?? ""}`);
  const now = new URLSearchParams(location.search);
  if (state.chosenLanguage) link.set("lang", state.language);
  if (state.chosenTheme || now.has(THEME)) link.set(THEME, state.theme);
  return link.toString().replaceAll("%3A", ":").replaceAll("%2F", "/").replaceAll("%2C", ",").replaceAll("%22", '"');
}

export function follow(restore) {
  onAny(() => {
    clearTimeout(timer);
    timer = setTimeout(write, SETTLE_MS);
  });
  addEventListener("popstate", async () => {
    clearTimeout(timer);
    paused++;
    written = location.search.slice(1);
    try {
      await restore(location.search);
    } finally {
      paused--;
      view = null; // where it has arrived is no new view, though the tab may open a moment later
      timer = setTimeout(write, SETTLE_MS);
    }
  });
}

let view = null;
const viewOf = () => `${state.tab} ${state.run}`;

function write() {
  if (paused || shown.loading || !shown.story) return;
  const now = query();
  if (now === written) {
    view = viewOf();
    return;
  }
  const another = view !== null && view !== viewOf();
  history[another ? "pushState" : "replaceState"](null, "", `?${now}${location.hash}`);
  written = now;
  view = viewOf();
  if (onHub()) window.parent.postMessage({ queryString: now, hash: "" }, HUB);
}

// Within a Space's frame the address that others can open is that of the page around it, where that is known.
export function link() {
  const outer = onHub() && /\/spaces\//.test(document.referrer) ? document.referrer.split(/[?#]/)[0] : location.href.split(/[?#]/)[0];
  return `${outer}?${query()}`;
}

const onHub = () => window.parent !== window && document.referrer.startsWith(`${HUB}/`);

// Before the page is left for itself, as for another language where it cannot be switched in place.
export function reload() {
  clearTimeout(timer);
  history.replaceState(null, "", `?${query()}${location.hash}`);
  location.reload();
}

const isJson = (text) => { try { JSON.parse(text); return true; } catch { return false; } };
const encoded = (value) => (typeof value === "string" && !isJson(value) ? value : JSON.stringify(value));
const decoded = (text) => (isJson(text) ? JSON.parse(text) : text);
const fits = (usual, value) => (usual === null ? value === null || typeof value !== "object" : typeof value === typeof usual && (value === null) === (usual === null) && (typeof value !== "number" || Number.isFinite(value)));

// What was wrong with a link, in words.
export const tellOfLink = (wrong) => show({ linkProblem: wrong.length ? wrong.join(" ") : null });
