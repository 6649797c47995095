// The cell's equations with the numbers of the chosen unit and step in them: what is written can be computed again.

import { make } from "./dom.js";
import { array, layer, position, tokens, unit } from "./gates_data.js";
import { set, state } from "./store.js";
import { isolated } from "./token_labels.js";
import { say } from "./words.js";

const FEWEST = 3, MOST = 7; // decimals of what goes in; what comes out has FEWEST
const LETTER = { input: "i", forget: "f", candidate: "g", output: "o", cell: "c", hidden: "h", reset: "r", update: "z" };
const FUNCTION = { σ: (x) => 1 / (1 + Math.exp(-x)), tanh: Math.tanh, relu: (x) => Math.max(0, x) };

export class Equations {
  constructor(parent) {
    this.head = make("h3");
    this.body = make("div", { class: "equations" });
    this.note = make("p", { class: "equations-note" }, say("gates.equations_note"));
    this.rows = {};
    parent.append(make("section", { class: "gates-equations", "aria-live": "off" }, this.head, this.body, this.note));
  }

  draw() {
    const { kind, activation, backwards } = layer(), lines = LINES[kind](cellAt()), key = `${kind} ${activation} ${backwards}`;
    this.head.textContent = say("gates.equations", { token: isolated(tokens()[position()]), time: position(), unit: unit() });
    if (this.key !== key) this.write(lines, backwards);
    this.key = key;
    lines.forEach(({ name, steps: [sum, result] }) => {
      const { button, numbers, outcome } = this.rows[name];
      button.classList.toggle("on", name === state.gate);
      numbers.textContent = `= ${sum} `;
      outcome.textContent = `= ${result}`;
    });
  }

  // the laws stay while the numbers move
  write(lines, backwards) {
    const before = () => make("sub", {}, backwards ? "t+1" : "t−1");
    this.rows = Object.fromEntries(lines.map(({ name, formula }) => {
      const numbers = make("span", { class: "eq-sum" }), outcome = make("span", { class: "eq-out" });
      const law = make("span", { class: "eq-law" }, symbol(name, "t"), " = ", ...formula(before));
      const button = make("button", { type: "button", class: "equation", "data-point": name, onclick: () => set({ gate: name }) }, law, " ", numbers, outcome);
      return [name, { button, numbers, outcome }];
    }));
    this.body.replaceChildren(...lines.map(({ name }) => this.rows[name].button));
  }
}

// The numbers of one unit at one position and snapshot; `before` is the position read before, or what there was at first.
function cellAt() {
  const t = position(), at = [state.snapshot, t, unit()], { backwards } = layer();
  const earlier = backwards ? t + 1 : t - 1, started = earlier >= 0 && earlier < tokens().length;
  return {
    now: (name) => array(name).value(...at),
    before: (name) => (started ? array(name).value(at[0], earlier, at[2]) : array(`${name}.first`).value(at[0], at[2])),
    read: (name) => array(`${name}.read`).value(...at),
    kept: (name) => array(`${name}.kept`).value(...at),
  };
}

const letter = (name) => (name === "candidate" && layer().kind === "gru" ? "n" : LETTER[name]);
const symbol = (name, sub) => make("i", {}, letter(name), make("sub", {}, sub));
const W = (from, name) => ["W", make("sub", {}, from + letter(name)), " ", make("i", {}, from)];
const b = (from, name) => [" + b", make("sub", {}, from + letter(name))];
const reading = (name) => [...W("x", name), make("sub", {}, "t"), ...b("x", name)];
const keeping = (name, before) => [...W("h", name), before(), ...b("h", name)];

function gate(cell, name, f) {
  const [read, kept] = [cell.read(name), cell.kept(name)];
  return { name, formula: (before) => [`${f}(`, ...reading(name), " + ", ...keeping(name, before), ")"],
    steps: fit([read, kept], ([x, h]) => FUNCTION[f](x + h), cell.now(name), ([x, h]) => `${f}(${x} ${plus(h)})`) };
}

const LINES = {
  rnn: (cell) => [gate(cell, "hidden", layer().activation)],
  gru: (cell) => {
    const [r, z, n, h, x, k] = [cell.now("reset"), cell.now("update"), cell.now("candidate"), cell.before("hidden"), cell.read("candidate"), cell.kept("candidate")];
    return [
      gate(cell, "reset", "σ"), gate(cell, "update", "σ"),
      { name: "candidate", formula: (before) => ["tanh(", ...reading("candidate"), " + ", symbol("reset", "t"), " ⊙ (", ...keeping("candidate", before), "))"],
        steps: fit([x, r, k], ([a, s, c]) => Math.tanh(a + s * c), n, ([a, s, c]) => `tanh(${a} + ${s}·${bracket(c)})`) },
      { name: "hidden",
        formula: (before) => ["(1 − ", symbol("update", "t"), ") ⊙ ", symbol("candidate", "t"), " + ", symbol("update", "t"), " ⊙ ", make("i", {}, "h", before())],
        steps: fit([z, n, h], ([u, c, old]) => (1 - u) * c + u * old, cell.now("hidden"), ([u, c, old]) => `(1 − ${u})·${bracket(c)} + ${u}·${bracket(old)}`) },
    ];
  },
  lstm: (cell) => {
    const [i, f, g, o, c, old] = [...["input", "forget", "candidate", "output", "cell"].map(cell.now), cell.before("cell")];
    return [
      gate(cell, "forget", "σ"), gate(cell, "input", "σ"), gate(cell, "candidate", "tanh"), gate(cell, "output", "σ"),
      { name: "cell", formula: (before) => [symbol("forget", "t"), " ⊙ ", make("i", {}, "c", before()), " + ", symbol("input", "t"), " ⊙ ", symbol("candidate", "t")],
        steps: fit([f, old, i, g], ([a, x, e, y]) => a * x + e * y, c, ([a, x, e, y]) => `${a}·${bracket(x)} + ${e}·${bracket(y)}`) },
      { name: "hidden", formula: () => [symbol("output", "t"), " ⊙ tanh(", symbol("cell", "t"), ")"],
        steps: fit([o, c], ([a, x]) => a * Math.tanh(x), cell.now("hidden"), ([a, x]) => `${a}·tanh(${x})`) },
    ];
  },
};

// Just as many decimals as it takes for the written numbers to give the written result.
function fit(parts, compute, result, write) {
  const goal = fixed(result, FEWEST);
  for (let digits = FEWEST; ; digits++) {
    const rounded = parts.map((x) => Number(x.toFixed(digits)));
    if (fixed(compute(rounded), FEWEST) === goal || digits === MOST) return [write(parts.map((x) => fixed(x, digits))), goal];
  }
}

const fixed = (x, digits) => Number(x.toFixed(digits)).toFixed(digits).replace("-", "−"); // never −0
const plus = (text) => (text.startsWith("−") ? `− ${text.slice(1)}` : `+ ${text}`);
const bracket = (text) => (text.startsWith("−") ? `(${text})` : text);
