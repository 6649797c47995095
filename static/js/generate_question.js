// A model that answers with words of the text: the score of every token as the answer's first and last, and the best spans.

import { Bars } from "./bars.js";
import * as colour from "./colour.js";
import { make } from "./dom.js";
import { framed, percent, probability, signed, spoken } from "./generate_parts.js";
import { sentences } from "./sentences.js";
import { quoted, shortened } from "./token_labels.js";
import { csvLine, Walkable, within } from "./walk.js";
import { say } from "./words.js";

const COLUMN = 30, HIGH = 180, NAMES = 92, LEGEND = 26, EDGE = 34; // px

export class Question {
  constructor(parent) {
    const first = make("section", { class: "generate-row" }), second = make("section", { class: "generate-row" });
    parent.append(first, second);
    this.figure = framed(first, { title: say("answer.title"), name: "answer", view: () => this.walk, csv: () => this.csv(), className: "generate-answer" });
    this.walk = new Walkable(this.figure.body, { className: "answer-scores", step: (i, key) => within(i + (key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1), this.answer.tokens.length) });
    this.list = framed(second, { title: say("answer.spans"), name: "answers", view: () => this.bars, csv: () => this.listCsv(), className: "generate-answers" });
    this.bars = new Bars(this.list.body);
  }

  take(answer) {
    this.answer = answer;
    this.show();
    this.walk.reveal(this.walk.parts[answer.best[1]].box);
    this.walk.reveal(this.walk.parts[answer.best[0]].box);
  }

  words = ([start, end]) => this.answer.tokens.slice(start, end + 1).join(" ");

  show() {
    if (!this.answer) return;
    const { best, spans, right } = this.answer, same = right && String(right) === String(best);
    const judged = right ? (same ? say("answer.right") : say("answer.wrong", { words: quoted(this.words(right), 60) })) : "";
    const sentence = sentences(say("answer.says", { words: quoted(this.words(best), 60), share: spans[0].share }), judged);
    this.draw(sentence);
    this.figure.say(sentence);
    const rows = spans.map(({ span, share, score }, i) => ({ name: this.words(span), values: [share], text: percent(share), strong: i === 0, words: say("answer.span", { words: this.words(span), share: probability(share), score: signed(score) }) }));
    const next = spans[1] ? say("answer.next", { words: quoted(this.words(spans[1].span), 60), share: spans[1].share }) : "";
    this.bars.set({ groups: [{ title: "", rows }], label: spoken(next) });
    this.list.say(next);
  }

  // two bars over every token, from a common zero; the best span stands on its own ground
  draw(sentence) {
    const { tokens, best, arrays } = this.answer, scores = arrays.scores, most = Math.max(1, ...scores.data), least = Math.min(-0.5, ...scores.data);
    const [ink, mute, accent, amber, soft, line] = ["--iv-ink", "--iv-mute", "--iv-accent", "--iv-amber", "--iv-soft", "--iv-line"].map(colour.token);
    const y = (score) => LEGEND + ((most - score) / (most - least)) * HIGH, x = (t) => EDGE + t * COLUMN, width = EDGE + tokens.length * COLUMN + 4, height = LEGEND + HIGH + NAMES;
    const text = (at, high, size, fill, said, more = {}) => make("text", { x: at, y: high, "font-size": size, fill, ...more }, said);
    const shapes = [make("rect", { x: x(best[0]), y: LEGEND, width: (best[1] - best[0] + 1) * COLUMN, height: HIGH + NAMES, fill: soft, rx: 6 }),
      make("rect", { x: EDGE, y: 6, width: 12, height: 9, fill: accent }), text(EDGE + 17, 15, 13, mute, say("answer.first")),
      make("rect", { x: EDGE + 110, y: 6, width: 12, height: 9, fill: amber }), text(EDGE + 127, 15, 13, mute, say("answer.last")),
      make("line", { x1: EDGE, x2: width, y1: y(0), y2: y(0), stroke: line }),
      ...[most, 0, least].map((score) => text(EDGE - 5, y(score) + 4, 11.5, mute, score ? signed(score, 1) : "0", { "text-anchor": "end" }))];
    const parts = tokens.map((token, t) => {
      const bar = (row, left, fill) => make("rect", { x: left, y: Math.min(y(0), y(scores.value(row, t))), width: 10, height: Math.max(1, Math.abs(y(scores.value(row, t)) - y(0))), fill });
      const inside = t >= best[0] && t <= best[1];
      const element = make("g", {}, make("rect", { x: x(t), y: LEGEND, width: COLUMN, height: HIGH + NAMES, fill: "transparent" }), bar(0, x(t) + 4, accent), bar(1, x(t) + 16, amber),
        make("text", { transform: `translate(${x(t) + COLUMN / 2 + 5} ${LEGEND + HIGH + 8}) rotate(-90)`, "text-anchor": "end", "font-size": 13, fill: inside ? accent : ink, "font-weight": inside ? 700 : 400 }, shortened(token, 11)));
      return { element, box: [x(t), LEGEND, COLUMN, HIGH + NAMES - 4], words: say("answer.tip", { token, first: signed(scores.value(0, t), 3), last: signed(scores.value(1, t), 3) }) };
    });
    this.walk.draw({ width, height, label: spoken(sentence), shapes: [...shapes, ...parts.map(({ element }) => element)], parts });
  }

  csv() {
    const { tokens, arrays } = this.answer;
    return `${["token,first,last", ...tokens.map((token, t) => csvLine([token, arrays.scores.value(0, t), arrays.scores.value(1, t)]))].join("\n")}\n`;
  }

  listCsv() {
    return `${["words,start,end,share,score", ...this.answer.spans.map(({ span, share, score }) => csvLine([this.words(span), ...span, share, score]))].join("\n")}\n`;
  }
}
