// All units of one point over time, sorted so that those that do something stand together.

import * as colour from "./colour.js";
import { chips, make } from "./dom.js";
import { Figure } from "./figure.js";
import { correlations, kindOf, last, limitOf, pictured, point, pointName, points, signalName, signals, time, tokens, trainingStep, unit, units, values, working } from "./gates_data.js";
import { memoryCaption } from "./gates_memory.js";
import { Heatmap } from "./heatmap.js";
import { Tensor } from "./payload.js";
import { sentences } from "./sentences.js";
import { set, shown, state } from "./store.js";
import { isolated } from "./token_labels.js";
import { say } from "./words.js";

const CLEAR = 0.9; // |r| from which a unit is said to follow a signal

// The sortings that this layer has, with the number each gives a unit at a moment; the largest stand on top.
function sortings() {
  const found = { index: null };
  if (working(`${point()}.saturation`)) found.saturation = (moment) => working(`${point()}.saturation`).at(moment).data;
  if (working("half_life")) found.memory = (moment) => working("half_life").at(moment).data;
  for (const name of Object.keys(signals())) found[`follows ${name}`] = (moment) => correlations(point(), signals()[name], moment);
  return found;
}

const sort = () => (state.sort in sortings() ? state.sort : "index");
const measure = (moment) => sortings()[sort()]?.(moment) ?? null;

// A unit keeps its row while the training is scrubbed: the order is that of its end.
export function order() {
  const all = Array.from({ length: units() }, (_, i) => i), at = measure(last());
  return at ? all.sort((a, b) => Math.abs(at[b]) - Math.abs(at[a])) : all;
}

// At first: by the most telling signal there is.
export const firstSort = () => ["follows parity", "memory", "saturation"].find((name) => name in sortings()) ?? "index";

const written = {
  saturation: (x) => `${(100 * x).toFixed(0)}%`,
  memory: (x) => (x < 99.95 ? x.toFixed(1) : x.toFixed(0)),
  follows: (x) => (x < 0 ? "−" : "+") + Math.abs(x).toFixed(2),
};

export class Units {
  constructor(parent) {
    this.figure = new Figure(parent, { title: say("gates.units"), className: "gates-units", about: pictured, name: () => `${state.run}-${state.cells}-${point()}-step${trainingStep()}`, keep: {
      png: () => this.map.png(), svg: () => this.map.svgText(), csv: () => this.csv() } });
    this.points = make("div", { class: "chips" });
    this.sorter = make("select", { "aria-label": say("gates.sort"), title: say("gates.sort_help"), onchange: () => set({ sort: this.sorter.value }) });
    this.legend = make("span", { class: "gates-legend" });
    this.figure.tools.append(this.legend, make("label", { class: "gates-sort" }, say("gates.sort_by"), this.sorter));
    this.figure.body.before(make("div", { class: "gates-row" }, this.points));
    this.map = new Heatmap(this.figure.body, {
      get height() { return Math.max(240, window.innerHeight - (window.innerWidth < 1700 ? 452 : 506)); }, // so that the caption stands above the timeline
      onSelect: ([row, column]) => set({ unit: this.order[row], step: column }), describe: (row, column) => this.describe(row, column),
    });
  }

  draw() {
    const name = point(), columns = tokens(), at = values(name).at(state.snapshot), found = measure(state.snapshot), how = sort().split(" ")[0];
    this.order = order();
    this.offer(name);
    const sorted = new Float32Array(this.order.length * columns.length);
    this.order.forEach((u, row) => columns.forEach((_, t) => { sorted[row * columns.length + t] = at.value(t, u); }));
    const width = String(units() - 1).length;
    const rows = this.order.map((u) => (found ? `${String(u).padStart(width)} ${written[how](found[u]).padStart(5)}` : String(u)));
    const sentence = this.sentence(name, at, found, how);
    this.map.selected = [this.order.indexOf(unit()), time()];
    const label = sentences(sentence.replaceAll("**", ""), say("gates.units_axes"));
    this.map.set({ values: new Tensor(sorted, [rows.length, columns.length]), rows, columns, kind: kindOf(name), limit: limitOf(name), label });
    this.figure.say(sentence);
  }

  // what can be chosen changes with the layer, the point and the input, not with the moment
  offer(name) {
    if (this.offered?.every((one, i) => one === [shown.look, state.cells, name, sort(), colour.dark()][i])) return;
    this.offered = [shown.look, state.cells, name, sort(), colour.dark()];
    const choices = points().map((value) => ({ value, text: pointName(value), title: `${state.cells}.${value}` }));
    chips(this.points, choices, name, (chosen) => set({ point: chosen }), say("gates.which_point"));
    this.scale(name);
    const option = (value, text) => make("option", { value, selected: value === sort() }, text);
    const names = Object.keys(sortings()), follow = names.filter((one) => one.startsWith("follows "));
    this.sorter.replaceChildren(
      ...names.filter((one) => !follow.includes(one)).map((one) => option(one, say(`gates.sort.${one}`))),
      make("optgroup", { label: say("gates.sort.follows") }, ...follow.map((one) => option(one, signalName(one.slice(8))))),
    );
  }

  scale(name) {
    const colours = colour.scale(kindOf(name)), stops = Array.from({ length: 9 }, (_, i) => colour.css(colours[Math.round((i * 255) / 8)]));
    const bar = make("i", { style: `background: linear-gradient(90deg, ${stops.join(", ")})` });
    const limit = limitOf(name), most = limit === 1 ? "1" : limit.toFixed(1);
    this.legend.replaceChildren(kindOf(name) === "signed" ? `−${most}` : "0", bar, most);
  }

  sentence(name, at, found, how) {
    const what = pointName(name);
    if (how === "follows") return followWords(found, what);
    if (how === "memory") return memoryCaption(found, state.snapshot);
    if (how === "saturation") {
      const full = [...found].filter((x) => x >= 0.9).length, mean = [...found].reduce((a, b) => a + b, 0) / found.length;
      return say("gates.saturation_caption", { what, full, units: found.length, mean });
    }
    const mean = at.data.reduce((sum, x) => sum + (kindOf(name) === "signed" ? Math.abs(x) : x), 0) / at.data.length;
    return say(kindOf(name) === "signed" ? "gates.size_caption" : "gates.open_caption", { what, mean });
  }

  csv() {
    const found = measure(state.snapshot), quote = (text) => `"${String(text).replaceAll('"', '""')}"`;
    const head = ["unit", ...(found ? [sort()] : []), ...tokens()].map(quote).join(",");
    const lines = this.order.map((u, row) => [u, ...(found ? [found[u]] : []), ...tokens().map((_, t) => this.map.value(row, t))].join(","));
    return `${[head, ...lines].join("\n")}\n`;
  }

  describe(row, column) {
    const u = this.order[row];
    return say("gates.tip", { unit: u, token: isolated(tokens()[column]), time: column, what: pointName(point()), value: values(point()).value(state.snapshot, column, u) });
  }
}

// What the best of so many unrelated units would reach by chance: Fisher's z = artanh r is about normal, σ = 1/√(n − 3)
const byChance = (count, length) => (length > 3 ? Math.tanh(Math.sqrt(2 * Math.log(2 * count)) / Math.sqrt(length - 3)) : 1);

function followWords(found, what) {
  const best = found.reduce((most, r, u) => (Math.abs(r) > Math.abs(found[most]) ? u : most), 0), r = found[best];
  const many = [...found].filter((x) => Math.abs(x) >= CLEAR).length, chance = byChance(found.length, tokens().length);
  const key = Math.abs(r) <= chance ? "chance" : Math.abs(r) < CLEAR ? "near" : many > 1 ? "many" : "one";
  return say(`gates.follow_${key}`, {
    what, unit: best, signal: signalName(sort().slice(8)), r: written.follows(r), many, clear: CLEAR, chance, units: found.length, length: tokens().length,
  });
}
