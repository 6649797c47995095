// From the head in focus to heads like it in another model: a checkpoint, or any other run, reading the same text.

import { askArrays } from "./api.js";
import { BridgeCard } from "./bridge_card.js";
import { bridgeCsv, bridgeSvg } from "./bridge_files.js";
import { ANOTHER, isCheckpoint, Loader, runOptions } from "./checkpoints.js";
import { about, darkest, headName, heads, isBertViz, pointOf, question, ready } from "./current.js";
import { make } from "./dom.js";
import { Figure } from "./figure.js";
import { Latest } from "./latest.js";
import { sentences } from "./sentences.js";
import { chooseInput, chooseRun } from "./session.js";
import { on, set, shown, state } from "./store.js";
import { inLanguage, say } from "./words.js";

const RECURRENT = ["rnn", "gru", "lstm", "seq2seq"];
const PAUSE_MS = 200;
const titleOf = (name) => inLanguage(shown.runs.find((run) => run.name === name)?.title ?? shown.story.title);

export function mountBridge(parent) {
  const bridge = new Bridge(parent);
  on(["runs", "story"], () => bridge.offer());
  on(["look", "group", "layer", "head", "snapshot", "focus"], () => bridge.follow());
  on(["theme"], () => bridge.answer && bridge.paint());
}

class Bridge {
  constructor(parent) {
    this.where = make("select", { "aria-label": say("bridge.where"), onchange: () => this.choose() });
    this.button = make("button", { type: "button", class: "small load", onclick: () => this.begin() }, say("bridge.find"));
    this.figure = new Figure(parent, { title: say("bridge.title"), className: "bridge", about, name: () => `${state.run}-${headName()}-like`, keep: {
      svg: () => bridgeSvg(this.cards), csv: () => bridgeCsv(this.answer, this.names()) } });
    this.cards = [];
    this.box = make("div", { class: "bridge-cards", role: "list", hidden: true });
    this.body = this.figure.body;
    this.body.append(make("div", { class: "bridge-ask" }, make("small", {}, say("bridge.where")), this.where, this.button));
    this.loader = new Loader(this.body, { onReady: (name) => { this.offer(name); this.search(); }, onLeave: () => { this.where.value = this.target; } });
    this.body.append(this.box);
    this.note = make("small", { class: "bridge-about", hidden: true });
    this.figure.caption.after(this.note);
    this.latest = new Latest({ ask: (body) => askArrays("like", body), take: (answer) => this.take(answer), refuse: (sentence) => this.refuse(sentence), pause: PAUSE_MS, most: 24 });
    this.figure.keep.hidden = true;
    this.figure.say(say("bridge.lead"));
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
    this.figure.element.hidden = !ready() || isBertViz() || state.focus === "rollout";
    if (!this.open || !ready() || this.figure.element.hidden) return;
    if (!/^(encoder\.)?blocks$/.test(heads().name)) return this.refuse(say("bridge.not_this"));
    this.figure.lock(true);
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
    this.box.hidden = this.figure.keep.hidden = this.note.hidden = true;
    this.figure.say(sentence);
  }

  take(answer) {
    this.answer = answer;
    this.asked = { run: state.run, target: this.target, focus: headName() };
    this.paint();
  }

  names = () => ({ run: titleOf(this.asked.run), other: titleOf(this.asked.target) });

  paint() {
    const { of, best, tokens, measures, alike, pooled, arrays } = this.answer, { run, other } = this.names();
    const limit = Math.max(...["of", "best"].map((which) => darkest(arrays[`${which}.weights`]))); // one scale for all
    const mine = { title: run, head: of, tokens: of.tokens, values: arrays["of.weights"].at(0), pooled: pooled[0], measures, limit, focus: true };
    const theirs = best.map((head, i) => ({ title: other, head, tokens, values: arrays["best.weights"].at(i), pooled: pooled[1], measures, limit, alike, beside: of.profile, open: () => this.go(head) }));
    this.box.replaceChildren();
    this.box.hidden = this.figure.keep.hidden = this.note.hidden = false;
    this.box.classList.remove("waiting");
    this.figure.lock(false);
    this.cards = [mine, ...theirs].map((card) => new BridgeCard(this.box, card));
    this.figure.say(this.sentence());
    const left = [...new Set([...of.left_out, ...this.answer.left_out])];
    this.note.textContent = sentences(say("bridge.same_text", { mine: of.tokens.length, theirs: tokens.length }),
      left.length ? say("bridge.left_out", { tokens: left.join(" ") }) : "", say("bridge.formula"));
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
      await chooseRun(target, { ...state, text, heldOut: 0, run: target, snapshot: 0, group, layer, head, cell: null });
    } else if (state.text === null) await chooseInput({ text });
    set({ group, layer, head, cell: null, snapshot: shown.look.steps.length - 1 });
    document.querySelector(".one-head canvas")?.scrollIntoView({ block: "nearest" });
  }
}
