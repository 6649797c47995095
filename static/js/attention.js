// The Attention tab: all heads, one head large, the arithmetic of one of its cells and its report card; or BertViz.

import { Arithmetic } from "./arithmetic.js";
import { BertViz } from "./bertviz.js";
import { mountBridge } from "./bridge.js";
import { firstCell, heads, isBertViz, ready } from "./current.js";
import { chips, make } from "./dom.js";
import { Grid } from "./grid.js";
import { OneHead } from "./one_head.js";
import { Report } from "./report.js";
import { chooseRun } from "./session.js";
import { on, set, shown, state } from "./store.js";
import { openTab } from "./tabs.js";
import { inLanguage, say } from "./words.js";

const WAYS = ["map", "arcs", "rollout", "head", "model", "neuron"];

export function mountAttention(parent) {
  const groups = make("div", { class: "chips" }), ways = make("div", { class: "chips" }), nothing = make("div", { class: "nothing", hidden: true });
  const top = make("div", { class: "attention-top" }, groups, ways);
  const [left, middle, right, below] = ["all-heads", "one-head", "one-cell", "one-report"].map((name) => make("section", { class: name }));
  const views = make("div", { class: "attention-views" }, left, middle, right, below), framed = make("section", { hidden: true });
  parent.append(top, nothing, views, framed);
  const grid = new Grid(left), one = new OneHead(middle, markToken), arithmetic = new Arithmetic(right), report = new Report(below), bertviz = new BertViz(framed);

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
      (group) => set({ group, layer: 0, head: 0, cell: null }), say("which_attention"));
    chips(ways, WAYS.filter((way) => way !== "rollout" || heads().rollout).map((value) => ({ value, text: say(`focus.${value}`), title: say(`focus_help.${value}`) })), state.focus, (focus) => set({ focus }), say("how"));
    const [, layers, count] = heads().shape;
    views.classList.toggle("single", layers * count === 1);
    views.classList.toggle("many", count > 6);
    views.classList.toggle("rolled", state.focus === "rollout");
  });
  on(["look", "group"], () => ready() && !state.cell && set({ cell: firstCell() }));
  const drawAll = once(() => {
    if (!ready()) return;
    if (isBertViz()) return void bertviz.draw();
    for (const part of [grid, one, report, arithmetic]) part.draw();
  });
  on(["look", "group", "layer", "head", "snapshot", "theme", "focus"], drawAll);
  on(["look"], () => arithmetic.outdate());
  on(["theme"], () => arithmetic.repaint());
  on(["cell"], () => {
    if (!ready() || isBertViz()) return;
    one.select();
    arithmetic.draw();
  });
  linkSidebar(one);
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

// However often it is asked for while a choice takes effect, it is done once, before the page is painted.
function once(work) {
  let asked = false;
  return () => {
    if (!asked) queueMicrotask(() => { asked = false; work(); });
    asked = true;
  };
}

// Pointing at a token in the sidebar points at its row and column in the map, and the other way round.
function linkSidebar(one) {
  const index = (event) => {
    const token = event.target.closest?.(".view-sidebar .token");
    return token ? [...token.parentElement.children].indexOf(token) : null;
  };
  for (const [kind, at] of [["pointerover", index], ["focusin", index], ["pointerout", () => null], ["focusout", () => null]]) {
    document.addEventListener(kind, (event) => {
      if (event.target.closest?.(".view-sidebar .token") && ready() && !isBertViz()) one.pointAt(at(event));
    });
  }
}

function markToken(cell) {
  if (!ready()) return;
  const { queries, keys } = heads();
  const hot = cell ? [queries === "source" ? cell[0] : null, keys === "source" ? cell[1] : null] : [];
  document.querySelectorAll(".view-sidebar .token").forEach((token, i) => token.classList.toggle("hot", hot.includes(i)));
}
