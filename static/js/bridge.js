// From the head in focus to heads like it in another model: a checkpoint, or any other run, reading the same text.

import { askArrays } from "./api.js";
import { ANOTHER, isCheckpoint, Loader, runOptions } from "./checkpoints.js";
import { about, headName, heads, isBertViz, pointOf, question, ready } from "./current.js";
import { make } from "./dom.js";
import { Latest } from "./latest.js";
import { Picture } from "./live/picture.js";
import { fixed } from "./numbers.js";
import { sentences } from "./sentences.js";
import { chooseInput, chooseRun } from "./session.js";
import { on, set, shown, state } from "./store.js";
import { inLanguage, say, sayInto } from "./words.js";

const RECURRENT = ["rnn", "gru", "lstm", "seq2seq"];
const PAUSE_MS = 200;
const titleOf = (name) => inLanguage(shown.runs.find((run) => run.name === name)?.title ?? shown.story.title);

export function mountBridge(parent) {
  const bridge = new Bridge(parent);
  on(["runs", "story"], () => bridge.offer());
  on(["look", "group", "layer", "head", "snapshot", "focus"], () => bridge.follow());
}

class Bridge {
  constructor(parent) {
    this.where = make("select", { "aria-label": say("bridge.where"), onchange: () => this.choose() });
    this.button = make("button", { type: "button", class: "small load", onclick: () => this.begin() }, say("bridge.find"));
    this.cards = [];
    this.box = make("div", { class: "bridge-cards", role: "list", hidden: true });
    this.caption = make("p", { class: "caption", "aria-live": "polite" });
    this.note = make("small", { class: "bridge-about", hidden: true });
    this.element = make("section", { class: "figure bridge" }, make("div", { class: "figure-head" }, make("h3", {}, say("bridge.title"))));
    this.element.append(make("div", { class: "bridge-ask" }, make("small", {}, say("bridge.where")), this.where, this.button));
    this.loader = new Loader(this.element, { onReady: (name) => { this.offer(name); this.search(); }, onLeave: () => { this.where.value = this.target; } });
    this.element.append(this.box, this.caption, this.note);
    parent.append(this.element);
    this.latest = new Latest({ ask: (body) => askArrays("like", body), take: (answer) => this.take(answer), refuse: (sentence) => this.refuse(sentence), pause: PAUSE_MS, most: 24 });
    this.caption.textContent = say("bridge.lead");
  }

  // models with attention: checkpoints first
  offer(target = this.target) {
    const runs = shown.runs.filter(({ checkpoint, family }) => checkpoint || !RECURRENT.includes(family));
    const [others, checkpoints] = [runOptions(runs).slice(0, -1), runOptions(runs).at(-1)];
    this.where.replaceChildren(checkpoints, make("optgroup", { label: say("bridge.runs") }, ...others));
    const known = (name) => runs.some((run) => run.name === name);
    const first = runs.find(({ checkpoint, name }) => checkpoint && name !== state.run) ?? runs.find(({ name }) => name !== state.run) ?? runs[0];
    this.target = known(target) ? target : first?.name;
    this.where.value = this.target;
  }

  choose() {
    this.clear();
    if (this.where.value === ANOTHER) return this.loader.ask();
    this.loader.hide();
    this.target = this.where.value;
  }

  // a checkpoint is loaded first, if its reader agrees
  begin() {
    if (this.where.value === ANOTHER) return this.loader.ask();
    if (isCheckpoint(this.target)) this.loader.offer(this.target);
    else this.search();
  }

  search() {
    this.open = true;
    this.follow();
  }

  // once it has been asked for, the answer goes with the head in focus
  follow() {
    this.element.hidden = !ready() || isBertViz() || state.focus === "rollout";
    if (!this.open || !ready() || this.element.hidden) return;
    if (!/^(encoder\.)?blocks$/.test(heads().name)) return this.refuse(say("bridge.not_this"));
    this.box.classList.add("waiting");
    this.latest.want({ ...question(), point: pointOf(state.layer), head: state.head, where: this.target });
  }

  clear() {
    this.open = false;
    this.latest.forget();
    this.refuse(say("bridge.lead"));
  }

  refuse(sentence) {
    this.answer = null;
    this.box.hidden = this.note.hidden = true;
    this.caption.textContent = sentence;
  }

  take(answer) {
    this.answer = answer;
    this.asked = { run: state.run, target: this.target, focus: headName() };
    this.paint();
  }

  names = () => ({ run: titleOf(this.asked.run), other: titleOf(this.asked.target) });

  paint() {
    const { of, best, tokens, figures } = this.answer, { run, other } = this.names();
    this.cards.forEach((card) => card.remove());
    this.box.replaceChildren();
    this.box.hidden = this.note.hidden = false;
    this.box.classList.remove("waiting");
    this.cards = [this.card(run, of, figures.of), ...best.map((head, i) => this.card(other, head, figures[`best${i}`]))];
    sayInto(this.caption, this.sentence());
    const left = [...new Set([...of.left_out, ...this.answer.left_out])];
    this.note.textContent = sentences(say("bridge.same_text", { mine: of.tokens.length, theirs: tokens.length }),
      left.length ? say("bridge.left_out", { tokens: left.join(" ") }) : "", say("bridge.formula"));
  }

  // one head: its name, how like it is, its map and profile, and the way to it
  card(title, head, spec) {
    const name = `${head.layer}.${head.head}`, mine = head.likeness === undefined;
    const number = mine ? make("small", {}, say("bridge.in_focus")) : make("span", { class: head.likeness < this.answer.alike ? "number poor" : "number", "data-value": String(head.likeness) }, fixed(head.likeness, 2));
    const element = make("div", { class: mine ? "card bridge-card focus" : "card bridge-card", role: "listitem", "data-head": `${head.group}.${name}` },
      make("h4", {}, say("bridge.card", { title, head: name })), number);
    this.box.append(element);
    const picture = new Picture(element, { about, name: () => `${state.run}-${headName()}-like-${name}` });
    picture.show(spec, this.answer.arrays);
    if (head.outside > 0.005) element.append(make("small", {}, say("bridge.outside", { share: head.outside })));
    if (!mine) element.append(make("button", { type: "button", class: "small", onclick: () => this.go(head), "aria-label": say("bridge.open_head", { title, head: name }) }, say("bridge.open")));
    return picture;
  }

  sentence() {
    const { of, best: [first], alike, heads: count, median, measures } = this.answer, { run, other } = this.names();
    const name = ({ layer, head }) => `${layer}.${head}`;
    const words = { mine: name(of), run, theirs: name(first), other, likeness: first.likeness, heads: count, median, alike };
    if (first.likeness < alike) return say("bridge.none", words);
    const share = measures.filter((one) => !["entropy", "distance"].includes(one)).reduce((best, one) => (of.profile[one] > of.profile[best] ? one : best), "previous");
    const told = say("bridge.found", words);
    if (of.profile[share] < shown.look.clear) return told;
    return sentences(told, say("bridge.both", { what: say(`measure.${share}`), mine: of.profile[share], theirs: first.profile[share] }));
  }

  // that head in its own run, with the same text
  async go({ group, layer, head }) {
    const { text } = shown.look, { target } = this.asked;
    if (target !== state.run) {
      await chooseRun(target, { ...state, text, heldOut: 0, run: target, snapshot: 0, group, layer, head, query: null, key: null });
    } else if (state.text === null) await chooseInput({ text });
    set({ group, layer, head, query: null, key: null, snapshot: shown.look.steps.length - 1 });
    document.querySelector(".one-head .plot")?.scrollIntoView({ block: "nearest" });
  }
}
