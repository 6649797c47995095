// Beam search as a tree: every candidate at its step, the ones that went on, the ones that ended, and the one that won.

import { make } from "./dom.js";
import { Figure } from "./figure.js";
import { choose } from "./generate.js";
import { state } from "./store.js";
import { pngOf, svgText } from "./svg_files.js";
import { say } from "./words.js";

const [WIDE, HIGH, PAD] = [92, 26, 14]; // px from step to step, from candidate to candidate, around

export class Tree {
  constructor(parent) {
    const keep = { png: () => pngOf(svgText(this.svg)), svg: () => svgText(this.svg), csv: () => this.csv() };
    this.figure = new Figure(parent, { title: say("generate.tree"), keep, name: () => `${state.run}-beams` });
    this.svg = make("svg", { class: "generate-tree", role: "img" });
    this.figure.body.append(this.svg);
  }

  draw(answer, column) {
    this.figure.element.hidden = !answer.tree.length;
    if (!answer.tree.length) return;
    this.answer = answer;
    const { tree, tokens } = answer, tallest = Math.max(...tree.map((level) => level.length));
    const width = WIDE * (tree.length + 1) + 2 * PAD, height = HIGH * tallest + 2 * PAD;
    const won = winners(tree, answer.texts[0].tokens.length, answer);
    const x = (level) => PAD + WIDE * (level + 1), y = (place) => PAD + HIGH * (place + 0.5);
    const parts = [make("text", { x: PAD, y: y(0) + 5, fill: "var(--iv-mute)", "font-size": 14 }, answer.read.at(-1))];
    tree.forEach((level, t) => level.forEach((node, i) => {
      const from = t ? [x(t - 1) + WIDE - 34, y(node.parent)] : [PAD + 26, y(0)], to = [x(t) - 6, y(i)];
      const bend = (from[0] + to[0]) / 2, on = won[t] === i;
      const line = make("path", { d: `M${from}C${bend},${from[1]} ${bend},${to[1]} ${to}`, fill: "none", stroke: on ? "var(--iv-accent)" : "var(--iv-line)", "stroke-width": on ? 2.5 : node.kept || node.ended ? 1.6 : 0.8 });
      const fate = on ? "won" : node.ended ? "ended" : node.kept ? "kept" : "dropped";
      const words = say("generate.node", { token: tokens[node.id], share: (100 * node.share).toFixed(1), score: node.score.toFixed(2).replace("-", "−"), fate: say(`generate.fate.${fate}`) });
      const fill = on ? "var(--iv-accent)" : node.kept || node.ended ? "var(--iv-ink)" : "var(--iv-mute)";
      parts.push(line, make("g", { class: "generate-node", onclick: () => on && choose(column.side, t) }, make("title", {}, words),
        make("text", { x: x(t), y: y(i) + 5, "font-size": 14, fill, "font-weight": on ? 700 : 400, "text-decoration": fate === "dropped" ? "line-through" : null, opacity: fate === "dropped" ? 0.65 : 1 }, short(tokens[node.id]))));
    }));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", height);
    this.svg.replaceChildren(...parts);
    const greedy = tree.every((level, t) => won[t] === undefined || won[t] === 0);
    const sentence = say(greedy ? "generate.tree_greedy" : "generate.tree_differs", {
      seen: tree.reduce((sum, level) => sum + level.length, 0), ended: tree.flat().filter(({ ended }) => ended).length, score: answer.texts[0].score.toFixed(3).replace("-", "−") });
    this.svg.setAttribute("aria-label", sentence.replaceAll("**", ""));
    this.figure.say(sentence);
  }

  csv() {
    const quote = (text) => `"${String(text).replaceAll('"', '""')}"`, { tree, tokens } = this.answer;
    const lines = tree.flatMap((level, t) => level.map((node, i) => [t, i, node.parent, quote(tokens[node.id]), node.share, node.score, node.kept, node.ended].join(",")));
    return `${["step,place,parent,token,share,score,kept,ended", ...lines].join("\n")}\n`;
  }
}

// The way of the best text through the tree: at each step its place, from its end back to the root.
function winners(tree, length, { texts, tokens }) {
  const best = texts[0].tokens;
  const follow = (t, place) => (t < 0 ? [] : [...follow(t - 1, tree[t][place].parent), place]);
  for (const [place, node] of tree[length - 1].entries()) {
    if (!node.ended && !node.kept && length < tree.length) continue;
    const way = follow(length - 1, place);
    if (way.every((at, t) => tokens[tree[t][at].id] === best[t])) return way;
  }
  return [];
}

const short = (token) => (token === " " ? "␣" : token.length > 8 ? `${token.slice(0, 7)}…` : token);
