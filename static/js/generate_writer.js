// A model that writes: two ways of writing side by side on one seed; behind each token what it was chosen from, and where
// the model looked or what its gates did.

import { askJson } from "./api.js";
import { Controls } from "./controls.js";
import { make } from "./dom.js";
import { Column, optionName } from "./generate_column.js";
import { likelihood, pictureIn, probability, seen, showIn } from "./generate_parts.js";
import { fixed } from "./numbers.js";
import { set, shown, state } from "./store.js";
import { say } from "./words.js";

const SIDES = ["a", "b"], SHARED = ["max_new", "seed"]; // the same for both
const FATES = ["won", "kept", "ended", "dropped"]; // of candidates, as the tree's figure numbers them

export class Writer {
  // arrived(): both sides have been answered for the run that was asked for
  constructor(parent, arrived) {
    this.arrived = arrived;
    this.reads = make("p", { class: "generate-reads" });
    this.bar = make("div", { class: "generate-shared" });
    const pair = make("div", { class: "generate-pair" }), step = make("div", { class: "generate-step" }), behind = make("div", { class: "generate-behind" }), below = make("section");
    parent.append(make("div", { class: "generate-top" }, this.reads, this.bar), pair, step, below);
    this.next = pictureIn(step, "generate-shares");
    step.append(behind);
    [this.attended, this.gates, this.tree] = [pictureIn(behind), pictureIn(behind), pictureIn(below, "generate-tree")];
    this.path = make("p", { class: "generate-path", "aria-live": "polite" });
    this.tree.caption.before(this.path);
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
    const column = this.columns?.[state.side], answer = column?.answer;
    if (!answer) return;
    this.controls.clear();
    this.reads.replaceChildren(make("small", {}, say(answer.two ? "generate.reads" : "generate.begins")), " ",
      ...answer.read.map((token) => make("span", { class: "said" }, seen(token))));
    const at = Math.min(state.token, answer.steps.length - 1);
    SIDES.forEach((side) => this.columns[side].mark(side === state.side && state.node < 0 ? at : -1));
    const branching = SIDES.map((side) => this.columns[side]).find((one) => one.answer?.tree.length && (one === column || !answer.tree.length));
    if (branching) set({ treeSide: branching.side });
    showIn(this.tree, branching?.answer.figures.tree, branching?.answer.arrays);
    this.tellPath(answer);
    if (at < 0) return;
    const { figures, arrays } = answer;
    showIn(this.next, figures.next_token, arrays);
    showIn(this.attended, figures.attended, arrays);
    showIn(this.gates, figures.gates, arrays);
  }

  // the text up to the chosen node
  tellPath({ tree, tokens, arrays }) {
    const nodes = tree.flatMap((level, at) => level.map((node) => ({ ...node, level: at }))), chosen = nodes[state.node], way = [];
    this.path.hidden = !chosen;
    if (!chosen) return;
    for (let { id, level, parent } = chosen; ; { id, parent } = tree[--level][parent]) {
      way.unshift(id);
      if (!level) break;
    }
    const fate = say(`generate.fate.${FATES[arrays["node.fate"].value(state.node)]}`);
    this.path.replaceChildren(make("small", {}, say("generate.way_here")), " ", ...way.map((id) => make("span", { class: "said" }, seen(tokens[id]))),
      " ", say("generate.way_score", { score: fixed(chosen.score, 3), share: probability(likelihood(chosen.score)), fate }));
  }
}
