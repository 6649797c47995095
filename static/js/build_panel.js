// What is known of one part: its formula, shape and parameters, the names to capture it by, and the numbers in it now.

import { askArrays } from "./api.js";
import { chips, make } from "./dom.js";
import { Latest } from "./latest.js";
import { Picture } from "./live/picture.js";
import { set, state } from "./store.js";
import { format, inLanguage, say, sayInto } from "./words.js";

const PATHS_SHOWN = 24;

export class Panel {
  // select(id): a part whose name was pressed
  constructor(parent, select) {
    this.select = select;
    this.head = make("div", {});
    this.heads = make("div", { class: "chips build-heads", hidden: true });
    this.box = make("div", { hidden: true });
    parent.append(make("aside", { class: "card build-panel", "aria-live": "polite" }, this.head, this.box));
    this.picture = new Picture(this.box, { className: "build-activations" });
    this.picture.plot.before(this.heads);
    this.latest = new Latest({ ask: (question) => askArrays("build/flow", question), take: (answer) => this.take(answer), refuse: (why) => this.refuse(why), pause: 60 });
  }

  // part: as in the plan, with its real path; whose: which of two, where two are compared
  show(part, plan, whose) {
    this.head.replaceChildren(...[
      make("h3", {}, whose + (part.path || plan.family)),
      make("p", { class: "build-kind" }, part.kind === "module" ? part.module : say(part.kind === "input" ? "build.is_input" : "build.is_point")),
      part.meaning ? make("p", {}, inLanguage(part.meaning)) : null,
      part.formula ? make("p", { class: "build-formula" }, ...typeset(part.formula)) : null,
      part.facts ? make("p", { class: "build-facts" }, part.facts) : null,
      part.shape ? shapeOf(part) : null,
      ...weightsOf(part),
      ...this.taps(part),
    ].filter(Boolean));
    this.box.hidden = part.kind !== "point";
    const of = { run: state.run, text: state.text, held_out: state.text === null ? state.heldOut : null };
    if (part.kind === "point") this.latest.want({ ...plan.question, ...of, point: part.path });
    else this.latest.forget();
  }

  taps(part) {
    const found = everyPart(part).filter(({ kind }) => kind === "point").map(({ path }) => path);
    if (!found.length) return [];
    const pattern = part.kind === "point" ? part.path : part.path ? `${part.path}.*` : "*", code = copyable(`core.capture(model, "${pattern}")`);
    if (part.kind === "point") return [code];
    const short = (path) => (part.path && path.startsWith(`${part.path}.`) ? path.slice(part.path.length + 1) : path);
    return [make("div", { class: "build-taps" }, ...found.slice(0, PATHS_SHOWN).map((path) => make("button", { type: "button", class: "token", onclick: () => this.select(path) }, short(path))),
      found.length > PATHS_SHOWN ? make("small", {}, say("build.more", { n: found.length - PATHS_SHOWN })) : null), code];
  }

  take(answer) {
    if (answer === this.answer) return;
    this.answer = answer;
    this.picture.plot.hidden = this.picture.keep.hidden = false;
    this.picture.show(answer.figures.activations, answer.arrays);
    this.drawHeads();
  }

  refuse(why) {
    this.answer = null;
    this.picture.element.hidden = false;
    this.heads.hidden = this.picture.plot.hidden = this.picture.keep.hidden = true;
    sayInto(this.picture.caption, why);
  }

  drawHeads() {
    if (!this.answer) return;
    const { heads, head_axis } = this.answer;
    this.heads.hidden = heads < 2;
    chips(this.heads, Array.from({ length: heads }, (_, i) => ({ value: i, text: String(i) })), Math.min(state.partHead, heads - 1), (partHead) => set({ partHead }), head_axis);
  }
}

export const everyPart = (part) => [part, ...part.rows.flat().flatMap(everyPart)];

const shapeOf = ({ shape, axes }) => make("div", { class: "build-shape" }, ...shape.map((size, i) => make("span", {}, make("b", {}, format(size, ",")), make("small", {}, axes[i] ?? " "))));

function weightsOf({ weights, count, rows }) {
  if (!count && !weights.length) return [];
  const cells = (one) => [one.name, one.shape.map((size) => format(size, ",")).join(" × "), one.same_as ? say("build.same_as", { name: one.same_as }) : format(one.count, ",")];
  const table = weights.length ? make("table", { class: "build-weights" }, ...weights.map((one) => make("tr", {}, ...cells(one).map((text) => make("td", {}, text))))) : null;
  return [table, rows.length || weights.length > 1 || !table ? make("p", { class: "build-count" }, say("parameters", { n: count })) : null];
}

// h_t and h_{t−1} with their index below, 10000^(2i/d) with its power above
const typeset = (formula) => formula.split(/(_\{[^}]*\}|_[A-Za-z0-9]+|\^\([^)]*\))/).map((piece) => {
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
