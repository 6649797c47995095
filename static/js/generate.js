// The Generate tab: two ways of writing side by side, and behind each token the distribution it was chosen from.

import { askJson } from "./api.js";
import { make } from "./dom.js";
import { Column } from "./generate_column.js";
import { Looked, Shares } from "./generate_step.js";
import { Tree } from "./generate_tree.js";
import { on, set, shown, state } from "./store.js";
import { say } from "./words.js";

const SIDES = ["a", "b"];

export async function mountGenerate(parent) {
  const { options } = await askJson("write");
  state.ways ??= { a: {}, b: { strategy: "sample", temperature: 1.5 } };
  state.token ??= { side: "a", at: 0 };
  const nothing = make("p", { class: "nothing", hidden: true }), reads = make("p", { class: "generate-reads" });
  const pair = make("div", { class: "generate-pair" }), step = make("div", { class: "generate-step" });
  const below = make("section"), all = make("div", {}, reads, pair, step, below);
  parent.append(nothing, all);
  const columns = Object.fromEntries(SIDES.map((side) => [side, new Column(pair, side, options, show)]));
  const shares = new Shares(step), looked = new Looked(step), tree = new Tree(below);

  on(["look", "story", "moment", "ways"], () => {
    if (!shown.look || !shown.story) return;
    const able = shown.story.writes;
    nothing.hidden = able;
    all.hidden = !able;
    nothing.textContent = able ? "" : say("generate.cannot");
    if (able) SIDES.forEach((side) => columns[side].want());
  });
  on(["token"], show);
  on(["theme"], show);

  function show() {
    const column = columns[state.token.side], answer = column.answer;
    if (!answer) return;
    const at = Math.min(state.token.at, answer.steps.length - 1);
    reads.replaceChildren(make("small", {}, say(answer.two ? "generate.reads" : "generate.begins")), " ",
      ...answer.read.map((token) => make("span", { class: "said" }, token)));
    SIDES.forEach((side) => columns[side].mark(side === state.token.side ? at : -1));
    if (at < 0) return;
    shares.draw(answer, at, state.token.side);
    looked.draw(answer, at);
    const branching = answer.tree.length ? column : SIDES.map((side) => columns[side]).find((one) => one.answer?.tree.length) ?? column;
    tree.draw(branching.answer, branching);
  }
}

export const choose = (side, at) => set({ token: { side, at } });
