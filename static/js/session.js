// From a choice to what is shown: loads a run's story and the look at its input; the newest question wins.

import { follow, opening, read, stateOf } from "./address.js";
import { getLook, getRuns, getStory, onWait, Refusal } from "./api.js";
import { hold, on, set, show, shown, state } from "./store.js";
import { openTab, tabsThere } from "./tabs.js";
import { asRun, knownJobs } from "./train_keys.js";
import { say } from "./words.js";

let asked = 0, awaited = null; // awaited: a link to a checkpoint that is to be loaded

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

// Checkpoints may have come or gone; runs trained in this browser stay.
export async function refreshRuns() {
  const offered = await getRuns(), names = new Set(offered.map(({ name }) => name));
  show({ runs: [...offered, ...shown.runs.filter(({ name, own }) => own && !names.has(name))] });
}

// What a link says; of one that cannot be followed, as much as can.
async function restore(query) {
  const { link, wrong } = read(query), first = shown.runs[0].name, run = link.run ?? first, known = () => shown.runs.some(({ name }) => name === run);
  awaited = null;
  show({ linkProblem: null });
  if (run.startsWith("checkpoint:") && run !== state.run) {
    awaited = { ...link, wrong }; // its cost is told before it is loaded
    if (!state.run) await chooseRun(first);
    return set({ picked: run });
  }
  if (await chooseRun(run, { ...link, wrong })) return;
  wrong.push(known() ? shown.problem : say("link.run", { why: shown.problem }));
  if (known() && "text" in link && (await chooseRun(run, { ...link, text: undefined, wrong }))) return;
  if (!state.run) await chooseRun(first, { tab: link.tab, others: {}, wrong });
  else show({ linkProblem: wrong.join(" ") });
}

// to: what to look at in it, as a link has it (address.js: `read`) or as another state of the page. True if it was opened.
export async function chooseRun(name, to = awaited?.run === name ? awaited : null) {
  return load(async () => {
    const story = await getStory(name), given = to && (to.text !== undefined || to.heldOut !== undefined);
    const text = given ? to.text ?? null : story.first_input || null, input = { run: name, text, heldOut: to?.heldOut ?? 0 };
    const look = await lookAt(input);
    if (to?.others) await openTab(to.tab); // first: tabs that are open ask when the run is another
    return [story, input, look];
  }, (story, input, look) => {
    const link = to?.others && stateOf(to, input, story, look), kept = to && !link ? { ...to, tab: state.tab } : {};
    hold(null);
    shown.story = story;
    arrive(look, { snapshot: story.snapshots.length - 1, ...kept, ...input, stepsMade: story.steps.length, ...link?.values });
    if (link) {
      hold(link.named);
      show({ linkProblem: [...to.wrong, ...link.wrong].join(" ") });
    }
    if (name === awaited?.run) awaited = null;
    show({ story });
  });
}

// Another input for the same run; an unreadable one leaves everything as it is and says why.
export async function chooseInput({ text = null, heldOut = 0 }) {
  const input = { run: state.run, text, heldOut };
  return load(async () => [await lookAt(input)], (look) => arrive(look, input));
}

const lookAt = ({ run, text, heldOut }) => getLook({ run, text, held_out: text === null ? heldOut : null });

async function load(get, take) {
  const mine = ++asked;
  show({ loading: true, problem: null });
  try {
    const got = await get();
    if (mine === asked) take(...got);
    return mine === asked;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (mine === asked) show({ problem: error.message });
    return false;
  } finally {
    if (mine === asked) show({ loading: false });
  }
}

// Which head and cell are looked at, the Attention tab chooses (app/tabs/attention_answers.py), unless a link does.
function arrive(look, changes) {
  const recurrent = opening(look, changes.recurrent_layer ?? state.recurrent_layer), { recurrent_layer } = recurrent;
  const { points = [] } = look.recurrent_layers.find(({ name }) => name === recurrent_layer) ?? {}, gate = changes.gate ?? state.gate;
  shown.look = look;
  set({ lastStep: look.steps.at(-1), ...recurrent, ...changes, recurrent_layer, ...(points.length && !points.includes(gate) && { gate: "hidden", unit: 0 }) });
  show({ look });
}
