// A model that points at spans: those it found, drawn under the text one within the other, and the scores of all of them.

import { chips, make } from "./dom.js";
import { counted, framed, signed, spoken } from "./generate_parts.js";
import { Heatmap } from "./heatmap.js";
import { kindTone, Lanes } from "./lanes.js";
import { sentences } from "./sentences.js";
import { set, state } from "./store.js";
import { quoted } from "./token_labels.js";
import { inLanguage, say } from "./words.js";

export class Spans {
  constructor(parent) {
    const first = make("section", { class: "generate-row" }), second = make("section", { class: "generate-row" });
    parent.append(first, second);
    this.figure = framed(first, { title: say("spans.title"), name: "spans", view: () => this.lanes, className: "generate-spans" });
    this.lanes = new Lanes(this.figure.body, { select: ({ span }) => span !== undefined && this.choose(this.drawn[span]) });
    this.scores = framed(second, { title: say("spans.scores"), name: "span-scores", view: () => this.map, className: "generate-span-scores" });
    this.chips = make("div", { class: "chips" });
    this.scores.tools.append(this.chips);
    this.map = new Heatmap(this.scores.body, { height: 420, axes: () => ({ rows: say("spans.start"), columns: say("spans.end") }), onSelect: (cell) => this.map.select(cell), describe: (start, end) => this.describe(start, end) });
  }

  take(answer) {
    this.answer = answer;
    this.names = answer.labels.map(inLanguage);
    this.map.selected = null;
    this.show();
  }

  choose([kind, start, end]) {
    this.map.selected = [start, end];
    if (state.spanKind === kind) this.show();
    else set({ spanKind: kind });
  }

  words = (start, end) => this.answer.tokens.slice(start, end + 1).join(" ");

  show() {
    if (!this.answer) return;
    const { tokens, found, right, arrays } = this.answer, same = (a) => (b) => String(a) === String(b), missed = right?.filter((span) => !found.some(same(span))) ?? [];
    this.drawn = [...found, ...missed];
    const sentence = this.told(found, missed);
    const spans = this.drawn.map(([kind, start, end], i) => ({ start, end, name: this.names[kind], tone: kindTone(kind), faint: i >= found.length,
      words: say(i < found.length ? "spans.span" : "spans.missed", { words: this.words(start, end), kind: this.names[kind], score: signed(arrays.scores.value(kind, start, end)) }) }));
    this.lanes.set({ lanes: [{ name: say("spans.text"), cells: tokens.map((text, t) => ({ text, words: say("tags.token_at", { token: text, at: t }) })) }], spans, label: spoken(sentence) });
    this.figure.say(sentence);
    this.drawScores();
  }

  drawScores() {
    const { tokens, found, right, arrays } = this.answer, kind = Math.min(state.spanKind, this.names.length - 1);
    chips(this.chips, this.names.map((text, value) => ({ value, text })), kind, (spanKind) => set({ spanKind }), say("spans.kind"));
    const values = arrays.scores.at(kind), allowed = arrays.can.at(kind), of = found.filter(([one]) => one === kind), possible = Array.from(values.data).filter((_, i) => allowed.data[i]);
    const ordered = possible.filter((score) => score <= 0).sort((a, b) => b - a), best = of.reduce((a, b) => (!a || values.value(b[1], b[2]) > values.value(a[1], a[2]) ? b : a), null);
    const head = best ? counted("spans.best", of.length, { words: quoted(this.words(best[1], best[2]), 60), score: signed(values.value(best[1], best[2])), kind: this.names[kind] }) : say("spans.none_of", { kind: this.names[kind] });
    const sentence = sentences(head, possible.length > 1 && ordered.length > 0 && say("spans.rest", { of: possible.length, score: signed(ordered[0]) }));
    const highest = Math.max(...arrays.scores.data), limit = highest > 0 ? highest : Math.max(1e-6, ...arrays.scores.data.map(Math.abs)); // most spans score far below 0: what is above must be seen
    this.map.set({ values, allowed, rows: tokens, columns: tokens.slice(), kind: "signed", limit, label: spoken(sentence),
      marks: tokens.map((_, row) => (right ?? found).filter(([one, start]) => one === kind && start === row).map(([, , end]) => end)) });
    this.scores.say(sentences(sentence, say(right ? "spans.ring_right" : "spans.ring_found"), say("spans.colours", { limit: limit.toFixed(1) })));
  }

  describe(start, end) {
    const kind = this.names[Math.min(state.spanKind, this.names.length - 1)];
    if (!this.map.data.allowed.value(start, end)) return say("spans.backwards");
    const score = this.map.value(start, end);
    return say(score > 0 ? "spans.tip" : "spans.tip_no", { words: this.words(start, end), kind, score: signed(score, 3) });
  }

  told(found, missed) {
    const inside = found.filter(([, start, end]) => found.some(([, from, to]) => from <= start && end <= to && to - from > end - start));
    const first = counted("spans.found", found.length), deepest = inside.length && inside.reduce((a, b) => (b[2] - b[1] < a[2] - a[1] ? b : a));
    const within = deepest && found.filter(([, from, to]) => from <= deepest[1] && deepest[2] <= to && to - from > deepest[2] - deepest[1]).length;
    const nested = deepest ? counted("spans.nested", inside.length, { words: quoted(this.words(deepest[1], deepest[2]), 60), depth: within }) : "";
    const judged = this.answer.right ? (missed.length ? counted("spans.missing", missed.length) : this.answer.right.length === found.length ? counted("spans.all", found.length) : say("spans.too_many", { n: found.length - this.answer.right.length })) : "";
    return sentences(first, nested, judged);
  }
}
