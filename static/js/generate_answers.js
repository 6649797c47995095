// Answers that are not text: classes, tags, spans, words of the text that answer a question, and words for masks.

import { chips, make } from "./dom.js";
import { nextButton, pictureIn, showIn } from "./generate_parts.js";
import { set, state } from "./store.js";
import { inLanguage, say } from "./words.js";

export const NOWHERE = { spanStart: -9, spanEnd: -9, latticeRow: -9, latticeColumn: -9 }; // no cell is chosen
const ROWS = { // of pictures: their names and classes
  label: [["generate-pair", { classes: "generate-classes", along: "generate-along" }]],
  tags: [["generate-row", { tags: "generate-tags" }], ["generate-lattice", { lattice: "generate-scores", transitions: "generate-transitions" }]],
  spans: [["generate-row", { spans: "generate-spans" }], ["generate-row", { scores: "generate-span-scores" }]],
  answer: [["generate-row", { answer: "generate-answer" }], ["generate-row", { answers: "generate-answers" }]],
  masked: [["generate-fill", { fillings: "generate-fillings", follows: "generate-follows" }]],
};
const COLUMN = 300; // px of the bars of one mask

export class Answer {
  constructor(parent, form) {
    this.form = form;
    this.words = form === "masked" ? wordsIn(parent) : null;
    this.pictures = {};
    for (const [className, pictures] of ROWS[form]) {
      const row = make("section", { class: className });
      parent.append(row);
      for (const [name, figure] of Object.entries(pictures)) this.pictures[name] = pictureIn(row, figure);
    }
    this.chips = make("div", { class: "chips" });
    (this.pictures.lattice ?? this.pictures.scores)?.tools.append(this.chips);
    if (this.words) new ResizeObserver(() => this.answer && this.show()).observe(this.pictures.fillings.element.parentElement);
  }

  take(answer) {
    if (this.answer !== answer) set(NOWHERE);
    this.answer = answer;
    if (this.words) this.offerWords();
    this.show();
    if (this.form === "answer") this.pictures.answer.figure.drawn.then(() => this.reveal());
  }

  show() {
    if (!this.answer) return;
    const { figures, arrays, labels } = this.answer;
    for (const [name, picture] of Object.entries(this.pictures)) showIn(picture, figures[name === "fillings" ? this.fitting() : name], arrays);
    if (this.form === "tags") chips(this.chips, ["scores", "shares"].map((value) => ({ value, text: say(`tags.as_${value}`) })), state.scoresAs, (scoresAs) => set({ scoresAs }), say("tags.as"));
    if (this.form === "spans") chips(this.chips, labels.map((label, value) => ({ value, text: inLanguage(label) })), Math.min(state.spanKind, labels.length - 1), (spanKind) => set({ spanKind }), say("spans.kind"));
  }

  // as many masks side by side as there is room for
  fitting() {
    const { element } = this.pictures.fillings, width = element.hidden ? element.parentElement.clientWidth * 0.6 : element.clientWidth;
    return ["fillings4", "fillings3", "fillings2"].find((name) => name in this.answer.figures && Number(name.at(-1)) * COLUMN <= width) ?? "fillings1";
  }

  // the answer's own words, where the text is longer than the picture
  reveal() {
    const { plot } = this.pictures.answer, [start, end] = this.answer.best.map((at) => 38 + 30 * at);
    if (end + 30 > plot.clientWidth) plot.scrollLeft = start - 20;
  }

  offerWords() {
    const { tokens, open, holes } = this.answer, places = holes.map(({ place }) => place), focused = [...this.words.children].indexOf(document.activeElement);
    const toggle = (place) => set({ masks: places.includes(place) ? places.filter((one) => one !== place) : [...places, place].sort((a, b) => a - b) });
    this.words.replaceChildren(...tokens.map((token, place) => make("button", {
      type: "button", class: "said", disabled: !open.includes(place), "aria-pressed": String(places.includes(place)), "data-place": place, tabindex: place === Math.max(focused, open[0]) ? 0 : -1,
      title: say(places.includes(place) ? "masked.unmask" : "masked.mask", { token }), onclick: () => toggle(place),
    }, places.includes(place) ? "[MASK]" : token)));
    if (focused >= 0) this.words.children[focused]?.focus();
  }
}

function wordsIn(parent) {
  const words = make("div", { class: "tokens generate-text", role: "group", "aria-label": say("masked.words"), onkeydown: nextButton });
  parent.append(make("section", { class: "card generate-words" }, make("h3", {}, say("masked.click")), words));
  return words;
}
