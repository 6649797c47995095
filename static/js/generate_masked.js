// A model that fills holes: any word can be masked with a click; below, what it would put there, and whether the second
// sentence follows the first.

import { Bars } from "./bars.js";
import { make } from "./dom.js";
import { framed, percent, probability, spoken } from "./generate_parts.js";
import { sentences } from "./sentences.js";
import { set } from "./store.js";
import { quoted } from "./token_labels.js";
import { inLanguage, say } from "./words.js";

export class Masked {
  constructor(parent) {
    this.words = make("div", { class: "tokens generate-text", role: "group", "aria-label": say("masked.words"), onkeydown: (event) => this.walk(event) });
    const pair = make("div", { class: "generate-fill" }), left = make("div"), right = make("div");
    parent.append(make("section", { class: "card generate-words" }, make("h3", {}, say("masked.click")), this.words), pair);
    pair.append(left, right);
    this.figure = framed(left, { title: say("masked.title"), name: "fillings", view: () => this.bars, csv: () => this.bars.csv(["hole", "word", "share"]), className: "generate-fillings" });
    this.bars = new Bars(this.figure.body);
    this.follows = framed(right, { title: say("masked.follows"), name: "next-sentence", view: () => this.pair, csv: () => this.pair.csv(["answer", "share"]), className: "generate-follows" });
    this.pair = new Bars(this.follows.body);
  }

  take(answer) {
    this.answer = answer;
    const holes = answer.holes.map(({ place }) => place), focused = [...this.words.children].indexOf(document.activeElement);
    this.words.replaceChildren(...answer.tokens.map((token, place) => make("button", {
      type: "button", class: "said", disabled: !answer.open.includes(place), "aria-pressed": String(holes.includes(place)), "data-place": place, tabindex: place === Math.max(focused, answer.open[0]) ? 0 : -1,
      title: say(holes.includes(place) ? "masked.unmask" : "masked.mask", { token }), onclick: () => this.toggle(place),
    }, holes.includes(place) ? "[MASK]" : token)));
    if (focused >= 0) this.words.children[focused]?.focus();
    this.show();
  }

  toggle(place) {
    const holes = this.answer.holes.map((hole) => hole.place);
    set({ masks: holes.includes(place) ? holes.filter((one) => one !== place) : [...holes, place].sort((a, b) => a - b) });
  }

  walk(event) {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], open = [...this.words.children].filter((one) => !one.disabled), at = open.indexOf(event.target);
    if (!move || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    open[Math.max(0, Math.min(open.length - 1, at + move))].focus();
  }

  show() {
    if (!this.answer) return;
    const { holes, follows } = this.answer, sentence = this.told(holes);
    this.figure.body.hidden = !holes.length;
    this.figure.lock(!holes.length);
    if (holes.length) {
      this.bars.set({ groups: holes.map(({ place, words, shares, word }) => ({ title: word === null ? say("masked.hole", { at: place }) : say("masked.hole_was", { at: place, word }),
        rows: words.map((name, i) => ({ name, values: [shares[i]], text: percent(shares[i]), strong: name === word, words: say("masked.bar", { word: name, at: place, share: probability(shares[i]), rank: i + 1 }) })) })), label: spoken(sentence) });
    }
    this.figure.say(sentence);
    this.follows.element.hidden = false;
    this.follows.body.hidden = !follows;
    this.follows.lock(!follows);
    if (!follows) return this.follows.say(say("masked.one_sentence"));
    const best = follows.shares[0] >= follows.shares[1] ? 0 : 1, names = follows.labels.map(inLanguage);
    const said = sentences(say("masked.follows_says", { label: names[best], share: follows.shares[best] }), follows.right === null ? "" : say(follows.right === best ? "masked.follows_right" : "masked.follows_wrong"));
    this.pair.set({ groups: [{ title: "", rows: [say("masked.yes"), say("masked.no")].map((name, i) => ({ name, values: [follows.shares[i]], text: percent(follows.shares[i]), strong: i === best, words: `${names[i]}: ${probability(follows.shares[i])}` })) }], label: spoken(said) });
    return this.follows.say(said);
  }

  told(holes) {
    if (!holes.length) return say("masked.none");
    const { place, words, shares } = holes[0], known = holes.filter(({ word }) => word !== null);
    const first = say("masked.best", { word: quoted(words[0]), share: shares[0], at: place });
    if (!known.length) return first;
    const right = known.filter(({ rank }) => rank === 1).length, worst = known.reduce((a, b) => (b.rank > a.rank ? b : a));
    const hardest = { word: quoted(worst.word), rank: worst.rank, share: worst.share };
    if (known.length === 1) return sentences(first, say("masked.known_one", { ...hardest, at: worst.place }));
    return sentences(first, say(right === 1 ? "masked.known_right" : "masked.known", { right, n: known.length }), worst.rank > 1 && say("masked.worst", hardest));
  }
}
