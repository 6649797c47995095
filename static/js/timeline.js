// The run's training at the foot of the page: a live figure whose playhead moves every picture, a play button, and keys.

import { make } from "./dom.js";
import { player } from "./live/page.js";
import { on, set, shown, state } from "./store.js";
import { afterClick, isField, watchFocus } from "./time_keys.js";
import { inLanguage, say } from "./words.js";

const PACES = { slow: [1000, 2], usual: [400, 3], fast: [130, 1] }; // ms per snapshot; how many times longer where something happens
let plot, playButton, paceButton, figure = null, timer = null, drawnRun = null;

export function mountTimeline(parent) {
  playButton = make("button", { type: "button", class: "play", onclick: toggle }, "▶");
  paceButton = make("button", { type: "button", class: "pace", onclick: () => set({ pace: Object.keys(PACES)[(Object.keys(PACES).indexOf(state.pace) + 1) % 3] }) });
  plot = make("div", { class: "plot" });
  const box = make("div", { class: "live timeline" }, plot), untrained = make("p", { class: "untrained", hidden: true });
  const whole = make("div", { class: "timeline-box" }, make("div", { class: "player" }, playButton, paceButton), box, untrained);
  parent.append(whole);
  on(["story", "language"], () => {
    if (!shown.story) return;
    if (drawnRun !== shown.story.name) stop(); // a run that is being trained comes again and again
    drawnRun = shown.story.name;
    playButton.disabled = paceButton.disabled = shown.story.snapshots.length < 2;
    untrained.hidden = !shown.story.checkpoint;
    untrained.textContent = shown.story.checkpoint ? say("checkpoint.no_training", { title: inLanguage(shown.story.title) }) : "";
    whole.classList.toggle("without-training", !untrained.hidden);
    if (!shown.story.timeline) return; // a checkpoint's training is not known
    if (figure) figure.show(shown.story.timeline, {});
    else figure = player.add(box, shown.story.timeline, {});
    plot.setAttribute("role", "slider");
    plot.setAttribute("aria-label", say("timeline"));
    tell();
  });
  on(["snapshot", "language"], tell);
  on(["pace", "language"], label);
  label();
  plot.addEventListener("pointerdown", stop, true);
  watchFocus();
  document.addEventListener("keydown", (event) => afterClick(event.target) && keys(event), true); // before whoever was clicked
  document.addEventListener("keydown", (event) => afterClick(event.target) || keys(event));
}

function label() {
  playButton.textContent = timer ? "❚❚" : "▶";
  playButton.ariaLabel = say(timer ? "pause" : "play");
  playButton.title = say("play_hint");
  paceButton.textContent = say(`pace.${state.pace}`);
  paceButton.title = say("pace_hint");
}

function keys(event) {
  if (!plot.getClientRects().length) return; // not on the page now: other keys have the word
  if (isField(event.target) || event.ctrlKey || event.metaKey) return;
  const clicked = afterClick(event.target);
  if (!clicked && event.target.closest?.("[role=radiogroup], input[type=radio], [role=tab], canvas")) return;
  const last = (shown.story?.snapshots.length ?? 1) - 1;
  const to = { ArrowLeft: state.snapshot - 1, ArrowRight: state.snapshot + 1, Home: 0, End: last }[event.key];
  if (to !== undefined) {
    take(event);
    stop();
    set({ snapshot: Math.max(0, Math.min(last, to)) });
  } else if (event.key === " " && (clicked || !event.target.closest?.("button, summary, a"))) {
    take(event);
    toggle();
  }
}

function take(event) {
  event.preventDefault();
  event.stopPropagation();
}

function toggle() {
  if (timer) return stop();
  if ((shown.story?.snapshots.length ?? 0) < 2) return;
  if (state.snapshot === shown.story.snapshots.length - 1) set({ snapshot: 0 });
  wait();
  label();
}

function wait() {
  const { snapshots, moments } = shown.story, [pause, longer] = PACES[state.pace], [from, to] = [state.snapshot - 1, state.snapshot + 1].map((at) => snapshots[at] ?? -1);
  const eventful = moments.some(({ step }) => step > from && step <= to); // just now, or with the next snapshot
  timer = setTimeout(() => {
    if (state.snapshot >= shown.story.snapshots.length - 1) return stop();
    set({ snapshot: state.snapshot + 1 });
    wait();
  }, eventful ? longer * pause : pause);
}

function stop() {
  clearTimeout(timer);
  timer = null;
  label();
}

// what a screen reader says of the playhead
function tell() {
  if (!shown.story) return;
  const { snapshots, steps } = shown.story, step = snapshots[Math.min(state.snapshot, snapshots.length - 1)] ?? 0;
  const last = Math.max(1, steps.at(-1) ?? 0, snapshots.at(-1) ?? 0);
  const told = { valuemin: 0, valuemax: last, valuenow: step, valuetext: say("step_of", { step, last }) };
  for (const [name, value] of Object.entries(told)) plot.setAttribute(`aria-${name}`, value);
}
