// The Attention tab: all heads, one head large, the arithmetic of one of its cells and its report card; or BertViz.

import { askArrays } from "./api.js";
import { Arithmetic } from "./arithmetic.js";
import { BertViz } from "./bertviz.js";
import { mountBridge } from "./bridge.js";
import { about, firstCell, heads, isBertViz, pointOf, question, ready } from "./current.js";
import { chips, make } from "./dom.js";
import { Latest } from "./latest.js";
import { player } from "./live/page.js";
import { Picture } from "./live/picture.js";
import { chooseRun } from "./session.js";
import { on, set, shown, state } from "./store.js";
import { openTab } from "./tabs.js";
import { inLanguage, say } from "./words.js";

const WAYS = ["map", "arcs", "rollout", "head", "model", "neuron"];
const FIGURE = { map: "one_head", arcs: "arcs", rollout: "rollout" };

export function mountAttention(parent) {
  const groups = make("div", { class: "chips" }), ways = make("div", { class: "chips" }), nothing = make("div", { class: "nothing", hidden: true });
  const top = make("div", { class: "attention-top" }, groups, ways);
  const [left, middle, right, below] = ["all-heads", "one-head", "one-cell", "one-report"].map((name) => make("section", { class: name }));
  const views = make("div", { class: "attention-views" }, left, middle, right, below), framed = make("section", { hidden: true });
  parent.append(top, nothing, views, framed);
  const grid = new Picture(left, { className: "grid", about }), one = new Picture(middle, { about }), report = new Picture(below, { className: "report", about });
  report.caption.after(make("small", { class: "report-about" }, say("report_about")));
  const tooLong = make("p", { class: "nothing", hidden: true });
  middle.append(tooLong);
  const arithmetic = new Arithmetic(right), bertviz = new BertViz(framed);
  const exact = new Latest({ ask: ({ path, ...body }) => askArrays(path, body), take: ({ figures, arrays }) => one.show(figures.one_head, arrays), refuse: (sentence) => { one.caption.textContent = sentence; }, most: 24 });

  on(["look", "group", "focus"], () => {
    if (!shown.look) return;
    const stacks = shown.look.heads;
    nothing.hidden = stacks.length > 0;
    top.hidden = !stacks.length;
    views.hidden = !stacks.length || isBertViz();
    framed.hidden = !stacks.length || !isBertViz();
    if (!stacks.length) sayNothing(nothing);
    if (!ready()) return;
    if (state.focus === "rollout" && !heads().rollout) return set({ focus: "map" });
    chips(groups, stacks.map(({ name }) => ({ value: name, text: say(`group.${name}`) })), state.group,
      (group) => set({ group, layer: 0, head: 0, query: null, key: null }), say("which_attention"));
    chips(ways, WAYS.filter((way) => way !== "rollout" || heads().rollout).map((value) => ({ value, text: say(`focus.${value}`), title: say(`focus_help.${value}`) })), state.focus, (focus) => set({ focus }), say("how"));
    const [, layers, count] = heads().shape;
    views.classList.toggle("single", layers * count === 1);
    views.classList.toggle("many", count > 6);
    views.classList.toggle("rolled", state.focus === "rollout");
    below.querySelector(".report-about").hidden = Boolean(shown.story?.checkpoint);
  });
  on(["look", "group"], () => {
    if (!ready()) return;
    if (state.query === null) set(firstCell());
    const { figures, arrays } = shown.look;
    grid.show(figures[`${state.group}/all_heads`], arrays);
    report.show(figures[`${state.group}/report_card`], arrays);
  });
  on(["look", "group", "focus"], () => {
    if (!ready() || isBertViz()) return;
    const spec = shown.look.figures[`${state.group}/${FIGURE[state.focus]}`] ?? null, [, , , rows, columns] = heads().shape;
    one.show(spec, shown.look.arrays);
    tooLong.hidden = Boolean(spec);
    tooLong.textContent = spec ? "" : say("arcs_long", { most: 128, length: Math.max(rows, columns) });
  });
  // of a long input the maps are pooled; the exact one is asked for
  on(["look", "group", "focus", "layer", "head", "snapshot"], (changed) => {
    exact.forget();
    if (!ready() || !heads().pooled || isBertViz() || state.focus === "arcs") return;
    const pooled = shown.look.figures[`${state.group}/${FIGURE[state.focus]}`];
    if (one.figure.spec !== pooled && changed.some((key) => ["layer", "head", "snapshot"].includes(key))) one.show(pooled, shown.look.arrays);
    const rolled = state.focus === "rollout", points = Array.from({ length: state.layer + 1 }, (_, layer) => pointOf(layer));
    exact.want({ path: rolled ? "rollout" : "head", ...question(), ...(rolled ? { points } : { point: pointOf(state.layer), head: state.head }) });
  });
  on(["look", "group", "layer", "head", "snapshot", "theme", "focus"], () => ready() && isBertViz() && bertviz.draw());
  on(["look"], () => arithmetic.outdate());
  on(["look", "group", "layer", "head", "snapshot", "query", "key", "focus"], () => ready() && !isBertViz() && arithmetic.draw());
  linkSidebar();
  mountBridge(parent);
}

// A run without attention: where its own insides are, and which runs have attention.
function sayNothing(element) {
  const attending = shown.runs.filter(({ family }) => !["rnn", "gru", "lstm"].includes(family));
  const button = (text, onclick, on = "") => make("button", { type: "button", class: `chip ${on}`, onclick }, text);
  element.replaceChildren(
    make("p", {}, say("no_attention", { family: say(`a_family.${shown.story.family}`) })),
    make("div", { class: "chips" }, button(say("open_gates"), () => openTab("gates"), "on")),
    make("p", {}, say("attention_elsewhere")),
    make("div", { class: "chips" }, ...attending.map(({ name, title }) => button(inLanguage(title), () => chooseRun(name)))));
}

// Pointing at a token in the sidebar points at its row and column in the maps, and the other way round.
function linkSidebar() {
  const sidebar = (event) => event.target.closest?.(".view-sidebar .token");
  const point = (event) => sidebar(event) && player.point({ source: [...sidebar(event).parentElement.children].indexOf(sidebar(event)) });
  for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, point);
  for (const kind of ["pointerout", "focusout"]) document.addEventListener(kind, (event) => sidebar(event) && player.point(null));
  player.onPoint = (tokens) => {
    document.querySelectorAll(".view-sidebar .token").forEach((token, i) => token.classList.toggle("hot", [tokens?.source ?? []].flat().includes(i)));
  };
}
