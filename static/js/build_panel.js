// What is known of one part: its formula, shape and parameters, the names to capture it by, and the numbers in it now.

import { askArrays } from "./api.js";
import { renumbered } from "./build_diagram.js";
import { chips, make } from "./dom.js";
import { Figure } from "./figure.js";
import { Heatmap } from "./heatmap.js";
import { Latest } from "./latest.js";
import { neat } from "./numbers.js";
import { sentences } from "./sentences.js";
import { state } from "./store.js";
import { format, inLanguage, say } from "./words.js";

const PATHS_SHOWN = 24;

export class Panel {
  // question(): what the thumbnail is of, beside the point; select(id)
  constructor(parent, { question, select }) {
    Object.assign(this, { question, select });
    this.head = make("div", {});
    this.heads = make("div", { class: "chips build-heads" });
    this.element = make("aside", { class: "card build-panel", "aria-live": "polite" }, this.head);
    parent.append(this.element);
    this.box = make("div", { hidden: true });
    this.element.append(this.box);
    this.figure = new Figure(this.box, { title: say("build.flowing"), name: () => `${this.path}`, keep: {
      png: () => this.map.png(), svg: () => this.map.svgText(), csv: () => this.map.csv() } });
    this.figure.body.before(this.heads);
    this.map = new Heatmap(this.figure.body, { height: 240, describe: (row, column) => this.tip(row, column) });
    this.latest = new Latest({ ask: (question) => askArrays("build/flow", question), take: (answer) => this.take(answer), refuse: (why) => this.refuse(why), pause: 60 });
    this.flowing = null;
    this.chosenHead = 0;
  }

  // part: as in the plan, with its real path; whose: which of two, where two are compared
  show(part, plan, whose) {
    Object.assign(this, { part, plan, path: part.path });
    this.head.replaceChildren(...[
      make("h3", {}, whose + (part.path || plan.family)),
      make("p", { class: "build-kind" }, part.kind === "module" ? part.module : say(part.kind === "input" ? "build.is_input" : "build.is_point")),
      part.meaning ? make("p", {}, inLanguage(part.meaning)) : null,
      part.formula ? make("p", { class: "build-formula" }, ...typeset(part.formula)) : null,
      part.facts ? make("p", { class: "build-facts" }, part.facts) : null,
      part.shape ? this.shape(part) : null,
      ...this.weights(part),
      ...this.taps(part, plan),
    ].filter(Boolean));
    this.box.hidden = part.kind !== "point";
    if (part.kind === "point") this.latest.want({ ...this.question(), point: part.path });
    else this.latest.forget();
  }

  shape({ shape, axes }) {
    return make("div", { class: "build-shape" }, ...shape.map((size, i) => make("span", {}, make("b", {}, format(size, ",")), make("small", {}, axes[i] ?? " "))));
  }

  weights({ weights, count, rows }) {
    if (!count && !weights.length) return [];
    const cells = (one) => [one.name, one.shape.map((size) => format(size, ",")).join(" × "), one.same_as ? say("build.same_as", { name: one.same_as }) : format(one.count, ",")];
    const table = weights.length ? make("table", { class: "build-weights" }, ...weights.map((one) => make("tr", {}, ...cells(one).map((text) => make("td", {}, text))))) : null;
    const total = make("p", { class: "build-count" }, say("parameters", { n: count }));
    return [table, rows.length || weights.length > 1 || !table ? total : null].filter(Boolean);
  }

  taps(part, plan) {
    const found = [];
    const visit = (one) => { if (one.kind === "point") found.push(one.path); one.rows.flat().forEach(visit); };
    visit(part);
    if (!found.length) return [];
    const pattern = part.kind === "point" ? part.path : part.path ? `${part.path}.*` : "*";
    const code = `core.capture(model, "${pattern}")`;
    const list = part.kind === "point" ? [] : [make("div", { class: "build-taps" }, ...found.slice(0, PATHS_SHOWN).map((path) => make("button", { type: "button", class: "token", onclick: () => this.select(path) }, this.short(path, part))),
      found.length > PATHS_SHOWN ? make("small", {}, say("build.more", { n: found.length - PATHS_SHOWN })) : null)];
    return [...list, copyable(code)];
  }

  short = (path, part) => (part.path && path.startsWith(`${part.path}.`) ? path.slice(part.path.length + 1) : path);

  take(answer) {
    this.flowing = answer;
    this.draw();
  }

  refuse(why) {
    this.flowing = null;
    this.figure.body.hidden = this.heads.hidden = this.figure.keep.hidden = true;
    this.figure.say(why);
  }

  draw() {
    if (!this.flowing || !this.part || this.part.kind !== "point") return;
    const { of, steps, arrays: { values }, shape } = this.flowing, [snapshots, heads, rows, columns] = values.shape;
    this.figure.body.hidden = this.figure.keep.hidden = false;
    this.head_ = Math.min(this.chosenHead, heads - 1);
    this.heads.hidden = heads < 2;
    const axes = this.part.axes, moment = of === "run" ? Math.min(state.snapshot, snapshots - 1) : 0;
    chips(this.heads, Array.from({ length: heads }, (_, i) => ({ value: i, text: String(i) })), this.head_, (value) => { this.chosenHead = value; this.draw(); }, axes[1] ?? "");
    const shown = values.at(moment, this.head_), largest = Math.max(...shown.data.map((v) => (Number.isFinite(v) ? Math.abs(v) : 0)), 1e-9);
    const weight = this.part.path.endsWith(".weights") || this.part.path.endsWith(".mask");
    this.values = shown;
    this.map.set({
      values: shown, rows: this.labels(axes.at(-2), rows), columns: this.labels(axes.at(-1), columns), kind: weight ? "weight" : "signed", limit: weight ? 1 : largest,
      label: say("build.flow_label", { path: this.part.path, shape: shape.join(" × ") }),
    });
    const cut = [[axes.at(-2), rows, shape.at(-2)], [axes.at(-1), columns, shape.at(-1)]].filter(([name, n, all]) => name && name !== "batch" && n < all).map(([name, n, all]) => say("build.cut", { name, n, all }));
    const whose = of === "run" ? say("build.flow_run", { step: steps[moment] }) : say("build.flow_untrained");
    const spread = spreadOf(shown);
    this.figure.say(sentences(whose, say("build.flow_range", { low: spread.low, high: spread.high, mean: spread.mean }), ...cut));
  }

  labels(axis, count) {
    const { source, given } = this.flowing, decoder = this.part.path.startsWith("decoder."), cross = this.part.path.includes("cross.");
    const names = { time: decoder ? given : source, query: decoder ? given : source, start: source, key: decoder && !cross ? given : source, end: source }[axis];
    const plain = Array.from({ length: count }, (_, i) => String(i));
    return names && names.length >= count ? names.slice(0, count) : plain;
  }

  tip(row, column) {
    const axes = this.part.axes, value = this.values.value(row, column);
    return `${axes.at(-2) ?? ""} ${row}, ${axes.at(-1) ?? ""} ${column}: ${Number.isFinite(value) ? neat(value) : "−∞"}`;
  }
}

// h_t and h_{t−1} with their index below, 10000^(2i/d) with its power above
export const typeset = (formula) => formula.split(/(_\{[^}]*\}|_[A-Za-z0-9]+|\^\([^)]*\))/).map((piece) => {
  if (piece.startsWith("_")) return make("sub", {}, piece.slice(1).replace(/[{}]/g, ""));
  return piece.startsWith("^") ? make("sup", {}, piece.slice(2, -1)) : piece;
});

export function copyable(code) {
  const button = make("button", { type: "button", class: "small", onclick: async () => {
    await navigator.clipboard.writeText(code);
    button.textContent = say("build.copied");
    setTimeout(() => { button.textContent = say("build.copy"); }, 1500);
  } }, say("build.copy"));
  return make("div", { class: "build-code" }, make("pre", {}, make("code", {}, code)), button);
}

// The part with this id, renumbered if it stands in a folded group at another index; null if it is not there.
export function findPart(root, id, index) {
  const seek = (part, shift) => {
    const by = part.times > 1 ? index[part.id] ?? 0 : 0, here = by ? [...shift, [part.path, by]] : shift;
    if (part.id === id) return renamed(part, here);
    for (const inner of part.rows.flat()) {
      const found = seek(inner, here);
      if (found) return found;
    }
    return null;
  };
  return seek(root, []);
}

function renamed(part, shift) {
  let path = part.path;
  for (const [from, by] of shift) if (path === from || path.startsWith(`${from}.`)) path = renumbered(from, by) + path.slice(from.length);
  return { ...part, path, rows: part.rows.map((row) => row.map((inner) => renamed(inner, shift))) };
}

function spreadOf({ data }) {
  const finite = [...data].filter(Number.isFinite), mean = finite.reduce((sum, v) => sum + v, 0) / (finite.length || 1);
  return { low: neat(Math.min(...finite)), high: neat(Math.max(...finite)), mean: neat(mean) };
}
