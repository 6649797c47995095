// How the chosen cell's weight came about at this moment: q · k, scale, bias, mask, softmax; and q · k by dimension.

import { askJson } from "./api.js";
import * as colour from "./colour.js";
import { axes, headName, heads, pointOf, question, ready, step } from "./current.js";
import { make } from "./dom.js";
import { Figure } from "./figure.js";
import { Latest } from "./latest.js";
import { shown, state } from "./store.js";
import { pngOf, svgText } from "./svg_files.js";
import { isolated, quoted } from "./token_labels.js";
import { say, sayInto } from "./words.js";

const HEIGHT = 96; // px of the bars
const NAMED = 13; // letters of a token beside its place

export class Arithmetic {
  constructor(parent) {
    const name = () => `${state.run}-${state.group}-${headName()}-cell${state.cell?.join("-")}-step${step()}`;
    this.figure = new Figure(parent, { title: say("arithmetic"), className: "arithmetic", name, keep: {
      png: () => pngOf(svgText(this.bars)), svg: () => svgText(this.bars), csv: () => this.csv() } });
    this.where = make("small");
    this.figure.tools.append(this.where);
    this.list = make("dl", { class: "sum" });
    this.bars = make("svg", { class: "terms", role: "img", height: HEIGHT });
    this.heading = make("h4");
    this.sentence = make("p", { class: "cell-caption", "aria-live": "polite" });
    this.figure.body.append(this.sentence, make("div", { class: "card" }, this.list), this.heading, this.bars);
    this.latest = new Latest({ ask: (body) => askJson("cells", body), take: (found, asked) => this.choose(found, asked), refuse: (sentence) => this.refuse(sentence) });
    new ResizeObserver(() => this.answer && this.paintBars()).observe(this.figure.body);
  }

  // The cell is asked for once, at all moments and in all heads; of a long input only where it is looked at.
  draw() {
    if (!state.cell) return;
    const [query, key] = state.cell, { pooled, points } = heads(), { step: now, ...asked } = question();
    const steps = pooled ? [now] : shown.look.steps;
    const places = pooled ? [pointOf(state.layer)] : points.map((_, layer) => pointOf(layer));
    const waiting = !this.latest.want({ ...asked, steps, points: places, query, key });
    this.figure.element.classList.toggle("waiting", waiting);
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
    this.figure.element.classList.remove("waiting");
    this.where.textContent = say("arithmetic_title", { head: headName(), step: at });
    const { rows, columns } = axes(), { kind, dot, scale, terms, bias, kept, score, exp, sum_exp: sum, weight } = answer;
    const names = { query: `${isolated(rows[query], NAMED)} (${query})`, key: `${isolated(columns[key], NAMED)} (${key})` };
    const lines = [["query", say("query"), names.query], ["key", say("key"), names.key], ["dot", say(`sum.${kind}`), dot]];
    if (kind === "dot") lines.push(["scaled", scale === 1 ? say("unscaled") : say("times_scale", { width: terms.length }), dot * scale],
      ["bias", say("plus_bias"), bias ?? say("no_bias")]);
    lines.push(["score", say("score"), score], ["mask", say("mask"), say(kept === null ? "mask_none" : kept ? "mask_keep" : "mask_hide")]);
    lines.push(["exp", say("softmax"), `${neat(exp)} / ${neat(sum)}`, `${exp} / ${sum}`], ["weight", say("weight"), weight.toFixed(4), weight]);
    this.list.replaceChildren(...lines.flatMap(([part, name, value, exact = value]) => [
      make("dt", { class: part }, name),
      make("dd", { class: part, "data-part": part, title: String(exact), "data-value": String(exact) }, typeof value === "number" ? neat(value) : value),
    ]));
    this.heading.textContent = say(`terms.${kind}`);
    sayInto(this.sentence, say(kept === false ? "cell_hidden" : "cell_caption", { query: quoted(rows[query]), key: quoted(columns[key]), weight }));
    this.paintBars();
  }

  refuse(sentence) {
    this.figure.element.classList.remove("waiting");
    this.sentence.textContent = sentence;
  }

  paintBars() {
    const { terms, q, k, kind } = this.answer, width = this.figure.body.clientWidth;
    if (!width) return;
    const [high, low] = [Math.max(0, ...terms), Math.min(0, ...terms)], each = width / terms.length;
    const size = (HEIGHT - 8) / (high - low || 1), zero = 4 + high * size;
    const [up, down, line] = [colour.css(colour.scale("signed")[235]), colour.css(colour.scale("signed")[20]), colour.token("--iv-mute")];
    this.bars.setAttribute("width", width);
    this.bars.replaceChildren(
      make("line", { x1: 0, x2: width, y1: zero, y2: zero, stroke: line, "stroke-opacity": 0.5 }),
      ...terms.map((term, unit) => make("rect", {
        x: unit * each + Math.min(1, each * 0.1), width: Math.max(0.5, each - Math.min(2, each * 0.2)), fill: term < 0 ? down : up,
        y: zero - Math.max(0, term) * size, height: Math.max(0.5, Math.abs(term) * size),
      }, make("title", {}, say("terms_tip", { unit, q: q[unit], k: k[unit], term })))));
    const { few, unit } = halfOf(terms);
    const said = say(`terms_caption.${kind}`, { few, width: terms.length, unit, term: terms[unit] });
    this.figure.say(this.answer.rotated ? `${said} ${say("rotated")}` : said);
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

function neat(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return value.toFixed(size >= 1000 ? 1 : size >= 1 ? 2 : 4);
}
