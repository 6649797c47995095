// How the chosen cell's weight came about: q · k, scale, bias, mask, softmax as numbers, and q · k by dimension as a figure.

import { askArrays } from "./api.js";
import { about, axes, headName, heads, headTitle, pointOf, question, ready, step } from "./current.js";
import { make } from "./dom.js";
import { Latest } from "./latest.js";
import { csvOf } from "./live/exports.js";
import { Picture } from "./live/picture.js";
import { fixed, neat } from "./numbers.js";
import { shown, state } from "./store.js";
import { isolated, quoted } from "./token_labels.js";
import { say, sayInto } from "./words.js";

const NAMED = 13; // letters of a token beside its place

export class Arithmetic {
  constructor(parent) {
    this.where = make("small");
    this.list = make("dl", { class: "sum" });
    this.sentence = make("p", { class: "cell-caption", "aria-live": "polite" });
    this.card = make("div", { class: "card" }, this.list);
    this.element = make("div", { class: "figure arithmetic" }, make("div", { class: "figure-head" }, make("h3", {}, say("arithmetic")), make("div", { class: "figure-tools" }, this.where)), this.sentence, this.card);
    parent.append(this.element);
    this.bars = new Picture(this.element, { className: "terms", about, csv: (figure) => this.csv(figure),
      name: () => `${state.run}-${state.group}-${headName()}-cell${state.query}-${state.key}-step${step()}` });
    this.latest = new Latest({ ask: (body) => askArrays("cells", body), take: (answer, asked) => this.take(answer, asked), refuse: (sentence) => this.refuse(sentence) });
    this.empty(say("arithmetic_waiting"));
  }

  // no numbers yet, or none to be had: a sentence, and nothing to keep
  empty(sentence) {
    this.answer = null;
    this.element.classList.remove("stale");
    this.sentence.textContent = sentence;
    this.where.textContent = "";
    this.card.hidden = true;
    this.bars.show(null);
  }

  // The cell is asked for once, at all snapshots and in all heads; of a long input only where it is looked at.
  draw() {
    if (state.query === null) return;
    const { pooled, points } = heads(), { step: now, ...asked } = question();
    const steps = pooled ? [now] : shown.look.steps;
    const places = pooled ? [pointOf(state.layer)] : points.map((_, layer) => pointOf(layer));
    this.wait(!this.latest.want({ ...asked, steps, points: places, query: state.query, key: state.key }));
  }

  // what is shown is of another cell until the answer comes
  wait(waiting) {
    this.element.classList.toggle("waiting", waiting);
    for (const button of this.bars.keep.children) button.disabled = waiting;
  }

  // what is shown is of another run or input: nobody should read it as this one's
  outdate() {
    this.element.classList.add("stale");
  }

  take(answer, { steps, points, query, key }) {
    if (!ready()) return; // the answer came after the run had been changed
    const at = [steps.indexOf(step()), points.indexOf(pointOf(state.layer)), state.head];
    if (at.includes(-1)) return;
    this.wait(false);
    this.element.classList.remove("stale");
    this.card.hidden = false;
    this.where.textContent = shown.story.checkpoint ? headTitle() : say("arithmetic_title", { head: headTitle(), step: step() });
    if (this.answer !== answer) this.bars.show(answer.figures.terms, answer.arrays);
    this.answer = answer;
    this.write({ query, key }, (name) => answer.arrays[name].value(...at), answer.arrays.terms.shape.at(-1));
  }

  write({ query, key }, number, width) {
    const { rows, columns } = axes(), { kind } = this.answer, scale = number("scale"), bias = number("bias"), kept = number("kept"), weight = number("weight");
    const names = { query: `${isolated(rows[query], NAMED)} (${query})`, key: `${isolated(columns[key], NAMED)} (${key})` };
    const lines = [["query", say("query"), names.query], ["key", say("key"), names.key], ["dot", say(`sum.${kind}`), number("dot")]];
    if (kind === "dot") lines.push(["scaled", scale === 1 ? say("unscaled") : say("times_scale", { width }), number("dot") * scale],
      ["bias", say("plus_bias"), Number.isNaN(bias) ? say("no_bias") : bias]);
    lines.push(["score", say("score"), number("score")], ["mask", say("mask"), say(Number.isNaN(kept) ? "mask_none" : kept ? "mask_keep" : "mask_hide")]);
    lines.push(["exp", say("exp_score"), number("exp")], ["total", say("exp_sum"), number("sum_exp")], ["weight", say("weight"), fixed(weight, 4), weight]);
    this.list.replaceChildren(...lines.flatMap(([part, name, value, exact = value]) => [
      make("dt", { class: part }, name),
      make("dd", { class: part, "data-part": part, title: String(exact), "data-value": String(exact) }, typeof value === "string" ? value : neat(value)),
    ]));
    sayInto(this.sentence, say(kept === 0 ? "cell_hidden" : "cell_caption", { query: quoted(rows[query]), key: quoted(columns[key]), weight }));
  }

  refuse(sentence) {
    this.wait(false);
    this.empty(sentence);
  }

  // the steps of the sum, then the terms
  csv(figure) {
    const steps = [...this.list.querySelectorAll("dd")].map((dd) => `"${dd.dataset.part}","${dd.dataset.value.replaceAll('"', '""')}"`);
    return `${steps.join("\n")}\n\n${csvOf(figure)}`;
  }
}
