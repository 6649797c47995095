// The page's address is a link to the view: run, input and what differs from how they open. Back and Forward go from view to
// view (tab, run); moves within one replace its address.

import { DEFAULTS, onAny, shown, state } from "./store.js";
import { say } from "./words.js";

const SETTLE_MS = 250; // browsers refuse many changes of the address in a short time
const NAMED = ["tab", "run", "text", "heldOut", "snapshot", "query", "key", "language", "theme"]; // written by other names
const HEAD = ["group", "layer", "head"]; // written together
const OTHERS = Object.keys(DEFAULTS).filter((key) => !NAMED.includes(key) && !HEAD.includes(key));
const THEME = "__theme", HUB = "https://huggingface.co", MOST_PROBLEMS = 1000;
let timer = null, written = null, view = null, paused = false;

// What a link says, {tab, run, text, heldOut, step, others: {key: value}} as far as it names them, and what cannot be read.
export function read(query) {
  const link = { tab: DEFAULTS.tab, others: {} }, wrong = [];
  for (const [name, text] of new URLSearchParams(query)) {
    const value = decoded(text), cell = name === "cell" && text.match(/^(\d+)\.(\d+)$/);
    if (name === "lang" || name.startsWith("__")) continue;
    if (name === "tab" && !document.getElementById(`tab-${text}-button`)) wrong.push(say("link.tab", { name: text }));
    else if (["tab", "run", "text"].includes(name)) link[name] = text;
    else if (name === "problem" && isBelow(value, MOST_PROBLEMS)) link.heldOut = value;
    else if (name === "step" && isBelow(value, Infinity)) link.step = value;
    else if (cell) [link.others.query, link.others.key] = cell.slice(1).map(Number);
    else if ([...OTHERS, ...HEAD].includes(name) && fits(DEFAULTS[name], value)) link.others[name] = value;
    else wrong.push(strange(name, text));
  }
  return { link, wrong };
}

// The state that a link asks for, of this input; which keys it names; and what it names that does not exist, in words.
export function stateOf({ step, others }, { run, text, heldOut }, { snapshots }, look) {
  const usual = { ...Object.fromEntries(OTHERS.map((key) => [key, DEFAULTS[key]])), ...opening(look, others.recurrent_layer) }, named = {}, wrong = [];
  const stack = look.heads.find(({ name }) => name === others.group) ?? look.heads.at(-1), [, layers, heads] = stack?.shape ?? [0, 0, 0];
  const length = (axis) => look.axes[axis]?.length ?? 0, { axis } = look.recurrent_layers.find(({ name }) => name === usual.recurrent_layer) ?? {};
  const most = { layer: layers, head: heads, query: length(stack?.queries), key: length(stack?.keys), ...(axis && { time: length(axis) }) };
  const only = { group: stack?.name, ...(axis && { recurrent_layer: usual.recurrent_layer }) };
  for (const [key, value] of Object.entries(others)) {
    if (key in most ? isBelow(value, most[key]) : !(key in only) || value === only[key]) named[key] = value;
    else wrong.push(strange(key, value));
  }
  if (named.group) named.attentionOf = [run, text, heldOut, null]; // else the Attention tab chooses a head
  const snapshot = step === undefined ? snapshots.length - 1 : snapshots.reduce((best, at, i) => (Math.abs(at - step) < Math.abs(snapshots[best] - step) ? i : best), 0);
  if (step !== undefined) named.snapshot = snapshot;
  if (step !== undefined && snapshots[snapshot] !== step) wrong.push(say("link.step", { step, nearest: snapshots[snapshot] }));
  return { values: { ...usual, ...named, snapshot }, named: Object.keys(named), wrong };
}

// The recurrent layer that is looked at unless another one is wanted, and the last token that it reads.
export function opening(look, wanted) {
  const layers = look.recurrent_layers, { name = null, axis } = layers.find((layer) => layer.name === wanted) ?? layers[0] ?? {};
  return { recurrent_layer: name, time: (look.axes[axis]?.length ?? 1) - 1 };
}

// The state as a query.
export function query() {
  const link = new URLSearchParams(), { story, look } = shown, put = (key) => link.set(key, encoded(state[key]));
  const usual = { ...DEFAULTS, ...(look && opening(look, state.recurrent_layer)), recurrent_layer: look?.recurrent_layers[0]?.name ?? null };
  if (state.tab !== DEFAULTS.tab) link.set("tab", state.tab);
  if (state.run) link.set("run", state.run);
  if (state.text === null && (state.heldOut || story?.first_input)) link.set("problem", state.heldOut);
  else if (state.text !== null && state.text !== story?.first_input) link.set("text", state.text);
  if (story && state.snapshot !== story.snapshots.length - 1) link.set("step", story.snapshots[state.snapshot]);
  if (state.group && same(state.attentionOf, [state.run, state.text, state.heldOut, null])) {
    HEAD.forEach(put);
    if (state.query !== null && state.key !== null) link.set("cell", `${state.query}.${state.key}`);
  }
  OTHERS.filter((key) => !same(state[key], usual[key])).forEach(put);
  if (state.chosenLanguage) link.set("lang", state.language);
  if (state.chosenTheme || new URLSearchParams(location.search).has(THEME)) link.set(THEME, state.theme);
  return link.toString().replace(/%(3A|2F|2C|22)/g, decodeURIComponent);
}

// Keeps the address as the state is; restore(query) brings back what the browser's history goes to.
export function follow(restore) {
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(write, SETTLE_MS);
  };
  onAny(soon);
  addEventListener("popstate", async () => {
    paused = true;
    written = location.search.slice(1);
    await restore(location.search).finally(() => { paused = false; });
    view = null; // where it has arrived is no new view, though the tab may open a moment later
    soon();
  });
}

function write() {
  if (paused || shown.loading || !shown.story) return;
  const now = query(), before = view;
  view = `${state.tab} ${state.run}`;
  if (now === written) return;
  history[before && before !== view ? "pushState" : "replaceState"](null, "", `?${written = now}${location.hash}`);
  if (onHub()) window.parent.postMessage({ queryString: now, hash: "" }, HUB);
}

// Within a Space's frame the address that others can open is that of the page around it, where that is known.
export function link() {
  const outer = onHub() && document.referrer.includes("/spaces/") ? document.referrer : location.href;
  return `${outer.split(/[?#]/)[0]}?${query()}`;
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
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const isBelow = (value, most) => Number.isInteger(value) && value >= 0 && value < most;
const fits = (usual, value) => (usual === null ? typeof (value ?? "") !== "object" : value !== null && typeof value === typeof usual) && Math.abs(value) !== Infinity;
const strange = (name, value) => say("link.part", { part: `${name}=${String(value).slice(0, 40)}` });
