// From a choice to what is shown: loads a run's story and the look at its input; the newest question wins.

import { getLook, getRuns, getStory, Refusal } from "./api.js";
import { set, show, shown, state } from "./store.js";
import { openTab } from "./tabs.js";
import { asRun, knownJobs } from "./train_keys.js";

const KEPT = "innerview-kept"; // in the tab's own storage, between two pages
let asked = 0, forgotten = false;

export async function begin() {
  const [offered, own] = await Promise.all([getRuns(), knownJobs()]);
  show({ runs: [...offered, ...own.filter(({ stored }) => stored !== null).map(asRun)] });
  const kept = isReturn() ? JSON.parse(sessionStorage.getItem(KEPT) ?? "null") : null;
  addEventListener("pagehide", () => (forgotten ? sessionStorage.removeItem(KEPT) : sessionStorage.setItem(KEPT, JSON.stringify(state))));
  const found = kept && shown.runs.some(({ name }) => name === kept.run); // a run of one's own may be gone by now
  await (found ? chooseRun(kept.run, kept) : chooseRun(shown.runs[0].name));
  if (kept) openTab(kept.tab);
}

// The same page again, also in another language: what was being looked at is there again. An address typed anew is not.
const isReturn = () => ["reload", "back_forward"].includes(performance.getEntriesByType("navigation")[0]?.type);

export function startOver() {
  forgotten = true;
}

export async function chooseRun(name, kept = null) {
  const mine = ++asked;
  show({ loading: true, problem: null });
  try {
    const story = await getStory(name);
    const text = kept ? kept.text : story.first_input || null, heldOut = kept?.heldOut ?? 0;
    const look = await getLook({ run: name, text, held_out: text === null ? heldOut : null });
    if (mine !== asked) return;
    set({ run: name, text, heldOut });
    shown.story = story;
    arrive(look, story.snapshots.length - 1, { ...story.focus, fresh: true });
    if (kept) set({ ...kept, tab: state.tab, run: name });
    show({ story });
  } catch (error) {
    complain(error);
  } finally {
    if (mine === asked) show({ loading: false });
  }
}

// Another input for the same run; an unreadable one leaves everything as it is and says why.
export async function chooseInput({ text = null, heldOut = 0 }) {
  const mine = ++asked;
  show({ loading: true, problem: null });
  try {
    const look = await getLook({ run: state.run, text, held_out: text === null ? heldOut : null });
    if (mine !== asked) return;
    set({ text, heldOut });
    arrive(look, state.snapshot, {});
  } catch (error) {
    if (mine === asked) complain(error);
  } finally {
    if (mine === asked) show({ loading: false });
  }
}

function arrive(look, snapshot, focus) {
  const groups = look.heads.map(({ name }) => name), layers = look.recurrent_layers.map(({ name }) => name);
  const wanted = focus.group ?? (focus.fresh ? mostTelling(look) : state.group), group = groups.includes(wanted) ? wanted : mostTelling(look);
  const recurrent_layer = layers.includes(state.recurrent_layer) ? state.recurrent_layer : layers[0] ?? null;
  shown.look = look;
  set({ snapshot, lastStep: look.steps.at(-1), ...within(look, group, focus), group, recurrent_layer, query: null, key: null, ...pointOf(look, recurrent_layer) });
  show({ look });
}

// of several kinds of attention the last in which a head has a clear role: decoder before encoder, cross before self
function mostTelling({ heads, ...look }) {
  return (heads.findLast((stack) => clearest(look, stack).share >= look.clear) ?? heads.at(-1))?.name ?? null;
}

// layer and head that exist; at first the head with the clearest role
function within(look, group, focus) {
  const heads = look.heads.find(({ name }) => name === group);
  if (!heads) return { layer: 0, head: 0 };
  const [, layers, count] = heads.shape;
  if (state.group === group && state.layer < layers && state.head < count && !focus.fresh) {
    return { layer: state.layer, head: state.head };
  }
  const { layer, head } = clearest(look, heads);
  return { layer, head };
}

function clearest(look, heads) {
  const last = look.steps.length - 1, [, layers, count] = heads.shape;
  let best = { layer: 0, head: 0, share: -1 };
  for (const measure of ["agreement", "induction", "previous"].filter((m) => heads.measures.includes(m))) {
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < count; head++) {
        const share = look.arrays[`${heads.name}.${measure}`].value(last, layer, head);
        if (share > best.share) best = { layer, head, share };
      }
    }
    if (best.share >= look.clear) break;
  }
  return best;
}

// the last token of what the layer reads; a gate or state that it has
function pointOf(look, layer) {
  const { points = [], axis } = look.recurrent_layers.find(({ name }) => name === layer) ?? {}, time = (look.axes[axis]?.length ?? 1) - 1;
  return points.length && !points.includes(state.gate) ? { time, gate: "hidden", unit: 0 } : { time };
}

function complain(error) {
  if (!(error instanceof Refusal)) throw error;
  show({ problem: error.message });
}
