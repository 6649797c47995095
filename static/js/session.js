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
    shown.story = story;
    arrive(look, { run: name, text, heldOut, snapshot: story.snapshots.length - 1, ...(kept && { ...kept, tab: state.tab, run: name }) });
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
    arrive(look, { text, heldOut });
  } catch (error) {
    if (mine === asked) complain(error);
  } finally {
    if (mine === asked) show({ loading: false });
  }
}

// Which head and cell are looked at, the Attention tab chooses (app/tabs/attention_answers.py).
function arrive(look, changes) {
  const layers = look.recurrent_layers.map(({ name }) => name), wanted = changes.recurrent_layer ?? state.recurrent_layer;
  const recurrent_layer = layers.includes(wanted) ? wanted : layers[0] ?? null;
  shown.look = look;
  set({ ...pointOf(look, recurrent_layer), ...changes, recurrent_layer });
  show({ look });
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
