// Behind one written token: the distribution it was chosen from, before and after it was narrowed, and where the model looked.

import { Figure } from "./figure.js";
import { make } from "./dom.js";
import { Heatmap } from "./heatmap.js";
import { Tensor } from "./payload.js";
import { state } from "./store.js";
import { pngOf, svgText } from "./svg_files.js";
import { say } from "./words.js";

const ROW = 22, NAME = 96, MOST = 14, FEW = 4, LEAST = 5e-4; // px of a bar, px of its name; most and fewest bars, and the share from which on there are more than the fewest

export class Shares {
  constructor(parent) {
    const keep = { png: () => pngOf(svgText(this.svg)), svg: () => svgText(this.svg), csv: () => this.csv() };
    this.figure = new Figure(parent, { title: say("generate.shares"), keep, name: () => `${state.run}-next-token` });
    this.svg = make("svg", { class: "generate-shares", role: "img" });
    this.figure.body.append(this.svg);
  }

  draw(answer, at, side) {
    const step = answer.steps[at], names = step.ids.map((id) => answer.tokens[id]);
    this.shown = { step, names };
    const rows = names.map((name, i) => ({ name, before: step.before[i], after: step.after[i], chosen: step.ids[i] === step.chosen }));
    const bars = rows.slice(0, MOST).filter(({ before, after }, i) => i < FEW || before >= LEAST || after >= LEAST);
    const chosen = rows.find((row) => row.chosen);
    if (!bars.includes(chosen)) bars[bars.length - 1] = chosen;
    const width = Math.max(280, this.figure.body.clientWidth || 480), room = width - NAME - 116, height = ROW * bars.length + 4;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", height);
    this.svg.replaceChildren(...bars.flatMap((row, i) => bar(row, i * ROW, room)));
    const changed = Math.abs(step.entropy[0] - step.entropy[1]) > 1e-6;
    const values = { token: chosen.name, at: at + 1, before: chosen.before, after: chosen.after, left: step.left, of: answer.tokens.length, bits: step.entropy[0].toFixed(2), then: step.entropy[1].toFixed(2) };
    const sentence = say(changed ? "generate.shares_narrowed" : "generate.shares_plain", values);
    this.svg.setAttribute("aria-label", sentence.replaceAll("**", ""));
    this.figure.title.textContent = say("generate.shares_of", { at: at + 1, side: say(`generate.way_${side}`) });
    this.figure.say(sentence);
  }

  csv() {
    const { step, names } = this.shown, quote = (text) => `"${String(text).replaceAll('"', '""')}"`;
    return `${["token,before,after", ...names.map((name, i) => [quote(name), step.before[i], step.after[i]].join(","))].join("\n")}\n`;
  }
}

function bar({ name, before, after, chosen }, y, room) {
  const percent = (share) => `${(100 * share).toFixed(1)} %`, same = Math.abs(before - after) < 5e-4;
  const words = say("generate.bar", { token: name, before: percent(before), after: percent(after) });
  const ink = "var(--iv-ink)", weight = chosen ? 700 : 400, text = name === " " ? "␣" : name.length > 11 ? `${name.slice(0, 10)}…` : name;
  return [make("g", {}, make("title", {}, words),
    make("text", { x: NAME - 8, y: y + 15, "text-anchor": "end", "font-size": 14, "font-weight": weight, fill: chosen ? "var(--iv-accent)" : ink }, text),
    make("rect", { x: NAME, y: y + 3, width: Math.max(0.5, room * before), height: 7, fill: "var(--iv-mute)", rx: 2 }),
    make("rect", { x: NAME, y: y + 11, width: Math.max(after ? 0.5 : 0, room * after), height: 7, fill: "var(--iv-accent)", rx: 2 }),
    make("text", { x: NAME + room + 110, y: y + 15, "text-anchor": "end", "font-size": 13, fill: "var(--iv-mute)" }, same ? percent(before) : `${percent(before)} → ${percent(after)}`))];
}

export class Looked {
  constructor(parent) {
    this.figure = new Figure(parent, { title: say("generate.looked"), name: () => `${state.run}-looked`, keep: {
      png: () => this.map.png(), svg: () => this.map.svgText(), csv: () => this.map.csv() } });
    this.map = new Heatmap(this.figure.body, { height: 260, describe: (row, column) => say("generate.looked_tip", {
      head: this.rows[row], token: this.columns[column], weight: this.map.value(row, column).toFixed(3) }) });
  }

  // rows: heads of the attention that reads the source, or else the text; columns: what they could look at
  draw(answer, at) {
    const group = answer.groups.find(({ name }) => name === "cross") ?? answer.groups[0];
    this.figure.element.hidden = !group;
    if (!group) return;
    const [layers, heads, , keys] = group.shape, all = answer.arrays[`${group.name}.weights`];
    const columns = group.name === "cross" ? answer.read : [...answer.read, ...answer.texts[0].tokens].slice(0, Math.min(keys, answer.read.length + at));
    const values = new Float32Array(layers * heads * columns.length);
    this.rows = [];
    this.columns = columns;
    for (let layer = 0; layer < layers; layer++) {
      for (let head = 0; head < heads; head++) {
        columns.forEach((_, key) => { values[this.rows.length * columns.length + key] = all.value(layer, head, at, key); });
        this.rows.push(`${layer}.${head}`);
      }
    }
    const matrix = new Tensor(values, [this.rows.length, columns.length]);
    let best = [0, 0];
    this.rows.forEach((_, row) => columns.forEach((__, key) => { if (matrix.value(row, key) > matrix.value(...best)) best = [row, key]; }));
    const sentence = say("generate.looked_caption", { token: answer.texts[0].tokens[at], head: this.rows[best[0]], weight: matrix.value(...best), to: columns[best[1]] });
    this.map.set({ values: matrix, rows: this.rows, columns, label: sentence.replaceAll("**", "") });
    this.figure.say(sentence);
  }
}
