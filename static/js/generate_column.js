// One way of writing: its options, what it wrote, and how likely that is as a whole.

import { askArrays } from "./api.js";
import { Controls } from "./controls.js";
import { make } from "./dom.js";
import { choose } from "./generate.js";
import { Latest } from "./latest.js";
import { set, shown, state } from "./store.js";
import { say } from "./words.js";

const ALWAYS = ["strategy", "max_new", "no_repeat", "repetition_penalty"];
const ONLY = { greedy: [], sample: ["temperature", "top_k", "top_p", "seed"], beam: ["beams", "n_best", "length_penalty"] };

export class Column {
  constructor(parent, side, options, arrived) {
    Object.assign(this, { side, options, arrived, answer: null });
    this.problem = make("p", { class: "problem", role: "alert", hidden: true });
    this.text = make("div", { class: "tokens generate-text", role: "group", "aria-label": say("generate.wrote") });
    this.verdict = make("p", { class: "caption", "aria-live": "polite" });
    this.others = make("div", { class: "generate-others" });
    const box = make("div");
    parent.append(make("section", { class: "card generate-column" }, make("h3", {}, say(`generate.way_${side}`)), box, this.problem, this.text, this.verdict, this.others));
    this.controls = new Controls(box, (values, name) => {
      set({ ways: { ...state.ways, [side]: values } });
      if (name === "strategy") this.offer();
    });
    this.offer();
    this.latest = new Latest({
      ask: (question) => askArrays("write", question), take: (answer) => this.take(answer), refuse: (sentence) => this.refuse(sentence), pause: 150,
    });
  }

  // only the options that this strategy looks at; the others keep their values
  offer() {
    const values = state.ways[this.side], strategy = values.strategy ?? "greedy";
    const seen = this.options.filter(({ name }) => ALWAYS.includes(name) || ONLY[strategy].includes(name));
    this.controls.show(seen, values);
    for (const { element, hint } of this.controls.rows.values()) element.title = hint.textContent;
  }

  want() {
    const how = Object.fromEntries(Object.entries(state.ways[this.side]).filter(([name]) => this.controls.rows.has(name)));
    const ask = { run: state.run, text: state.text, held_out: state.text === null ? state.heldOut : null, step: shown.look.steps[state.moment], how };
    this.latest.want(ask);
  }

  take(answer) {
    this.answer = answer;
    this.problem.hidden = true;
    this.controls.clear();
    const [best, ...others] = answer.texts, right = answer.right;
    this.text.replaceChildren(...best.tokens.map((token, at) => make("button", {
      type: "button", class: `said ${mark(right, answer, at)}`, onclick: () => choose(this.side, at), title: say("generate.see_step", { at: at + 1 }),
    }, token === " " ? "␣" : token)));
    this.verdict.textContent = this.words(best);
    this.others.replaceChildren(...others.map(({ tokens, score }) => make("p", {}, make("span", { class: "generate-score" }, score.toFixed(2)), " ", tokens.join(" "))));
    this.arrived();
  }

  words(best) {
    const { right, steps } = this.answer, beam = (state.ways[this.side].strategy ?? "greedy") === "beam";
    const said = [say(beam ? "generate.score_beam" : "generate.score", { score: best.score.toFixed(3).replace("-", "−"), share: shareText(best.score), n: steps.length })];
    if (right) {
      const wrong = right.filter((token, at) => best.tokens[at] !== token).length;
      said.push(wrong ? say("generate.wrong", { wrong, n: right.length }) : say("generate.right", { n: right.length }));
    }
    return said.join(" ");
  }

  mark(at) {
    [...this.text.children].forEach((chip, i) => chip.setAttribute("aria-pressed", String(i === at)));
  }

  refuse(sentence) {
    const named = [...this.controls.rows.keys()].find((name) => sentence.startsWith(`${name} =`));
    if (named && this.controls.complain(named, sentence)) return;
    this.problem.textContent = sentence;
    this.problem.hidden = false;
  }
}

// Right and wrong where that can be said: the same token at the same place; behind the answer, only the end is right.
function mark(right, { texts }, at) {
  if (!right) return "";
  const token = texts[0].tokens[at];
  return token === (right[at] ?? "</s>") ? "right" : at < right.length ? "wrong" : "";
}

export const shareText = (score) => {
  const share = Math.exp(score);
  return share >= 0.001 ? `${(100 * share).toFixed(1)} %` : share.toExponential(1);
};
