// One unit: all its points over the tokens, or one of them over the training.

import { chips, make } from "./dom.js";
import { Figure } from "./figure.js";
import { correlations, kindOf, limitOf, pictured, point, pointName, points, signalName, signals, time, tokens, trainingStep, unit, values } from "./gates_data.js";
import { hasMemory, memoryWords } from "./gates_memory.js";
import { Heatmap } from "./heatmap.js";
import { Tensor } from "./payload.js";
import { Score } from "./gates_score.js";
import { sentences } from "./sentences.js";
import { set, shown, state } from "./store.js";
import { isolated } from "./token_labels.js";
import { say } from "./words.js";

const THROUGH = ["time", "training"];
const STILL = 0.1, PEAK = 1.25; // changes of a swing that are not told; how far above both ends a peak is

export class OneUnit {
  constructor(parent) {
    this.figure = new Figure(parent, { title: say("gates.unit_n", { unit: 0 }), className: "gates-unit", about: pictured, name: () => `${state.run}-${state.cells}-unit${unit()}`, keep: {
      png: () => this.view.png(), svg: () => this.view.svgText(), csv: () => this.csv() } });
    this.switch = make("div", { class: "chips" });
    this.figure.tools.append(this.switch);
    this.scoreBox = make("div");
    this.mapBox = make("div");
    this.figure.body.append(this.scoreBox, this.mapBox);
    this.score = new Score(this.scoreBox, { onSelect: (name, step) => set({ point: name, step }), describe: (name, t) => this.describe(name, t, state.snapshot) });
    this.map = new Heatmap(this.mapBox, {
      height: 230, onSelect: ([t, moment]) => set({ step: t, snapshot: moment }), describe: (t, moment) => this.describe(point(), t, moment),
    });
  }

  get view() {
    return state.through === "training" ? this.map : this.score;
  }

  draw() {
    this.offer();
    this.figure.title.textContent = say("gates.unit_n", { unit: unit() });
    this.scoreBox.hidden = state.through !== "time";
    this.mapBox.hidden = state.through !== "training";
    const sentence = state.through === "time" ? this.timeWords() : this.trainingWords();
    const label = `${say("gates.unit_n", { unit: unit() })}. ${sentence.replaceAll("**", "")}`;
    if (state.through === "time") this.drawScore(label);
    else this.drawTraining(label);
    this.figure.say(sentence);
  }

  offer() {
    if (this.offered === state.through) return;
    this.offered = state.through;
    chips(this.switch, THROUGH.map((value) => ({ value, text: say(`gates.through.${value}`) })), state.through, (through) => set({ through }), say("gates.through"));
  }

  drawScore(label) {
    const rows = points().map((name) => ({
      name, text: pointName(name), signed: kindOf(name) === "signed", limit: limitOf(name, unit()),
      values: tokens().map((_, t) => values(name).value(state.snapshot, t, unit())),
    }));
    this.score.set({ rows, columns: tokens(), row: point(), column: time(), label });
  }

  drawTraining(label) {
    const steps = shown.look.steps, every = tokens();
    const history = new Float32Array(every.length * steps.length);
    every.forEach((_, t) => steps.forEach((__, m) => { history[t * steps.length + m] = values(point()).value(m, t, unit()); }));
    this.map.selected = [time(), state.snapshot];
    const matrix = new Tensor(history, [every.length, steps.length]);
    this.map.set({ values: matrix, rows: every, columns: steps.map(String), kind: kindOf(point()), limit: limitOf(point(), unit()), label });
  }

  // what its state follows best, and what it does with what it holds
  timeWords() {
    const said = [], rs = Object.entries(signals()).map(([name, signal]) => [name, correlations("hidden", signal, state.snapshot)[unit()]]);
    const [name, r] = rs.reduce((best, one) => (Math.abs(one[1]) > Math.abs(best[1]) ? one : best), [null, 0]);
    if (name) said.push(say("gates.unit_follows", { signal: signalName(name), r: (r < 0 ? "−" : "+") + Math.abs(r).toFixed(2) }));
    if (hasMemory()) said.push(memoryWords(unit(), state.snapshot));
    return sentences(...said) || say("gates.unit_still");
  }

  // the swing over the tokens (largest − smallest value): whether it grew or shrank, and when it was half way
  trainingWords() {
    const { steps } = shown.look, what = pointName(point());
    const swing = steps.map((_, m) => {
      const row = tokens().map((__, t) => values(point()).value(m, t, unit()));
      return Math.max(...row) - Math.min(...row);
    });
    const start = swing[0], end = swing.at(-1), grew = end > start, peak = Math.max(...swing);
    if (steps.length < 2) return say("gates.swing_once", { what, end, step: steps[0] });
    const same = Math.abs(end - start) <= STILL * Math.max(start, end), half = (start + end) / 2;
    const step = steps[swing.findIndex((size) => (grew ? size >= half : size <= half))];
    const said = say(`gates.swing_${same ? "same" : grew ? "grew" : "shrank"}`, { what, start, end, step });
    const high = peak > PEAK * Math.max(start, end);
    return sentences(said, high && say("gates.swing_peak", { peak, step: steps[swing.indexOf(peak)] }));
  }

  describe(name, t, moment) {
    const place = say("gates.tip", { unit: unit(), token: isolated(tokens()[t]), time: t, what: pointName(name), value: values(name).value(moment, t, unit()) });
    return state.through === "training" ? `${place} · ${say("step", { step: shown.look.steps[moment] })}` : place;
  }

  csv() {
    if (state.through === "training") return this.map.csv();
    const quote = (text) => `"${String(text).replaceAll('"', '""')}"`;
    const lines = points().map((name) => [name, ...tokens().map((_, t) => values(name).value(state.snapshot, t, unit()))].join(","));
    return `${[[`step ${trainingStep()}`, ...tokens()].map(quote).join(","), ...lines].join("\n")}\n`;
  }
}
