// What the run was asked in its training: an example of its first batches as the model took it, and what it should say.

import { askJson } from "./api.js";
import * as colour from "./colour.js";
import { make } from "./dom.js";
import { counted, framed, spoken } from "./generate_parts.js";
import { kindsOf, kindTone, Lanes } from "./lanes.js";
import { Latest } from "./latest.js";
import { sentences } from "./sentences.js";
import { set, shown, state } from "./store.js";
import { quoted } from "./token_labels.js";
import { inLanguage, say } from "./words.js";

export class Objective {
  constructor(parent) {
    this.figure = framed(parent, { title: say("asked.title"), name: "asked", view: () => this.lanes, about: () => inLanguage(shown.story.title) });
    this.figure.tools.append(make("button", { type: "button", class: "small", onclick: () => set({ asked: state.asked + 1 }) }, say("asked.another")));
    this.lanes = new Lanes(this.figure.body);
    this.latest = new Latest({ ask: (asked) => askJson("objective", asked), take: (answer) => this.take(answer), refuse: (sentence) => this.figure.say(sentence), pause: 30 });
  }

  want() {
    this.latest.want({ run: state.run, number: state.asked % 10000 });
  }

  take(answer) {
    const { lanes, links = [], spans = [], sentence } = FORMS[answer.form](answer);
    const told = sentences(sentence, say("asked.which", { number: answer.number + 1, of: answer.of }));
    this.lanes.set({ lanes, links, spans, label: spoken(told) });
    this.figure.title.textContent = say(`asked.title_${answer.form}`);
    this.figure.say(told);
  }
}

const plain = (tokens) => tokens.map((text, t) => ({ text, words: say("tags.token_at", { token: text, at: t }) }));
const goal = (tokens, key = "asked.should") => tokens.map((text, t) => text === null ? { text: "·", faint: true, words: say("asked.nothing", { at: t }) } : { text, bold: true, tone: colour.token("--iv-accent"), words: say(key, { token: text, at: t }) });
const input = (cells) => ({ name: say("asked.input"), cells });
const target = (cells, own = false) => ({ name: say("asked.target"), cells, own });
// each target is the token that goes in one place later
const shifts = (tokens, wanted, lane) => wanted.flatMap((one, t) => (one !== null && t + 1 < tokens.length ? [{ from: [lane, t + 1], to: [lane + 1, t] }] : []));

function toldSome(wanted) {
  const asked = wanted.filter((one) => one !== null).length;
  return counted("asked.told_some", asked, { asked, n: wanted.length });
}

const FORMS = {
  label: (answer) => ({
    lanes: [input(plain(answer.input)), target([{ text: inLanguage(answer.label), bold: true, tone: colour.token("--iv-accent"), words: say("asked.label", { label: inLanguage(answer.label) }) }], true)],
    sentence: say("asked.told_label", { label: inLanguage(answer.label) }),
  }),
  tags: (answer) => {
    const names = answer.labels.map((label) => label && inLanguage(label)), kinds = kindsOf(answer.names.map(inLanguage));
    const cells = goal(names).map((cell, t) => (names[t]?.includes("-") ? { ...cell, tone: kindTone(kinds.indexOf(names[t].slice(2))) } : { ...cell, tone: null, bold: false }));
    return { lanes: [input(plain(answer.input)), target(cells)], sentence: say("asked.told_tags", { n: names.length, named: names.filter((name) => name?.includes("-")).length }) };
  },
  stream: (answer) => ({
    lanes: [input(plain(answer.input)), target(goal(answer.target))], links: shifts(answer.input, answer.target, 0),
    sentence: sentences(say("asked.told_stream"), answer.target.includes(null) && toldSome(answer.target)),
  }),
  pairs: (answer) => ({
    lanes: [{ name: say("asked.source"), cells: plain(answer.source), own: true }, { name: say("asked.given"), cells: plain(answer.input) }, target(goal(answer.target))],
    links: shifts(answer.input, answer.target, 1), sentence: say("asked.told_pairs", { n: answer.target.length }),
  }),
  masked: (answer) => {
    const tones = { masked: colour.token("--iv-accent"), swapped: colour.token("--iv-bad"), kept: colour.token("--iv-amber") }, count = (fate) => answer.fates.filter((one) => one === fate).length;
    const seen = answer.input.map((text, t) => ({ text, tone: answer.fates[t] && tones[answer.fates[t]], bold: Boolean(answer.fates[t]), words: say(answer.fates[t] ? `asked.fate_${answer.fates[t]}` : "tags.token_at", { token: text, at: t, was: answer.target[t] ?? "" }) }));
    const chosen = answer.target.flatMap((one, t) => (one === null ? [] : [{ from: [1, t], to: [2, t] }]));
    const values = { chosen: chosen.length, masked: count("masked"), swapped: count("swapped"), kept: count("kept") };
    return { lanes: [{ name: say("asked.text"), cells: plain(answer.text) }, input(seen), target(goal(answer.target))], links: chosen,
      sentence: sentences(counted("asked.told_masked", chosen.length, values), say("asked.fates"), answer.follows && say("asked.told_follows", { follows: inLanguage(answer.follows) })) };
  },
  answer: (answer) => {
    const [start, end] = answer.span, words = answer.input.slice(start, end + 1).join(" "), accent = colour.token("--iv-accent");
    const cells = answer.input.map((_, t) => (t === start || t === end ? { text: say(start === end ? "asked.both_ends" : t === start ? "asked.first" : "asked.last"), bold: true, tone: accent, words: say(t === start ? "asked.is_first" : "asked.is_last", { at: t }) } : null));
    return { lanes: [input(plain(answer.input)), target(cells)], spans: [{ start, end, name: say("asked.answer"), tone: accent, words }], sentence: say("asked.told_answer", { words: quoted(words, 60), start, end }) };
  },
  spans: (answer) => {
    const names = answer.labels.map(inLanguage), words = (start, end) => answer.input.slice(start, end + 1).join(" ");
    return { lanes: [input(plain(answer.input))], spans: answer.spans.map(([kind, start, end]) => ({ start, end, name: names[kind], tone: kindTone(kind), words: say("asked.span", { words: words(start, end), kind: names[kind] }) })),
      sentence: say("asked.told_spans", { n: answer.spans.length, pairs: (answer.input.length * (answer.input.length + 1)) / 2, kinds: names.length }) };
  },
};
