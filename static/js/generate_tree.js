// Beam search as a tree: every candidate at its step, the ones that went on, the ones that ended, and the one that won.
// It can be walked: arrow keys go to the parent, to the likeliest child and among the candidates of a step.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { choose } from "./generate_column.js";
import { framed, likelihood, probability, seen, spoken } from "./generate_parts.js";
import { fixed } from "./numbers.js";
import { set, state } from "./store.js";
import { shortened } from "./token_labels.js";
import { csvLine, Walkable, within } from "./walk.js";
import { say } from "./words.js";

const [BETWEEN, HIGH, PAD, LEGEND, TYPE] = [34, 26, 14, 34, 14]; // px from a token to its children, from candidate to candidate, around, above the tree; of the type
const FATES = ["won", "kept", "ended", "dropped"];
const ruler = document.createElement("canvas").getContext("2d");

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
    const { tree } = answer, name = (id) => shortened(seen(answer.tokens[id]), 7), rootName = shortened(seen(answer.read.at(-1)), 4);
    this.won = winners(tree, answer);
    this.nodes = tree.flatMap((level, t) => level.map((node, i) => ({ ...node, level: t, place: i, name: name(node.id), wide: widthOf(name(node.id)), fate: this.won[t] === i ? "won" : node.ended ? "ended" : node.kept ? "kept" : "dropped" })));
    const rooms = tree.map((_, t) => Math.max(...this.nodes.filter(({ level }) => level === t).map(({ wide }) => wide)));
    const x = rooms.reduce((lefts, room) => [...lefts, lefts.at(-1) + room + BETWEEN], [PAD + widthOf(rootName) + BETWEEN]), y = (place) => LEGEND + HIGH * (place + 0.5);
    const legend = this.legend(), tallest = Math.max(...tree.map((level) => level.length));
    const lines = this.nodes.map(({ level, place, parent, fate }) => {
      const above = level && this.nodes[this.index(level - 1, parent)];
      const from = above ? [x[level - 1] + above.wide + 4, y(parent)] : [PAD + widthOf(rootName) + 4, y(0)], to = [x[level] - 5, y(place)], bend = (from[0] + to[0]) / 2;
      return make("path", { d: `M${from}C${bend},${from[1]} ${bend},${to[1]} ${to}`, fill: "none", stroke: colour.token(fate === "won" ? "--iv-accent" : "--iv-mute"), "stroke-width": fate === "won" ? 2.5 : 1.2, "stroke-opacity": fate === "dropped" ? 0.5 : 1, "stroke-dasharray": fate === "dropped" ? "2 3" : null });
    });
    const parts = this.nodes.map((node) => {
      const box = [x[node.level] - 4, y(node.place) - 12, Math.max(node.wide + 8, 20), 24];
      const ground = make("rect", { x: box[0], y: box[1], width: box[2], height: box[3], rx: 5, fill: this.chosen(node) ? colour.token("--iv-soft") : "transparent" });
      return { element: make("g", { class: "generate-node" }, ground, label(x[node.level], y(node.place) + 5, node.fate, node.name)), words: this.words(node), box };
    });
    const greedy = tree.every((level, t) => this.won[t] === undefined || this.won[t] === 0);
    const sentence = say(greedy ? "generate.tree_greedy" : "generate.tree_differs", {
      seen: this.nodes.length, ended: this.nodes.filter(({ ended }) => ended).length, score: fixed(answer.texts[0].score, 3) });
    const root = make("text", { x: PAD, y: y(0) + 5, fill: colour.token("--iv-mute"), "font-size": TYPE }, rootName), width = Math.max(x.at(-1) - BETWEEN + PAD, legend.width);
    this.walk.draw({ width, height: LEGEND + HIGH * tallest + PAD, label: `${spoken(sentence)} ${say("generate.tree_keys")}`, shapes: [...legend.shapes, ...lines, root, ...parts.map(({ element }) => element)], parts });
    this.figure.say(sentence);
    this.tell();
  }

  // what the letters' looks mean, of those that are there
  legend() {
    const shapes = [];
    let at = PAD;
    for (const fate of FATES.filter((one) => this.nodes.some((node) => node.fate === one))) {
      const words = say(`generate.fate.${fate}`);
      shapes.push(label(at, 15, fate, words));
      at += widthOf(words) + 24;
    }
    return { shapes, width: at };
  }

  words = (node) => say("generate.node", { token: seen(this.answer.tokens[node.id]), share: probability(node.share), score: fixed(node.score, 2), fate: say(`generate.fate.${node.fate}`) });
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
      " ", say("generate.way_score", { score: fixed(one.score, 3), share: probability(likelihood(one.score)), fate: say(`generate.fate.${one.fate}`) }));
  }

  csv() {
    const lines = this.nodes.map((node) => csvLine([node.level, node.place, node.parent, this.answer.tokens[node.id], node.share, node.score, node.kept, node.ended]));
    return `${["step,place,parent,token,share,score,kept,ended", ...lines].join("\n")}\n`;
  }
}

// a token as its fate has it
function label(x, y, fate, text) {
  const fill = colour.token({ won: "--iv-accent", dropped: "--iv-mute" }[fate] ?? "--iv-ink");
  return make("text", { x, y, "font-size": TYPE, fill, "font-weight": fate === "won" ? 700 : 400, "font-style": fate === "ended" ? "italic" : null, "text-decoration": fate === "dropped" ? "line-through" : null }, text);
}

function widthOf(text) {
  ruler.font = `700 ${TYPE}px system-ui, "Noto Sans CJK SC", sans-serif`;
  return ruler.measureText(text).width;
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
