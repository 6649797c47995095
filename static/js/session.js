// From a choice to what is shown: loads a run's story and the look at its input; the newest question wins.

import { follow, move, read, tellOfLink } from "./address.js";
import { getLook, getRuns, getStory, onWait, Refusal } from "./api.js";
import { hold, on, set, show, shown, state } from "./store.js";
import { tabsThere } from "./tabs.js";
import { asRun, knownJobs } from "./train_keys.js";
import { say } from "./words.js";

const OPENING = ["snapshot", "group", "layer", "head", "recurrent_layer", "gate", "unit", "time"]; // keys that a run and its input choose
let asked = 0, awaited = null; // a link to a checkpoint that is to be loaded
let unmet = [];

// While a checkpoint that had made way for others comes back, whatever was asked of it waits.
onWait((sentence) => show({ problem: sentence }));

on(["story"], () => shown.story && set({ stepsMade: shown.story.steps.length })); // of a run that is being trained

export async function begin() {
  const [offered, own] = await Promise.all([getRuns(), knownJobs()]);
  show({ runs: [...offered, ...own.filter(({ stored }) => stored !== null).map(asRun)] });
  await tabsThere();
  await restore(location.search);
  follow(restore);
}

// What a link says; of one that cannot be followed, as much as can.
async function restore(query) {
  const { link, wrong } = read(query), first = shown.runs[0].name, run = link.run ?? first;
  unmet = [];
  awaited = null;
  if (run === state.run && "heldOut" in link === (state.text === null) && (link.text ?? state.text) === state.text && (link.heldOut ?? state.heldOut) === state.heldOut) {
    unmet = move(link);
  } else if (run.startsWith("checkpoint:")) {
    awaited = link; // its cost is told before it is loaded
    if (!state.run) await chooseRun(first);
    set({ picked: run });
  } else if (!(await chooseRun(run, link))) {
    wrong.push(known(run) ? shown.problem : say("link.run", { why: shown.problem }));
    if (!("text" in link && known(run) && (await chooseRun(run, { ...link, text: undefined }))) && !state.run) await chooseRun(first, { tab: link.tab, others: {} });
  }
  tellOfLink([...wrong, ...unmet]);
}

const known = (run) => shown.runs.some(({ name }) => name === run);

// to: what to look at in it, as a link has it (address.js: `read`) or as another state of the page. True if it was opened.
export async function chooseRun(name, to = awaited?.run === name ? awaited : null) {
  const mine = ++asked;
  show({ loading: true, problem: null });
  try {
    const story = await getStory(name), given = to && (to.text !== undefined || to.heldOut !== undefined);
    const text = given ? to.text ?? null : story.first_input || null, heldOut = to?.heldOut ?? 0;
    const look = await getLook({ run: name, text, held_out: text === null ? heldOut : null });
    if (mine !== asked) return false;
    hold(null);
    set({ run: name, text, heldOut, stepsMade: story.steps.length });
    shown.story = story;
    arrive(look, story.snapshots.length - 1, { ...story.focus, fresh: true });
    if (to?.others) unmet = move(to);
    else if (to) set({ ...to, tab: state.tab, run: name });
    if (name === awaited?.run) awaited = null;
    show({ story });
    return true;
  } catch (error) {
    complain(error);
    return false;
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
  set({ snapshot, ...within(look, group, focus), group, recurrent_layer, query: null, key: null, ...pointOf(look, recurrent_layer) });
  if (focus.fresh) shown.opening = Object.fromEntries(OPENING.map((key) => [key, state[key]]));
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
