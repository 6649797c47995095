// Behind one written token: the distribution it was chosen from, before and after it was narrowed, and where the model looked.

import { Bars } from "./bars.js";
import { counted, framed, percent, probability, seen, spoken } from "./generate_parts.js";
import { Heatmap } from "./heatmap.js";
import { fixed } from "./numbers.js";
import { Tensor } from "./payload.js";
import { csvLine } from "./walk.js";
import { quoted } from "./token_labels.js";
import { say } from "./words.js";

const MOST = 14, FEW = 4, LEAST = 5e-4; // most and fewest bars, and the share from which on there are more than the fewest

export class Shares {
  constructor(parent) {
    this.figure = framed(parent, { title: say("generate.shares"), name: "next-token", view: () => this.bars, csv: () => this.csv() });
    this.bars = new Bars(this.figure.body, { className: "generate-shares" });
  }

  draw(answer, at, side) {
    this.paint(answer, answer.steps[at], say("generate.shares_of", { at: at + 1, side: say(`generate.way_${side}`) }));
  }

  // what could follow a node of the tree
  drawNode(answer, { level, place }, next) {
    this.paint(answer, next, say("generate.shares_node", { token: seen(answer.tokens[answer.tree[level][place].id]), at: level + 1 }));
  }

  paint(answer, step, title) {
    const names = step.ids.map((id) => answer.tokens[id]);
    this.told = { step, names };
    const rows = names.map((name, i) => row(seen(name), step.before[i], step.after[i], step.ids[i] === step.chosen));
    const bars = rows.slice(0, MOST).filter(({ values: [before, after] }, i) => i < FEW || before >= LEAST || after >= LEAST);
    const chosen = rows.find(({ strong }) => strong);
    if (!bars.includes(chosen)) bars[bars.length - 1] = chosen;
    const [before, after] = chosen.values;
    const values = { token: quoted(chosen.name), before, after, left: step.left, of: answer.tokens.length, bits: fixed(step.entropy[0], 2), then: fixed(step.entropy[1], 2) };
    const sentence = counted(step.narrowed ? "generate.shares_narrowed" : "generate.shares_plain", step.left, values);
    this.figure.title.textContent = title;
    this.bars.set({ groups: [{ title: "", rows: bars }], label: `${title}. ${spoken(sentence)}`, legend: [say("generate.before"), say("generate.after")] });
    this.figure.say(sentence);
  }

  csv() {
    const { step, names } = this.told;
    return `${[csvLine(["token", "before", "after"]), ...names.map((name, i) => csvLine([name, step.before[i], step.after[i]]))].join("\n")}\n`;
  }
}

function row(name, before, after, strong) {
  const same = Math.abs(before - after) < 5e-4, ruledOut = after === 0 && before > 0;
  const text = same ? percent(before) : `${percent(before)} → ${ruledOut ? "0" : percent(after)}`;
  return { name, values: [before, after], text, strong, struck: ruledOut, words: say(ruledOut ? "generate.bar_out" : "generate.bar", { token: name, before: probability(before), after: probability(after) }) };
}

export class Looked {
  constructor(parent) {
    this.figure = framed(parent, { title: say("generate.looked"), name: "looked", view: () => this.map });
    this.map = new Heatmap(this.figure.body, { height: 260, axes: () => ({ rows: say("generate.heads"), columns: say("generate.read_tokens") }), describe: (row, column) => say("generate.looked_tip", {
      head: this.rows[row], token: this.columns[column], weight: fixed(this.map.value(row, column), 3) }) });
  }

  // rows: heads of the attention that reads the source, or else the text; columns: what they could look at
  draw(answer, at) {
    const group = answer.groups.find(({ name }) => name === "cross") ?? answer.groups[0];
    this.figure.element.hidden = !group;
    if (!group) return;
    const [layers, heads, , keys] = group.shape, all = answer.arrays[`${group.name}.weights`];
    const read = answer.read.map(seen), wrote = answer.texts[0].tokens.map(seen);
    const columns = group.name === "cross" ? read.slice(0, keys) : [...read, ...wrote].slice(0, Math.min(keys, read.length + at));
    const values = new Float32Array(layers * heads * columns.length);
    this.rows = [];
    this.columns = columns;
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < heads; head++) {
        columns.forEach((_, key) => { values[this.rows.length * columns.length + key] = all.value(layer, head, at, key); });
        this.rows.push(answer.cells.length ? say("generate.alignment") : say("generate.head", { head: `${layer}.${head}` }));
      }
    }
    const matrix = new Tensor(values, [this.rows.length, columns.length]);
    let best = [0, 0];
    this.rows.forEach((_, row) => columns.forEach((__, key) => { if (matrix.value(row, key) > matrix.value(...best)) best = [row, key]; }));
    const sentence = say("generate.looked_caption", { token: quoted(wrote[at]), head: this.rows[best[0]], weight: matrix.value(...best), to: quoted(columns[best[1]]) });
    this.map.set({ values: matrix, rows: this.rows, columns, label: spoken(sentence) });
    this.figure.say(sentence);
  }
}
