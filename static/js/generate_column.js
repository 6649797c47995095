// One way of writing: its options, what it wrote, and how likely that is as a whole.

import { askArrays } from "./api.js";
import { Controls } from "./controls.js";
import { make } from "./dom.js";
import { counted, likelihood, nextButton, probability, question, seen } from "./generate_parts.js";
import { Latest } from "./latest.js";
import { fixed } from "./numbers.js";
import { sentences } from "./sentences.js";
import { set, state } from "./store.js";
import { has, say, sayInto } from "./words.js";

const END = "</s>";
const ALWAYS = ["strategy", "no_repeat", "repetition_penalty"];
const ONLY = { greedy: [], sample: ["temperature", "top_k", "top_p"], beam: ["beams", "n_best", "length_penalty"] };

export const optionName = (name, choice = null) => say(choice ? `generate.strategy.${choice}` : `generate.option.${name}`);
const choose = (side, token) => set({ side, token, node: -1 });

export class Column {
  constructor(parent, side, options, arrived) {
    Object.assign(this, { side, options, arrived, answer: null });
    this.problem = make("p", { class: "problem", role: "alert", hidden: true });
    this.text = make("div", { class: "tokens generate-text", role: "group", "aria-label": say("generate.wrote"), onkeydown: (event) => nextButton(event)?.click() });
    this.verdict = make("p", { class: "caption", "aria-live": "polite" });
    this.others = make("ol", { class: "generate-others", start: 2 });
    const box = make("div");
    parent.append(make("section", { class: "card generate-column" }, make("h3", {}, say(`generate.way_${side}`)), box, this.problem, this.text, this.verdict, this.others));
    this.controls = new Controls(box, (values, name) => {
      set({ ways: { ...state.ways, [side]: values }, node: -1 });
      if (name === "strategy") this.offer();
    }, optionName);
    this.offer();
    this.latest = new Latest({
      ask: (asked) => askArrays("write", asked), take: (answer, asked) => this.take(answer, asked.run), refuse: (sentence) => this.refuse(sentence), pause: 150,
    });
  }

  // only the options that this strategy looks at; the others keep their values
  offer() {
    const values = state.ways[this.side], strategy = values.strategy ?? "greedy";
    const offered = this.options.filter(({ name }) => ALWAYS.includes(name) || ONLY[strategy].includes(name));
    this.controls.show(offered, values);
    for (const { element, hint } of this.controls.rows.values()) element.title = hint.textContent;
  }

  // shared: options that are the same for both columns; complain(name, sentence): about one of those
  want(shared, complain) {
    this.complain = complain;
    const own = Object.entries(state.ways[this.side]).filter(([name]) => this.controls.rows.has(name));
    this.latest.want({ ...question(), how: { ...shared, ...Object.fromEntries(own) } });
  }

  take(answer, run) {
    Object.assign(this, { answer, answered: run });
    this.problem.hidden = true;
    this.controls.clear();
    const [best, ...others] = answer.texts;
    this.text.replaceChildren(...best.tokens.map((token, at) => make("button", {
      type: "button", class: `said ${mark(answer, at)}`, onclick: () => choose(this.side, at), title: say("generate.see_step", { at: at + 1 }), tabindex: at ? -1 : 0,
    }, seen(token))));
    sayInto(this.verdict, this.words(best));
    this.others.replaceChildren(...others.map(({ tokens, score }) => make("li", {}, make("span", { class: "generate-score" }, fixed(score, 2)), " ", tokens.join(" "))));
    this.arrived();
  }

  words(best) {
    const { right, steps, two, full } = this.answer, beam = (state.ways[this.side].strategy ?? "greedy") === "beam";
    const told = counted(beam ? "generate.score_beam" : "generate.score", steps.length, { score: fixed(best.score, 3), share: probability(likelihood(best.score)) });
    const stopped = full === null ? "" : say("generate.full", { most: full });
    if (!right) return sentences(told, stopped);
    const wrong = right.filter((token, at) => best.tokens[at] !== token).length;
    const more = two ? best.tokens.filter((token) => token !== END).length - right.length : 0;
    return sentences(told, wrong ? counted("generate.wrong", wrong, { wrong, n: right.length }) : counted("generate.right", right.length), more > 0 && counted("generate.too_many", more), stopped);
  }

  mark(at) {
    [...this.text.children].forEach((chip, i) => {
      chip.setAttribute("aria-pressed", String(i === at));
      if (at >= 0) chip.tabIndex = i === at ? 0 : -1;
    });
  }

  refuse(sentence) {
    if (this.answered !== state.run) { // nothing of another run stays beside the sentence
      Object.assign(this, { answer: null, answered: state.run });
      for (const part of [this.text, this.verdict, this.others]) part.replaceChildren();
      this.arrived();
    }
    const named = sentence.match(/^(\w+) =/)?.[1], label = `generate.option.${named}`;
    const said = named && has(label) ? sentence.replace(named, say(label)) : sentence; // called as on screen
    if (named && (this.controls.complain(named, said) || this.complain(named, said))) return;
    this.problem.textContent = sentence;
    this.problem.hidden = false;
  }
}

// Right and wrong where that can be said: the same token at the same place, and the end right behind the answer. What a
// stream goes on with is not judged.
function mark({ texts, right, two }, at) {
  if (!right) return "";
  const due = at === right.length ? END : right[at];
  return texts[0].tokens[at] === due ? "right" : two || at < right.length ? "wrong" : "";
}
