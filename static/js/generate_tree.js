// Beam search as a tree: every candidate at its step, the ones that went on, the ones that ended, and the one that won.
// It can be walked: arrow keys go to the parent, to the likeliest child and among the candidates of a step.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { choose } from "./generate_column.js";
import { framed, likelihood, percent, seen, spoken } from "./generate_parts.js";
import { fixed } from "./numbers.js";
import { set, state } from "./store.js";
import { shortened } from "./token_labels.js";
import { csvLine, Walkable, within } from "./walk.js";
import { say } from "./words.js";

const [WIDE, HIGH, PAD, ROOM] = [96, 26, 14, 66]; // px from step to step, from candidate to candidate, around; for a token

export class Tree {
  constructor(parent) {
    this.figure = framed(parent, { title: say("generate.tree"), name: "beams", view: () => this.walk, csv: () => this.csv() });
    this.walk = new Walkable(this.figure.body, { className: "generate-tree", step: (i, key) => this.step(i, key), select: (i) => this.select(i) });
    this.path = make("p", { class: "generate-path", "aria-live": "polite" });
    this.figure.caption.before(this.path);
  }

  draw(answer, side) {
    this.figure.element.hidden = !answer;
    if (!answer) return;
    Object.assign(this, { answer, side });
    const { tree } = answer, tallest = Math.max(...tree.map((level) => level.length));
    const width = WIDE * (tree.length + 1) + 2 * PAD, height = HIGH * tallest + 2 * PAD;
    this.won = winners(tree, answer);
    this.nodes = tree.flatMap((level, t) => level.map((node, i) => ({ ...node, level: t, place: i, fate: this.won[t] === i ? "won" : node.ended ? "ended" : node.kept ? "kept" : "dropped" })));
    const x = (level) => PAD + WIDE * (level + 1), y = (place) => PAD + HIGH * (place + 0.5);
    const mute = colour.token("--iv-mute"), lines = [], parts = [];
    const root = make("text", { x: PAD, y: y(0) + 5, fill: mute, "font-size": 14 }, shortened(seen(answer.read.at(-1)), 4));
    for (const node of this.nodes) {
      const { level, place, fate } = node, on = fate === "won", chosen = this.chosen(node);
      const from = level ? [x(level - 1) + ROOM, y(node.parent)] : [PAD + 36, y(0)], to = [x(level) - 6, y(place)], bend = (from[0] + to[0]) / 2;
      lines.push(make("path", { d: `M${from}C${bend},${from[1]} ${bend},${to[1]} ${to}`, fill: "none", stroke: colour.token(on ? "--iv-accent" : "--iv-line"), "stroke-width": on ? 2.5 : fate === "dropped" ? 0.8 : 1.6 }));
      const fill = colour.token(on ? "--iv-accent" : fate === "dropped" ? "--iv-mute" : "--iv-ink");
      const element = make("g", { class: "generate-node" },
        make("rect", { x: x(level) - 4, y: y(place) - 12, width: ROOM, height: 24, rx: 5, fill: chosen ? colour.token("--iv-soft") : "transparent" }),
        make("text", { x: x(level), y: y(place) + 5, "font-size": 14, fill, "font-weight": on ? 700 : 400, "text-decoration": fate === "dropped" ? "line-through" : null }, shortened(seen(answer.tokens[node.id]), 7)));
      parts.push({ element, words: this.words(node), box: [x(level) - 4, y(place) - 12, ROOM, 24] });
    }
    const greedy = tree.every((level, t) => this.won[t] === undefined || this.won[t] === 0);
    const sentence = say(greedy ? "generate.tree_greedy" : "generate.tree_differs", {
      seen: this.nodes.length, ended: this.nodes.filter(({ ended }) => ended).length, score: fixed(answer.texts[0].score, 3) });
    this.walk.draw({ width, height, label: `${spoken(sentence)} ${say("generate.tree_keys")}`, shapes: [...lines, root, ...parts.map(({ element }) => element)], parts });
    this.figure.say(sentence);
    this.tell();
  }

  words = (node) => say("generate.node", { token: seen(this.answer.tokens[node.id]), share: percent(node.share), score: fixed(node.score, 2), fate: say(`generate.fate.${node.fate}`) });
  chosen = ({ level, place }) => state.node?.side === this.side && state.node.level === level && state.node.place === place;
  index = (level, place) => this.nodes.findIndex((node) => node.level === level && node.place === place);

  step(i, key) {
    const { level, place, parent } = this.nodes[i], { tree } = this.answer;
    if (key === "ArrowLeft") return level ? this.index(level - 1, parent) : i;
    if (key === "ArrowRight") {
      const child = tree[level + 1]?.findIndex((node) => node.parent === place) ?? -1; // candidates stand in order, the best first
      return child < 0 ? i : this.index(level + 1, child);
    }
    return this.index(level, within(place + (key === "ArrowUp" ? -1 : 1), tree[level].length));
  }

  // a node of the best text is a token of it; of any that went on, what could follow is shown
  select(i) {
    const { level, place, fate } = this.nodes[i];
    if (fate === "won" && level + 1 === this.won.length) return choose(this.side, level);
    return set({ node: { side: this.side, level, place }, token: { side: this.side, at: fate === "won" ? level : state.token.at } });
  }

  // the text up to the chosen node
  tell() {
    const { node } = state, there = node?.side === this.side && this.index(node.level, node.place);
    this.path.hidden = !(there >= 0 && there !== false);
    if (this.path.hidden) return;
    const way = [];
    for (let i = there; ; i = this.index(this.nodes[i].level - 1, this.nodes[i].parent)) {
      way.unshift(this.nodes[i]);
      if (!this.nodes[i].level) break;
    }
    const one = this.nodes[there];
    this.path.replaceChildren(make("small", {}, say("generate.way_here")), " ", ...way.map(({ id }) => make("span", { class: "said" }, seen(this.answer.tokens[id]))),
      " ", say("generate.way_score", { score: fixed(one.score, 3), share: percent(likelihood(one.score)), fate: say(`generate.fate.${one.fate}`) }));
  }

  csv() {
    const lines = this.nodes.map((node) => csvLine([node.level, node.place, node.parent, this.answer.tokens[node.id], node.share, node.score, node.kept, node.ended]));
    return `${["step,place,parent,token,share,score,kept,ended", ...lines].join("\n")}\n`;
  }
}

// The way of the best text through the tree: at each step its place, from its end back to the root.
function winners(tree, { texts, tokens }) {
  const best = texts[0].tokens, length = best.length;
  const follow = (t, place) => (t < 0 ? [] : [...follow(t - 1, tree[t][place].parent), place]);
  for (const [place, node] of (tree[length - 1] ?? []).entries()) {
    if (!node.ended && !node.kept && length < tree.length) continue;
    const way = follow(length - 1, place);
    if (way.every((at, t) => tokens[tree[t][at].id] === best[t])) return way;
  }
  return [];
}
