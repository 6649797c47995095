// The page's half of the Gradio components in app/components: figures and sentences that follow the state, and the ties
// between native controls and the state.

import { Refusal } from "./api.js";
import { make } from "./dom.js";
import { evaluate, keysOf } from "./live/expressions.js";
import { Picture } from "./live/picture.js";
import { unpack } from "./payload.js";
import { on, onAny, set, state } from "./store.js";
import { loadWords, sayInto } from "./words.js";

const KEPT = 24; // answers whose arrays are kept in the page
const loads = new Map(), tied = new Map(), offers = new Map();
const fits = (when) => Object.entries(when).every(([key, values]) => values.includes(state[key]));
const chosen = (value) => (value?.by ? chosen(value.among[state[value.by]]) : value ?? null); // app/components/live_plot.py: by_state
const choosing = (value) => (value?.by ? [value.by, ...Object.values(value.among).flatMap(choosing)] : Object.keys({ ...value?.of, ...value?.only }));
const INPUT = ["run", "text", "heldOut"];
const differs = (keys, of) => state.run !== null && keys.some((key) => key in of && JSON.stringify(of[key]) !== JSON.stringify(state[key] ?? null));

// what is shown is of another run or input, or of another cell, until the answer comes
function mark(element, of = {}) {
  element.classList.toggle("stale", differs(INPUT, of));
  element.classList.toggle("waiting", differs(Object.keys(of), of));
}

export function arraysAt(address) {
  if (!address) return Promise.resolve({});
  if (!loads.has(address)) {
    loads.set(address, fetch(new URL(address, document.baseURI)).then(async (answer) => {
      if (!answer.ok) throw new Error(`arrays: ${answer.status}`);
      return unpack(await answer.arrayBuffer()).arrays;
    }));
    loads.get(address).catch(() => loads.delete(address));
    if (loads.size > KEPT) loads.delete(loads.keys().next().value);
  }
  return loads.get(address);
}

// app/components/live_plot.py: LivePlot
export async function livePlot(element, props, watch) {
  await loadWords();
  const parent = element.querySelector(".view");
  const picture = new Picture(parent, { className: props.classes, keep: props.keep,
    about: () => (drawn?.about ? evaluate(drawn.about, picture.figure.context) : "") });
  let drawn = null, lasting = null; // the last value that is not for one state only
  const wantedNow = () => {
    if (!props.value?.only) lasting = props.value;
    const { only } = props.value ?? {};
    return fits(props.when) ? chosen(only && differs(Object.keys(only), only) ? lasting : props.value) : null;
  };
  const show = async () => {
    const wanted = wantedNow();
    mark(picture.element, drawn?.of);
    if (!wanted) return void (drawn = picture.show(null) ?? null);
    const arrays = await arraysAt(wanted.arrays);
    if (wanted !== wantedNow() || drawn === wanted) return;
    drawn = wanted;
    picture.element.className = `figure live ${props.classes} ${wanted.classes ?? ""}`;
    mark(picture.element, drawn.of);
    picture.show(wanted.spec, arrays);
  };
  onAny((changed) => {
    const keys = new Set([...Object.keys(props.when), ...choosing(props.value), ...choosing(lasting)]);
    if (changed.some((key) => keys.has(key))) show();
  });
  watch("value", show);
  await show();
}

// app/components/live_plot.py: LiveText
export async function liveText(element, props, watch) {
  const text = document.createElement(props.tag);
  text.className = props.classes;
  if (props.role) text.setAttribute("role", props.role);
  element.querySelector(".view").append(text);
  let arrays = {}, keys = new Set();
  const write = () => {
    const sentence = props.value && fits(props.when) ? evaluate(props.value.text, { arrays, state }) : "";
    text.hidden = !sentence?.length;
    if (Array.isArray(sentence)) text.replaceChildren(...sentence.map((part) => make("span", { class: "pill" }, part)));
    else sayInto(text, sentence ?? "");
  };
  const show = async () => {
    const { value } = props;
    keys = keysOf(value?.text ?? "");
    const loaded = await arraysAt(value?.arrays);
    if (value !== props.value) return;
    arrays = loaded;
    write();
  };
  onAny((changed) => changed.some((key) => keys.has(key) || key in props.when) && write());
  watch("value", show);
  await show();
}

// app/components/page_state.py: Controls
export function controls(element, props, trigger, watch) {
  const { identifier, keys, names, first } = props, last = {}, offered = { ...names, ...Object.fromEntries(offers) }, shown = {};
  let language = "en"; // of the names that Python has written
  const changesOf = (key) => {
    const changes = {}, value = state[key] ?? null;
    if (JSON.stringify(last[key]) !== JSON.stringify(value)) changes.value = last[key] = value;
    if (offered[key] && (offered[key].changed || language !== state.language)) changes.choices = offered[key].map(([name, choice]) => [inLanguage(name), choice]);
    if (shown[key]?.changed) changes.visible = shown[key].visible;
    return Object.keys(changes).length ? { __type__: "update", ...changes } : undefined;
  };
  const follow = () => {
    const updates = keys.map(changesOf);
    language = state.language;
    for (const one of [...Object.values(offered), ...Object.values(shown)]) if (one) one.changed = false;
    return updates;
  };
  const offer = (key, choices) => {
    if (!keys.includes(key)) return;
    offered[key] = Object.assign([...choices], { changed: true });
    trigger("change");
  };
  tied.set(identifier, { follow, offer, last });
  const tell = () => {
    const { state: told = {}, choices = {}, visible = {} } = props.value ?? {};
    for (const [key, list] of Object.entries(choices)) offered[key] = Object.assign(list, { changed: true });
    for (const [key, is] of Object.entries(visible)) shown[key] = { visible: is, changed: true };
    set(told);
    trigger("change");
  };
  watch("value", tell);
  for (const key of keys) last[key] = undefined;
  set(Object.fromEntries(keys.filter((key) => !(key in state)).map((key) => [key, first[key]])));
  on([...keys, "language"], () => trigger("change"));
  if (props.value && !differs(Object.keys(props.value.of), props.value.of)) tell();
  trigger("change");
}

const inLanguage = (name) => (typeof name === "object" ? name[state.language] ?? name.en : name);

// app/components/page_state.py: Question
export function question(element, props) {
  const read = (keys) => Object.fromEntries(keys.map((key) => [key, state[key] ?? null]));
  let timer = null;
  const ask = () => {
    if (!fits(props.when) || (props.keys.includes("run") && !state.run)) return;
    if (!element.closest(".tabitem, #sidebar, #timeline")?.checkVisibility()) return;
    const now = read(props.keys), known = Object.fromEntries(props.keys.map((key) => [key, props.value?.[key]]));
    if (JSON.stringify(now) === JSON.stringify(known)) return;
    props.value = { ...now, ...read(props.also) }; // Gradio tells of the change
  };
  const soon = () => {
    clearTimeout(timer);
    if (props.rest) timer = setTimeout(ask, props.rest);
    else ask();
  };
  on([...props.keys, ...Object.keys(props.when)], soon);
  on(["tab"], () => requestAnimationFrame(ask));
  ask();
}

// Other choices for the control of a key, from a script: [[name, or names by language, value], …].
export function offer(key, choices) {
  offers.set(key, Object.assign([...choices], { changed: true }));
  for (const one of tied.values()) one.offer(key, choices);
}

// app/components/page_state.py: Derived
export function derived(element, props) {
  onAny(async (changed, given) => {
    const { value } = props;
    if (!value || !props.keys.some((key) => changed.includes(key)) || Object.keys(value.set).some((key) => given.includes(key))) return;
    set(evaluate(value.set, { arrays: await arraysAt(value.arrays), state }));
  });
}

// What listeners in the page call: app/components/page_state.py. A control is not told its own value again: it may have
// another by then.
window.innerview = {
  state,
  set: (key, value) => set({ [key]: value }),
  move(value, key, identifier) {
    if (tied.has(identifier)) tied.get(identifier).last[key] = value;
    set({ [key]: value });
  },
  follow: (identifier) => tied.get(identifier)?.follow() ?? [],
};
