// The run's learning at the foot of the page: loss, accuracy, moments, and the playhead that moves every picture.

import { make } from "./dom.js";
import { on, set, shown, state } from "./store.js";
import { inLanguage, say } from "./words.js";

const PLAY_MS = 260, TICK = 38; // ms per snapshot; px between two numbers below the curves
const [TOP, BOTTOM, LEFT, RIGHT] = [18, 28, 64, 164]; // px around the curves
let svg, playhead, playButton, timer = null, place = null;

export function mountTimeline(parent) {
  playButton = make("button", { type: "button", class: "play", onclick: toggle, "aria-label": say("play"), title: say("play_hint") }, "▶");
  svg = make("svg", { class: "timeline", role: "slider", tabindex: 0, "aria-label": say("timeline") });
  parent.append(make("div", { class: "timeline-box" }, playButton, svg));
  svg.addEventListener("pointerdown", (event) => { svg.setPointerCapture(event.pointerId); seek(event); });
  svg.addEventListener("pointermove", (event) => { if (event.buttons) seek(event); });
  new ResizeObserver(() => shown.story && draw()).observe(svg);
  on(["story"], () => { stop(); draw(); });
  on(["moment"], movePlayhead);
  document.addEventListener("keydown", keys);
}

function keys(event) {
  if (event.target.closest("input, textarea, select, [role=radiogroup], [role=tab], canvas") || event.ctrlKey || event.metaKey) return;
  const last = (shown.story?.snapshots.length ?? 1) - 1;
  const to = { ArrowLeft: state.moment - 1, ArrowRight: state.moment + 1, Home: 0, End: last }[event.key];
  if (to !== undefined) {
    event.preventDefault();
    stop();
    set({ moment: Math.max(0, Math.min(last, to)) });
  } else if (event.key === " " && !event.target.closest("button")) {
    event.preventDefault();
    toggle();
  }
}

function toggle() {
  if (timer) return stop();
  const last = shown.story.snapshots.length - 1;
  if (state.moment === last) set({ moment: 0 });
  playButton.textContent = "❚❚";
  playButton.setAttribute("aria-label", say("pause"));
  timer = setInterval(() => (state.moment < last ? set({ moment: state.moment + 1 }) : stop()), PLAY_MS);
}

function stop() {
  clearInterval(timer);
  timer = null;
  playButton.textContent = "▶";
  playButton.setAttribute("aria-label", say("play"));
}

function seek(event) {
  if (!place) return;
  stop();
  const x = event.clientX - svg.getBoundingClientRect().left;
  const distances = shown.story.snapshots.map((step) => Math.abs(place.x(step) - x));
  set({ moment: distances.indexOf(Math.min(...distances)) });
}

function draw() {
  const { clientWidth: width, clientHeight: height } = svg;
  if (!width) return;
  const story = shown.story, last = story.steps.at(-1);
  const narrow = width < 560, left = narrow ? 14 : LEFT, right = narrow ? 14 : RIGHT;
  const inner = width - left - right, foot = height - BOTTOM;
  const x = (step) => left + (inner * Math.log1p(step)) / Math.log1p(last);
  const highest = Math.max(...story.loss.slice(0, Math.max(20, story.loss.length / 4)), 1e-9);
  const yLoss = (loss) => TOP + (foot - TOP) * (1 - Math.min(1.05, loss / highest));
  const yAccuracy = (accuracy) => TOP + (foot - TOP) * (1 - accuracy);
  const path = (values, y) => smooth(values).map((v, i) => `${i ? "L" : "M"}${x(story.steps[i]).toFixed(1)},${y(v).toFixed(1)}`).join("");
  place = { x };
  const parts = [
    make("line", { x1: left, x2: left + inner, y1: yAccuracy(story.chance), y2: yAccuracy(story.chance), class: "chance" }),
    make("path", { d: path(story.loss, yLoss), class: "loss" }),
    make("path", { d: path(story.accuracies, yAccuracy), class: "accuracy" }),
    ...ticks(last, x).map((step) => make("text", { x: x(step), y: height - 6, class: "tick" }, String(step))),
    ...story.snapshots.map((step) => make("line", { x1: x(step), x2: x(step), y1: foot, y2: foot + 4, class: "snap" })),
    ...moments(story, x, foot, left + inner, narrow),
  ];
  if (!narrow) {
    const ends = [smooth(story.accuracies).at(-1), smooth(story.loss).at(-1)];
    let [ya, yl] = [yAccuracy(ends[0]), yLoss(ends[1])];
    if (Math.abs(ya - yl) < 14) [ya, yl] = ya <= yl ? [ya - 7, ya + 8] : [yl + 8, yl - 7];
    parts.push(make("text", { x: left + inner + 8, y: ya + 4, class: "name accuracy-name" }, say("train_accuracy")));
    parts.push(make("text", { x: left + inner + 8, y: yl + 4, class: "name" }, say("loss")));
    parts.push(make("text", { x: left - 8, y: yAccuracy(story.chance) + 4, class: "name end" }, say("chance")));
  }
  const held = make("circle", { cx: left + inner, cy: yAccuracy(story.accuracy), r: 4, class: "held-out" }, make("title", {}, say("held_out_share", { share: story.accuracy })));
  parts.push(held);
  if (!narrow && Math.abs(story.accuracy - smooth(story.accuracies).at(-1)) > 0.15) {
    parts.push(make("text", { x: left + inner + 8, y: yAccuracy(story.accuracy) + 4, class: "name" }, say("held_out")));
  }
  playhead = make("g", { class: "playhead" }, make("line", { y1: 6, y2: foot + 4 }), make("circle", { cy: 7, r: 6 }));
  svg.replaceChildren(...parts, playhead);
  movePlayhead();
}

// Diamonds for all moments; words for as many as have room, in two rows, never one over another.
function moments(story, x, foot, end, narrow) {
  const rows = [[], []], parts = [];
  for (const moment of [...story.moments].sort(byImportance)) {
    const at = x(moment.step), text = inLanguage(moment.text);
    const group = make("g", { class: "moment", onpointerdown: (event) => { event.stopPropagation(); jump(moment); } },
      make("title", {}, say("moment_at", { step: moment.step, what: text })),
      make("line", { x1: at, x2: at, y1: TOP, y2: foot }),
      make("polygon", { points: `${at - 5},${foot} ${at},${foot - 6} ${at + 5},${foot} ${at},${foot + 6}` }));
    const width = 7.2 * text.length * (/[\u4e00-\u9fff]/.test(text) ? 1.8 : 1) + 16;
    const from = at + width > end ? at - width : at;
    const row = narrow ? -1 : rows.findIndex((taken) => taken.every(([a, b]) => from > b || from + width < a));
    if (row >= 0) {
      rows[row].push([from, from + width]);
      const y = row === 0 ? 12 : foot - 10;
      group.append(make("text", { x: from < at ? at - 6 : at + 6, y, class: from < at ? "end" : "" }, text));
    }
    parts.push(group);
  }
  return parts;
}

// The run's own moments first, then heads with a telling role: they get the words when there is little room.
function byImportance(a, b) {
  const rank = ({ head, text }) => (head === null ? 0 : /induction|alignment/.test(text.en) ? 1 : 2);
  return rank(a) - rank(b) || a.step - b.step;
}

// A moment lies at a step of training; the picture is that of the first snapshot that shows it.
function jump(moment) {
  stop();
  const index = shown.story.snapshots.findIndex((step) => step >= moment.step);
  set({ moment: index < 0 ? shown.story.snapshots.length - 1 : index });
}

function movePlayhead() {
  if (!playhead || !shown.story) return;
  const step = shown.story.snapshots[Math.min(state.moment, shown.story.snapshots.length - 1)];
  playhead.setAttribute("transform", `translate(${place.x(step)} 0)`);
  svg.setAttribute("aria-valuemin", 0);
  svg.setAttribute("aria-valuemax", shown.story.steps.at(-1));
  svg.setAttribute("aria-valuenow", step);
  svg.setAttribute("aria-valuetext", say("step_of", { step, last: shown.story.steps.at(-1) }));
}

// 0, 1, 2, 5, 10, … and the last step, each with room for its number
function ticks(last, x) {
  const steps = [0];
  for (let decade = 1; decade < last; decade *= 10) {
    for (const m of [1, 2, 5]) {
      const step = m * decade;
      if (x(step) - x(steps.at(-1)) >= TICK && x(last) - x(step) >= TICK) steps.push(step);
    }
  }
  return [...steps, last];
}

function smooth(values) {
  const share = Math.min(1, 12 / values.length);
  let mean = values[0];
  return values.map((value) => (mean += Math.max(share, 0.12) * (value - mean)));
}
