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

function arraysAt(address) {
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
    about: () => (props.value?.about ? evaluate(props.value.about, picture.figure.context) : "") });
  const fits = () => Object.entries(props.when).every(([key, values]) => values.includes(state[key]));
  let drawn = null;
  const show = async () => {
    const { value } = props, wanted = value && fits() ? value : null;
    if (!wanted) return void (drawn = picture.show(null) ?? null);
    const arrays = await arraysAt(value.arrays);
    if (value !== props.value || !fits() || drawn === value) return;
    drawn = value;
    picture.show(value.spec, arrays);
  };
  on(Object.keys(props.when), show);
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
  const fits = () => Object.entries(props.when).every(([key, values]) => values.includes(state[key]));
  const write = () => {
    const sentence = props.value && fits() ? evaluate(props.value.text, { arrays, state }) : "";
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
  const { identifier, keys, names } = props, last = {}, offered = { ...names, ...Object.fromEntries(offers) }, shown = {};
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
  watch("value", () => {
    const { state: told = {}, choices = {}, visible = {} } = props.value ?? {};
    for (const [key, list] of Object.entries(choices)) offered[key] = Object.assign(list, { changed: true });
    for (const [key, is] of Object.entries(visible)) shown[key] = { visible: is, changed: true };
    set(told);
    trigger("change");
  });
  for (const key of keys) last[key] = undefined;
  on([...keys, "language"], () => trigger("change"));
  trigger("change");
}

const inLanguage = (name) => (typeof name === "object" ? name[state.language] ?? name.en : name);

// app/components/page_state.py: Question
export function question(element, props) {
  const asked = () => Object.fromEntries(props.keys.map((key) => [key, state[key] ?? null]));
  const ask = () => {
    if (!element.closest(".tabitem, #sidebar, #timeline")?.checkVisibility()) return;
    const now = asked();
    if (now.run === null) return; // there is none yet
    if (JSON.stringify(now) === JSON.stringify(props.value)) return;
    props.value = now; // Gradio tells of the change
  };
  on(props.keys, ask);
  on(["tab"], () => requestAnimationFrame(ask));
  ask();
}

// Other choices for the control of a key, from a script: [[name, or names by language, value], …].
export function offer(key, choices) {
  offers.set(key, Object.assign([...choices], { changed: true }));
  for (const one of tied.values()) one.offer(key, choices);
}

// What listeners in the page call: app/components/page_state.py. A control is not told its own value again: it may have
// another by then.
window.innerview = {
  move(value, key, identifier) {
    if (tied.has(identifier)) tied.get(identifier).last[key] = value;
    set({ [key]: value });
  },
  follow: (identifier) => tied.get(identifier)?.follow() ?? [],
};
