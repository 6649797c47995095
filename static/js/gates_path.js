// Where the state goes, step by step, in the plane in which the trained states differ most.

import * as colour from "./colour.js";
import { chips, make } from "./dom.js";
import { Figure } from "./figure.js";
import { layer, pointName, signals, time, tokens, trainingStep, working } from "./gates_data.js";
import { plot, plotKeep } from "./plot.js";
import { set, state } from "./store.js";
import { say } from "./words.js";

const SIDES = ["top right", "bottom right", "top left", "bottom left", "top center", "bottom center", "middle right", "middle left"];
const APART = 2; // centres so many spreads from each other lie apart

export class Path {
  constructor(parent) {
    this.box = make("div", { class: "gates-plot", role: "img" });
    this.figure = new Figure(parent, { name: () => `${state.run}-${state.cells}-path-step${trainingStep()}`, keep: {
      ...plotKeep(this.box), csv: () => this.csv() } });
    this.switch = make("div", { class: "chips" });
    this.figure.tools.append(this.switch);
    this.figure.body.append(this.box);
  }

  get of() {
    return layer().points.includes(state.pathOf) ? state.pathOf : "hidden";
  }

  draw() {
    const options = ["hidden", "cell"].filter((name) => layer().points.includes(name)), offered = `${options} ${this.of}`;
    this.switch.hidden = options.length < 2;
    if (this.offered !== offered) chips(this.switch, options.map((value) => ({ value, text: pointName(value) })), this.of, (pathOf) => set({ pathOf }), say("gates.path_of"));
    this.offered = offered;
    const all = working(`${this.of}.path`), places = all.at(state.moment), shares = working(`${this.of}.shares`).at(state.moment).data;
    const sentence = [say("gates.path_caption", { what: pointName(this.of), one: shares[0], two: shares[1] }), this.apart(places)].filter(Boolean).join(" ");
    const range = (axis) => {
      const along = all.data.filter((_, i) => i % 2 === axis), low = Math.min(...along), high = Math.max(...along), room = 0.12 * (high - low || 1);
      return [low - room, high + room];
    };
    this.box.setAttribute("aria-label", sentence.replaceAll("**", ""));
    plot(this.box, () => this.traces(places), {
      xaxis: { range: range(0), title: { text: say("gates.component", { n: 1, share: shares[0] }) }, zeroline: false },
      yaxis: { range: range(1), title: { text: say("gates.component", { n: 2, share: shares[1] }) }, zeroline: false },
    }, { onClick: ({ customdata }) => customdata >= 0 && set({ step: customdata }) });
    this.figure.say(sentence);
  }

  // classes: by running parity where there is one, else one
  classes() {
    const { parity } = signals(), [low, high] = [colour.scale("signed")[0], colour.scale("signed")[255]].map(colour.css);
    const every = tokens().map((_, t) => t);
    if (!parity) return [{ name: say("gates.states"), steps: every, colour: low, symbol: "circle" }];
    return [
      { name: say("gates.even"), steps: every.filter((t) => !parity[t]), colour: low, symbol: "circle" },
      { name: say("gates.odd"), steps: every.filter((t) => parity[t]), colour: high, symbol: "diamond" },
    ];
  }

  traces(places) {
    const x = (t) => places.value(t + 1, 0), y = (t) => places.value(t + 1, 1), whole = [-1, ...tokens().map((_, t) => t)];
    const [mute, ink, accent] = ["--iv-mute", "--iv-ink", "--iv-accent"].map(colour.token), now = time();
    const hover = `%{text} (%{customdata})<br>PC1 %{x:.4f}<br>PC2 %{y:.4f}<extra></extra>`;
    return [
      { x: whole.map(x), y: whole.map(y), mode: "lines", line: { color: mute, width: 1 }, opacity: 0.55, hoverinfo: "skip", showlegend: false },
      { x: [x(-1)], y: [y(-1)], text: [say("gates.start")], customdata: [-1], mode: "markers", name: say("gates.start"), hovertemplate: hover,
        marker: { symbol: "x", size: 10, color: ink } },
      { x: [x(now)], y: [y(now)], mode: "markers", showlegend: false, hoverinfo: "skip", marker: { symbol: "circle-open", size: 24, color: accent, line: { width: 2.5 } } },
      ...this.classes().map(({ name, steps, colour: fill, symbol }) => ({
        name, x: steps.map(x), y: steps.map(y), customdata: steps, text: steps.map((t) => text(tokens()[t])), mode: "markers+text", hovertemplate: hover,
        textposition: steps.map((t) => SIDES[t % SIDES.length]), textfont: { family: "ui-monospace, monospace", size: 13, color: ink },
        marker: { symbol, size: 11, color: fill, line: { color: colour.token("--iv-card"), width: 1 } },
      })),
    ];
  }

  // how far the two classes lie from each other, in units of their own spread
  apart(places) {
    const classes = this.classes();
    if (classes.length < 2) return null;
    const clouds = classes.map(({ steps }) => steps.map((t) => [places.value(t + 1, 0), places.value(t + 1, 1)]));
    const centres = clouds.map((cloud) => [0, 1].map((axis) => cloud.reduce((sum, at) => sum + at[axis], 0) / cloud.length));
    const off = clouds.flatMap((cloud, i) => cloud.map((at) => (at[0] - centres[i][0]) ** 2 + (at[1] - centres[i][1]) ** 2));
    const spread = Math.sqrt(off.reduce((a, b) => a + b, 0) / off.length);
    const times = Math.hypot(centres[0][0] - centres[1][0], centres[0][1] - centres[1][1]) / Math.max(spread, 1e-9);
    return say(times >= APART ? "gates.apart" : "gates.mixed", { times });
  }

  csv() {
    const places = working(`${this.of}.path`).at(state.moment);
    const lines = [say("gates.start"), ...tokens()].map((token, i) => `"${token.replaceAll('"', '""')}",${places.value(i, 0)},${places.value(i, 1)}`);
    return `${["token,PC1,PC2", ...lines].join("\n")}\n`;
  }
}

const text = (token) => token.replaceAll("&", "&amp;").replaceAll("<", "&lt;"); // Plotly reads some markup
