// The run's training at the foot of the page: a live figure whose playhead moves every picture, a play button, and keys.

import { make } from "./dom.js";
import { player } from "./live/page.js";
import { on, set, shown, state } from "./store.js";
import { afterClick, isField, watchFocus } from "./time_keys.js";
import { mountUntrained } from "./untrained.js";
import { say } from "./words.js";

const PLAY_MS = 260; // per snapshot
let plot, playButton, figure = null, timer = null, drawnRun = null;

export function mountTimeline(parent) {
  playButton = make("button", { type: "button", class: "play", onclick: toggle, "aria-label": say("play"), title: say("play_hint") }, "▶");
  plot = make("div", { class: "plot" });
  const box = make("div", { class: "live timeline" }, plot);
  parent.append(make("div", { class: "timeline-box" }, playButton, box));
  mountUntrained(parent.lastChild);
  on(["story"], () => {
    if (drawnRun !== shown.story.name) stop(); // a run that is being trained comes again and again
    drawnRun = shown.story.name;
    playButton.disabled = shown.story.snapshots.length < 2;
    if (!shown.story.timeline) return; // a checkpoint's training is not known
    if (figure) figure.show(shown.story.timeline, {});
    else figure = player.add(box, shown.story.timeline, {});
    plot.setAttribute("role", "slider");
    plot.setAttribute("aria-label", say("timeline"));
    tell();
  });
  on(["snapshot"], tell);
  plot.addEventListener("pointerdown", stop, true);
  watchFocus();
  document.addEventListener("keydown", (event) => afterClick(event.target) && keys(event), true); // before whoever was clicked
  document.addEventListener("keydown", (event) => afterClick(event.target) || keys(event));
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
  playButton.textContent = "❚❚";
  playButton.setAttribute("aria-label", say("pause"));
  timer = setInterval(() => (state.snapshot < shown.story.snapshots.length - 1 ? set({ snapshot: state.snapshot + 1 }) : stop()), PLAY_MS);
}

function stop() {
  clearInterval(timer);
  timer = null;
  playButton.textContent = "▶";
  playButton.setAttribute("aria-label", say("play"));
}

// what a screen reader says of the playhead
function tell() {
  if (!shown.story) return;
  const { snapshots, steps } = shown.story, step = snapshots[Math.min(state.snapshot, snapshots.length - 1)] ?? 0;
  const last = Math.max(1, steps.at(-1) ?? 0, snapshots.at(-1) ?? 0);
  const told = { valuemin: 0, valuemax: last, valuenow: step, valuetext: say("step_of", { step, last }) };
  for (const [name, value] of Object.entries(told)) plot.setAttribute(`aria-${name}`, value);
}
