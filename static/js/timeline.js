// The run's learning at the foot of the page: loss, accuracy, moments, and the playhead that moves every picture.

import { pointOf, ready } from "./current.js";
import { make } from "./dom.js";
import { spreadOut } from "./lines.js";
import { on, set, shown, state } from "./store.js";
import { brokenAt, curve, highest, lastStep, scaleOf, ticks } from "./timeline_curves.js";
import { afterClick, isField, watchFocus } from "./time_keys.js";
import { BESIDE, placeWords, together } from "./timeline_moments.js";
import { mountUntrained } from "./untrained.js";
import { inLanguage, say } from "./words.js";

const PLAY_MS = 260, TICK = 44; // ms per snapshot; px between two numbers below the curves
const [KNOB, BOTTOM, LEFT, RIGHT, RIGHT_WIDE] = [16, 28, 64, 164, 196]; // px around the curves; above them the playhead's knob
const NARROW = 560, WIDE = 1600; // px of the whole from which there is room for names beside the curves, and for larger type
const ALIKE = 0.15; // held-out and training accuracy closer than this share one name
const ruler = document.createElement("canvas").getContext("2d");
let svg, playhead, playButton, tip, timer = null, place = null, drawnRun = null, drawnFocus = null;

export function mountTimeline(parent) {
  playButton = make("button", { type: "button", class: "play", onclick: toggle, "aria-label": say("play"), title: say("play_hint") }, "▶");
  svg = make("svg", { class: "timeline", role: "slider", tabindex: 0, "aria-label": say("timeline") });
  tip = make("div", { class: "tip timeline-tip", role: "status", hidden: true });
  parent.append(make("div", { class: "timeline-box" }, playButton, svg, tip));
  mountUntrained(parent.lastChild);
  svg.addEventListener("pointerdown", (event) => { svg.setPointerCapture(event.pointerId); seek(event); });
  svg.addEventListener("pointermove", (event) => { if (event.buttons) seek(event); });
  new ResizeObserver(() => shown.story && draw()).observe(svg);
  on(["story"], () => {
    if (drawnRun !== shown.story.name) stop(); // a run that is being trained comes again and again
    drawnRun = shown.story.name;
    draw();
  });
  on(["snapshot"], movePlayhead);
  on(["look", "group", "layer", "head"], () => { // the head in focus has its moment named
    if (shown.story && drawnFocus !== focus() && shown.story.moments.some(({ head }) => head === focus())) draw();
  });
  document.addEventListener("pointerdown", (event) => { if (!event.target.closest?.(".moment")) tip.hidden = true; });
  watchFocus();
  document.addEventListener("keydown", (event) => afterClick(event.target) && keys(event), true); // before whoever was clicked
  document.addEventListener("keydown", (event) => afterClick(event.target) || keys(event));
}

function keys(event) {
  if (!svg.getClientRects().length) return; // not on the page now: other keys have the word
  if (isField(event.target) || event.ctrlKey || event.metaKey) return;
  const clicked = afterClick(event.target);
  if (!clicked && event.target.closest?.("[role=radiogroup], [role=tab], canvas")) return;
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
  const last = shown.story.snapshots.length - 1;
  if (state.snapshot === last) set({ snapshot: 0 });
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

function seek(event) {
  if (!place) return;
  stop();
  const x = event.clientX - svg.getBoundingClientRect().left;
  const distances = shown.story.snapshots.map((step) => Math.abs(place.x(step) - x));
  set({ snapshot: distances.indexOf(Math.min(...distances)) });
}

function draw() {
  const { clientWidth: width, clientHeight: height } = svg;
  if (!width) return;
  const { story } = shown, last = lastStep(story);
  ruler.font = getComputedStyle(svg).font;
  const narrow = width < NARROW, left = narrow ? 14 : Math.max(LEFT, widthOf(say("chance")) + 14), right = narrow ? 20 : width < WIDE ? RIGHT : RIGHT_WIDE;
  const inner = width - left - right, foot = height - BOTTOM, x = scaleOf(story, left, inner), most = highest(story.loss);
  const told = worded(story, x, left, left + inner, narrow), line = Math.ceil(parseFloat(ruler.font.match(/[\d.]+px/)) * 1.15);
  const rows = narrow ? 1 : Math.max(0, ...told.map(({ where }) => (where ? where.row + 1 : 0))), top = rows * line + KNOB + 4;
  const yLoss = (loss) => top + (foot - top) * (1 - Math.min(1.05, loss / most));
  const yAccuracy = (accuracy) => top + (foot - top) * (1 - accuracy);
  const loss = curve(story.loss, story.steps, x, yLoss), accuracy = curve(story.accuracies, story.steps, x, yAccuracy);
  place = { x, top, foot, left, end: left + inner, narrow, line };
  playhead = make("g", { class: "playhead" }, make("line", { y1: top - 8, y2: foot + 4 }), make("circle", { cy: top - 8, r: 6 }));
  playButton.disabled = story.snapshots.length < 2;
  svg.replaceChildren(
    ...chance(story, yAccuracy),
    ...[[loss, yLoss, "loss"], [accuracy, yAccuracy, "accuracy"]].flatMap(([line, y, name]) => drawn(line, y, name)),
    ...ticks(last, x, TICK).map((step) => make("text", { x: x(step), y: height - 6, class: "tick" }, String(step))),
    ...story.snapshots.map((step) => make("line", { x1: x(step), x2: x(step), y1: foot, y2: foot + 4, class: "snap" })),
    ...told.map(drawMoment), ...broken(story),
    ...(narrow ? namesAbove(loss, accuracy) : names(story, loss, accuracy, yLoss, yAccuracy)),
    ...(isShare(story.accuracy) ? [make("circle", { cx: left + inner, cy: yAccuracy(story.accuracy), r: 4, class: "held-out" },
      make("title", {}, say("held_out_share", { share: story.accuracy })))] : []),
    ...(loss.count || accuracy.count ? [] : [make("text", { x: left + inner / 2, y: (top + foot) / 2, class: "tick" }, say("nothing_trained"))]),
    playhead,
  );
  movePlayhead();
}

const isShare = (value) => typeof value === "number";

// a curve of one point is a point
function drawn({ path, count, end, at }, y, name) {
  if (!count) return [];
  return count === 1 ? [make("circle", { cx: at, cy: y(end), r: 3, class: `${name} alone` })] : [make("path", { d: path, class: name })];
}

function chance(story, y) {
  if (!isShare(story.chance)) return [];
  const { left, end, narrow } = place, at = y(story.chance);
  return [
    make("line", { x1: left, x2: end, y1: at, y2: at, class: "chance" }),
    make("text", { x: narrow ? left : left - 8, y: narrow ? at - 4 : at + 4, class: narrow ? "name" : "name end" }, say("chance")),
  ];
}

// beside the curves' ends, none over another
function names(story, loss, accuracy, yLoss, yAccuracy) {
  const { top, foot, end, line } = place, wanted = [];
  if (accuracy.count) wanted.push({ y: yAccuracy(accuracy.end), text: say("train_accuracy"), kind: "accuracy-name" });
  if (loss.count) wanted.push({ y: yLoss(loss.end), text: say("loss"), kind: "loss-name" });
  if (isShare(story.accuracy) && !(Math.abs(story.accuracy - accuracy.end) <= ALIKE)) wanted.push({ y: yAccuracy(story.accuracy), text: say("held_out"), kind: "held-out-name" });
  wanted.sort((a, b) => a.y - b.y);
  const places = spreadOut(wanted.map(({ y }) => y), line + 1, top, foot);
  return wanted.map(({ text, kind }, i) => make("text", { x: end + 10, y: places[i] + 4, class: `name ${kind}` }, text));
}

// where there is no room beside the curves
function namesAbove(loss, accuracy) {
  const words = [[accuracy, "accuracy-name", say("train_accuracy")], [loss, "loss-name", say("loss")]].filter(([line]) => line.count);
  let at = place.left;
  return words.map(([, kind, text]) => {
    const name = make("text", { x: at, y: 14, class: `name ${kind}` }, `— ${text}`);
    at += 1.12 * widthOf(`— ${text}`) + 16; // one of them is bold
    return name;
  });
}

// from here on the loss is not a number
function broken(story) {
  const step = brokenAt(story), { x, top, foot, end, narrow } = place;
  if (step === null) return [];
  const at = x(step), text = say("loss_broke"), before = at + widthOf(text) + 12 > end;
  return [make("g", { class: "broken" }, make("title", {}, say("loss_broke_at", { step })),
    make("line", { x1: at, x2: at, y1: top, y2: foot }),
    make("path", { d: `M${at - 5},${foot - 5}l10,10m0,-10l-10,10` }),
    narrow ? "" : make("text", { x: before ? at - 9 : at + 9, y: (top + foot) / 2, class: before ? "end" : "" }, text))];
}

const widthOf = (text) => ruler.measureText(text).width;

const focus = () => (ready() ? `${pointOf(state.layer)}.${state.head}` : null);

// all moments by their steps, the most telling first, each with the place of its words, if there is room for them
function worded(story, x, left, end, narrow) {
  drawnFocus = focus();
  const sorted = together(story.moments, drawnFocus).map((all) => ({
    all, moment: all[0], at: x(all[0].step), text: inLanguage(all[0].text) + (all.length > 1 ? ` +${all.length - 1}` : "") }));
  const places = narrow ? [] : placeWords(sorted.map((one) => ({ ...one, width: widthOf(one.text) })), left, end);
  return sorted.map((one, i) => ({ ...one, where: places[i] ?? null }));
}

function drawMoment({ all, moment, at, text, where }) {
  const { top, foot, line } = place, base = where ? top - KNOB - where.row * line - 2 : top, from = where ? base - line + 5 : top;
  const tell = () => showTip(all.map(({ step, text: what }) => say("moment_at", { step, what: inLanguage(what) })).join("\n"), at);
  return make("g", { class: "moment", onpointerenter: tell, onpointerleave: (event) => { if (event.pointerType !== "touch") tip.hidden = true; },
    onpointerdown: (event) => { event.stopPropagation(); jump(moment); tell(); } },
    make("line", { x1: at, x2: at, y1: from, y2: foot + 8, class: "reach" }),
    make("line", { x1: at, x2: at, y1: from, y2: foot }),
    make("polygon", { points: `${at - 5},${foot} ${at},${foot - 6} ${at + 5},${foot} ${at},${foot + 6}` }),
    where ? make("text", { x: where.before ? at - BESIDE : at + BESIDE, y: base, class: where.before ? "end" : "" }, text) : "");
}

function showTip(words, at) {
  tip.textContent = words;
  tip.hidden = false;
  const room = svg.clientWidth - tip.offsetWidth - 8;
  tip.style.left = `${svg.previousSibling.offsetWidth + Math.max(4, Math.min(at + 8, room))}px`;
}

// A moment lies at a step of training; the picture is that of the first snapshot that shows it.
function jump(moment) {
  stop();
  const index = shown.story.snapshots.findIndex((step) => step >= moment.step);
  set({ snapshot: index < 0 ? shown.story.snapshots.length - 1 : index });
}

function movePlayhead() {
  if (!playhead || !shown.story) return;
  const { snapshots } = shown.story, step = snapshots[Math.min(state.snapshot, snapshots.length - 1)] ?? 0;
  playhead.setAttribute("transform", `translate(${place.x(step)} 0)`);
  svg.setAttribute("aria-valuemin", 0);
  svg.setAttribute("aria-valuemax", lastStep(shown.story));
  svg.setAttribute("aria-valuenow", step);
  svg.setAttribute("aria-valuetext", say("step_of", { step, last: lastStep(shown.story) }));
}
