// A model that writes: two ways of writing side by side on one seed; behind each token what it was chosen from, and where
// the model looked or what its gates did.

import { askJson } from "./api.js";
import { Controls } from "./controls.js";
import { make } from "./dom.js";
import { Column, optionName } from "./generate_column.js";
import { Gates } from "./generate_gates.js";
import { seen } from "./generate_parts.js";
import { Looked, Shares } from "./generate_step.js";
import { Tree } from "./generate_tree.js";
import { set, shown, state } from "./store.js";
import { say } from "./words.js";

const SIDES = ["a", "b"], SHARED = ["max_new", "seed"]; // the same for both

export class Writer {
  // arrived(): both sides have been answered for the run that was asked for
  constructor(parent, arrived) {
    this.arrived = arrived;
    this.reads = make("p", { class: "generate-reads" });
    this.bar = make("div", { class: "generate-shared" });
    const pair = make("div", { class: "generate-pair" }), step = make("div", { class: "generate-step" }), below = make("section");
    parent.append(make("div", { class: "generate-top" }, this.reads, this.bar), pair, step, below);
    this.shares = new Shares(step);
    const behind = make("div", { class: "generate-behind" });
    step.append(behind);
    this.looked = new Looked(behind);
    this.gates = new Gates(behind);
    this.tree = new Tree(below);
    this.ready = askJson("write").then(({ options }) => {
      this.options = options;
      this.controls = new Controls(this.bar, (writing) => set({ writing }), optionName);
      this.columns = Object.fromEntries(SIDES.map((side) => [side, new Column(pair, side, options.filter(({ name }) => !SHARED.includes(name)), () => this.come())]));
    });
  }

  async want() {
    await this.ready;
    if (this.offered !== state.run) {
      this.offered = state.run;
      const usual = (option) => (option.name === "max_new" ? { ...option, default: shown.story.usual_length } : option);
      this.controls.show(this.options.filter(({ name }) => SHARED.includes(name)).map(usual), state.writing);
    }
    const both = { max_new: shown.story.usual_length, ...state.writing };
    for (const side of SIDES) this.columns[side].want(both, (name, sentence) => this.controls.complain(name, sentence));
  }

  come() {
    if (SIDES.every((side) => this.columns[side].answered === state.run)) this.arrived();
    this.show();
  }

  show() {
    const column = this.columns?.[state.token.side], answer = column?.answer;
    if (!answer) return;
    this.controls.clear();
    this.reads.replaceChildren(make("small", {}, say(answer.two ? "generate.reads" : "generate.begins")), " ",
      ...answer.read.map((token) => make("span", { class: "said" }, seen(token))));
    const at = Math.min(state.token.at, answer.steps.length - 1);
    SIDES.forEach((side) => this.columns[side].mark(side === state.token.side && !state.node ? at : -1));
    const branching = SIDES.map((side) => this.columns[side]).find((one) => one.answer?.tree.length && (one === column || !answer.tree.length));
    this.tree.draw(branching?.answer, branching?.side);
    if (at < 0) return;
    const node = state.node && this.columns[state.node.side].answer?.tree[state.node.level]?.[state.node.place];
    if (node?.next) this.shares.drawNode(this.columns[state.node.side].answer, state.node, node.next);
    else this.shares.draw(answer, at, state.token.side);
    this.looked.draw(answer, at);
    this.gates.draw(answer, at);
  }
}
