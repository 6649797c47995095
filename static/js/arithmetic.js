// How the chosen cell's weight came about at this moment: q · k, scale, bias, mask, softmax; and q · k by dimension.

import { askJson } from "./api.js";
import * as colour from "./colour.js";
import { arithmeticSvg } from "./arithmetic_files.js";
import { about, axes, headName, heads, headTitle, pointOf, question, ready, step } from "./current.js";
import { make } from "./dom.js";
import { Figure } from "./figure.js";
import { Latest } from "./latest.js";
import { brief, fixed, neat } from "./numbers.js";
import { sentences } from "./sentences.js";
import { shown, state } from "./store.js";
import { isolated, quoted } from "./token_labels.js";
import { say, sayInto } from "./words.js";

const HEIGHT = 112, FOOT = 16, SCALE = 52; // px of the bars; below them for the units, beside them for the numbers
const NAMED = 13; // letters of a token beside its place

export class Arithmetic {
  constructor(parent) {
    const name = () => `${state.run}-${state.group}-${headName()}-cell${state.cell?.join("-")}-step${step()}`;
    this.figure = new Figure(parent, { title: say("arithmetic"), className: "arithmetic", about, name, keep: {
      svg: () => arithmeticSvg(this), csv: () => this.csv() } });
    this.where = make("small");
    this.figure.tools.append(this.where);
    this.list = make("dl", { class: "sum" });
    this.bars = make("svg", { class: "terms", role: "img", height: HEIGHT });
    this.heading = make("h4");
    this.sentence = make("p", { class: "cell-caption", "aria-live": "polite" });
    this.card = make("div", { class: "card" }, this.list);
    this.figure.body.append(this.sentence, this.card, this.heading, this.bars);
    this.latest = new Latest({ ask: (body) => askJson("cells", body), take: (found, asked) => this.choose(found, asked), refuse: (sentence) => this.refuse(sentence) });
    new ResizeObserver(() => this.answer && this.paintBars()).observe(this.figure.body);
    this.empty(say("arithmetic_waiting"));
  }

  // no numbers yet, or none to be had: a sentence, and nothing to keep
  empty(sentence) {
    this.answer = null;
    this.figure.element.classList.remove("stale");
    this.sentence.textContent = sentence;
    this.where.textContent = "";
    this.figure.say("");
    for (const part of [this.card, this.heading, this.bars, this.figure.keep]) part.hidden = true;
  }

  // The cell is asked for once, at all moments and in all heads; of a long input only where it is looked at.
  draw() {
    if (!state.cell) return;
    const [query, key] = state.cell, { pooled, points } = heads(), { step: now, ...asked } = question();
    const steps = pooled ? [now] : shown.look.steps;
    const places = pooled ? [pointOf(state.layer)] : points.map((_, layer) => pointOf(layer));
    this.wait(!this.latest.want({ ...asked, steps, points: places, query, key }));
  }

  // what is shown is of another cell until the answer comes
  wait(waiting) {
    this.figure.element.classList.toggle("waiting", waiting);
    this.figure.lock(waiting);
  }

  // what is shown is of another run or input: nobody should read it as this one's
  outdate() {
    this.figure.element.classList.add("stale");
  }

  choose(found, { steps, points, query, key }) {
    if (!ready()) return; // the answer came after the run had been changed
    const layer = points.indexOf(pointOf(state.layer)), answer = found[steps.indexOf(step())]?.[layer]?.[state.head];
    if (answer) this.take(answer, { query, key, step: step() });
  }

  repaint() {
    if (this.answer) this.paintBars();
  }

  take(answer, { query, key, step: at }) {
    this.answer = answer;
    this.wait(false);
    this.figure.element.classList.remove("stale");
    for (const part of [this.card, this.heading, this.bars, this.figure.keep]) part.hidden = false;
    this.where.textContent = shown.story.checkpoint ? headTitle() : say("arithmetic_title", { head: headTitle(), step: at });
    const { rows, columns } = axes(), { kind, dot, scale, terms, bias, kept, score, exp, sum_exp: sum, weight } = answer;
    const names = { query: `${isolated(rows[query], NAMED)} (${query})`, key: `${isolated(columns[key], NAMED)} (${key})` };
    const lines = [["query", say("query"), names.query], ["key", say("key"), names.key], ["dot", say(`sum.${kind}`), dot]];
    if (kind === "dot") lines.push(["scaled", scale === 1 ? say("unscaled") : say("times_scale", { width: terms.length }), dot * scale],
      ["bias", say("plus_bias"), bias ?? say("no_bias")]);
    lines.push(["score", say("score"), score], ["mask", say("mask"), say(kept === null ? "mask_none" : kept ? "mask_keep" : "mask_hide")]);
    lines.push(["exp", say("exp_score"), exp], ["total", say("exp_sum"), sum], ["weight", say("weight"), fixed(weight, 4), weight]);
    this.list.replaceChildren(...lines.flatMap(([part, name, value, exact = value]) => [
      make("dt", { class: part }, name),
      make("dd", { class: part, "data-part": part, title: String(exact), "data-value": String(exact) }, typeof value === "string" ? value : neat(value)),
    ]));
    this.heading.textContent = say(`terms.${kind}`);
    sayInto(this.sentence, say(kept === false ? "cell_hidden" : "cell_caption", { query: quoted(rows[query]), key: quoted(columns[key]), weight }));
    this.paintBars();
  }

  refuse(sentence) {
    this.wait(false);
    this.empty(sentence);
  }

  paintBars() {
    const { terms, q, k, kind } = this.answer, width = this.figure.body.clientWidth;
    if (!width) return;
    const [high, low] = [Math.max(0, ...terms), Math.min(0, ...terms)], each = (width - SCALE) / terms.length;
    const size = (HEIGHT - FOOT - 12) / (high - low || 1), zero = 6 + high * size;
    const [up, down, line] = [colour.css(colour.scale("signed")[235]), colour.css(colour.scale("signed")[20]), colour.token("--iv-mute")];
    this.bars.setAttribute("width", width);
    this.bars.replaceChildren(
      make("line", { x1: SCALE, x2: width, y1: zero, y2: zero, stroke: line, "stroke-opacity": 0.5 }),
      ...terms.map((term, unit) => make("rect", {
        x: SCALE + unit * each + Math.min(1, each * 0.1), width: Math.max(0.5, each - Math.min(2, each * 0.2)), fill: term < 0 ? down : up,
        y: zero - Math.max(0, term) * size, height: Math.max(0.5, Math.abs(term) * size),
      }, make("title", {}, say("terms_tip", { unit, q: fixed(q[unit], 4), k: fixed(k[unit], 4), term: fixed(term, 4) })))));
    const number = (x, y, text, anchor) => make("text", { x, y, "text-anchor": anchor, "font-size": 11, fill: line }, text);
    if (high * size > 12) this.bars.append(number(SCALE - 6, 11, brief(high), "end"));
    if (-low * size > 12) this.bars.append(number(SCALE - 6, zero - low * size + 1, brief(low), "end"));
    this.bars.append(number(SCALE, HEIGHT - 2, "0", "start"), number(width, HEIGHT - 2, String(terms.length - 1), "end"));
    const { few, unit } = halfOf(terms);
    const said = say(`terms_caption.${kind}`, { few, width: terms.length, unit, term: neat(terms[unit]) });
    this.figure.say(sentences(said, this.answer.rotated ? say("rotated") : null));
    this.bars.setAttribute("aria-label", `${say(`terms.${kind}`)}: ${this.figure.caption.textContent}`);
  }

  csv() {
    const { q, k, terms } = this.answer;
    const steps = [...this.list.querySelectorAll("dd")].map((dd) => `"${dd.dataset.part}","${dd.dataset.value.replaceAll('"', '""')}"`);
    const units = terms.map((term, i) => [i, q[i], k[i], term].join(","));
    return [...steps, "", "unit,q,k,term", ...units].join("\n") + "\n";
  }
}

// how few terms make up half of the sum of magnitudes, and which is the largest
function halfOf(terms) {
  const order = terms.map((_, i) => i).sort((a, b) => Math.abs(terms[b]) - Math.abs(terms[a]));
  const half = terms.reduce((sum, term) => sum + Math.abs(term), 0) / 2;
  let sum = 0, few = 0;
  while (few < terms.length && sum < half) sum += Math.abs(terms[order[few++]]);
  return { few, unit: order[0] };
}
