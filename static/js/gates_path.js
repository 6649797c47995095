// Where the state goes, step by step, in the plane in which the trained states differ most.

import * as colour from "./colour.js";
import { chips, make } from "./dom.js";
import { Figure } from "./figure.js";
import { about, layer, pictured, pointName, signals, stepKeys, time, tokens, trainingStep, working } from "./gates_data.js";
import { beside } from "./gates_labels.js";
import { typeSize } from "./lines.js";
import { plot, plotKeep } from "./plot.js";
import { sentences } from "./sentences.js";
import { set, state } from "./store.js";
import { shortened } from "./token_labels.js";
import { say } from "./words.js";

const APART = 2; // centres so many spreads from each other lie apart
const STAGES = 5; // of the path, each darker than the one before
const LETTERS = 8; // of a token beside its point

export class Path {
  constructor(parent) {
    this.box = make("div", { class: "gates-plot", role: "img", tabindex: 0, onkeydown: stepKeys });
    this.figure = new Figure(parent, { title: say("gates.view.path"), about: pictured, name: () => `${state.run}-${state.cells}-path-step${trainingStep()}`, keep: {
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
    const all = working(`${this.of}.path`), places = all.at(state.snapshot), shares = working(`${this.of}.shares`).at(state.snapshot).data;
    const facts = { what: pointName(this.of), one: shares[0], two: shares[1], step: trainingStep() };
    const sentence = sentences(say("gates.path_caption", facts), this.apart(places));
    const ranges = [0, 1].map((axis) => {
      const along = all.data.filter((x, i) => i % 2 === axis && Number.isFinite(x));
      if (!along.length) return [-1, 1];
      const low = Math.min(...along), high = Math.max(...along), room = 0.12 * (high - low || 1);
      return [low - room, high + room];
    });
    this.box.setAttribute("aria-label", sentence.replaceAll("**", ""));
    plot(this.box, () => this.traces(places), () => ({
      xaxis: { range: ranges[0], title: { text: say("gates.component", { n: 1, share: shares[0] }) }, zeroline: false },
      yaxis: { range: ranges[1], title: { text: say("gates.component", { n: 2, share: shares[1] }) }, zeroline: false },
      annotations: this.names(places, ranges),
    }), { onClick: ({ customdata }) => customdata >= 0 && set({ step: customdata }) });
    this.figure.say(sentence);
  }

  // steps in the order in which they are read; −1 is what there was before
  order() {
    const every = tokens().map((_, t) => t);
    return [-1, ...(about().backwards ? every.reverse() : every)];
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
    const x = (t) => places.value(t + 1, 0), y = (t) => places.value(t + 1, 1), order = this.order(), end = order.at(-1);
    const [ink, accent] = ["--iv-ink", "--iv-accent"].map(colour.token), now = time();
    const hover = `%{text} (%{customdata})<br>PC1 %{x:.4f}<br>PC2 %{y:.4f}<extra></extra>`, quiet = { hoverinfo: "skip", showlegend: false };
    return [
      ...stages(order).map((steps, i, all) => ({
        ...quiet, x: steps.map(x), y: steps.map(y), mode: "lines+markers", line: { color: ink, width: 1.3 }, opacity: 0.25 + (0.6 * (i + 1)) / all.length,
        marker: { symbol: "arrow", angleref: "previous", size: steps.map((_, k) => (k ? 10 : 0)), standoff: 6, color: ink },
      })),
      { x: [x(-1)], y: [y(-1)], text: [say("gates.start")], customdata: [-1], mode: "markers", name: say("gates.start"), hovertemplate: hover,
        marker: { symbol: "x", size: 10, color: ink } },
      { x: [x(end)], y: [y(end)], mode: "markers", name: say("gates.end"), hoverinfo: "skip", marker: { symbol: "square-open", size: 15, color: ink, line: { width: 2 } } },
      { ...quiet, x: [x(now)], y: [y(now)], mode: "markers", marker: { symbol: "circle-open", size: 26, color: accent, line: { width: 2.5 } } },
      ...this.classes().map(({ name, steps, colour: fill, symbol }) => ({
        name, x: steps.map(x), y: steps.map(y), customdata: steps, text: steps.map((t) => text(tokens()[t])), mode: "markers", hovertemplate: hover,
        marker: { symbol, size: 11, color: fill, line: { color: colour.token("--iv-card"), width: 1 } },
      })),
    ];
  }

  // each token beside its point, where there is room for it; the chosen one and the ends come first
  names(places, ranges) {
    const axes = this.box._fullLayout, width = axes?.xaxis._length ?? this.box.clientWidth - 80, height = axes?.yaxis._length ?? this.box.clientHeight - 90;
    const px = (t, axis) => ((places.value(t + 1, axis) - ranges[axis][0]) / (ranges[axis][1] - ranges[axis][0])) * (axis ? -height : width);
    const order = this.order().filter((t) => Number.isFinite(places.value(t + 1, 0) + places.value(t + 1, 1))); // a state may have left all bounds
    const first = [time(), -1, order.at(-1)], asked = [...new Set([...first, ...order])].filter((t) => order.includes(t));
    const named = (t) => (t < 0 ? say("gates.start") : shortened(tokens()[t], LETTERS));
    const at = (t) => ({ t, x: px(t, 0), y: px(t, 1), text: named(t) });
    const found = beside(asked.map(at), order.map(at), { width, height });
    const [ink, accent] = ["--iv-ink", "--iv-accent"].map(colour.token);
    return found.map(({ t, dx, dy, text: said }) => ({
      x: places.value(t + 1, 0), y: places.value(t + 1, 1), xshift: dx, yshift: -dy, text: text(said), showarrow: false, borderpad: 0,
      font: { family: 'ui-monospace, Menlo, "Noto Sans Mono CJK SC", monospace', size: typeSize(), color: t === time() ? accent : ink },
    }));
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
    const places = working(`${this.of}.path`).at(state.snapshot);
    const lines = [say("gates.start"), ...tokens()].map((token, i) => `"${token.replaceAll('"', '""')}",${places.value(i, 0)},${places.value(i, 1)}`);
    return `${["token,PC1,PC2", ...lines].join("\n")}\n`;
  }
}

// the path cut into stages that share their ends
function stages(order) {
  const size = Math.max(1, Math.ceil((order.length - 1) / STAGES)), found = [];
  for (let i = 0; i < order.length - 1; i += size) found.push(order.slice(i, i + size + 1));
  return found;
}

const text = (token) => token.replaceAll("&", "&amp;").replaceAll("<", "&lt;"); // Plotly reads some markup
