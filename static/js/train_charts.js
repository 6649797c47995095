// Five measures of the runs that are shown, on one scale of steps, with one cursor; kept as one picture or one table.

import { chips, make } from "./dom.js";
import { Figure } from "./figure.js";
import { tint } from "./lines.js";
import { set, shown, state } from "./store.js";
import { pngOf } from "./svg_files.js";
import { TrainChart } from "./train_chart.js";
import { captionOf } from "./train_caption.js";
import { COLUMNS } from "./train_history.js";
import { colourOf, find, moving, visible } from "./train_jobs.js";
import { shortNames } from "./train_names.js";
import { exact, three } from "./train_numbers.js";
import { FONT, svgParts } from "./train_scene.js";
import { format, inLanguage, say } from "./words.js";

const [LARGE, SMALL, LEGEND] = [270, 128, 20]; // px, heights; the last of a line of the legend in a picture that is kept
const share = (value) => format(value, ".0%");
const MEASURES = {
  accuracy: { height: LARGE, range: [0, 1], format: share, formatY: share, exact: (v) => format(v, ".2%") },
  loss: { height: LARGE, format: three, exact },
  grad_norm: { height: SMALL, format: three, exact, logY: true },
  lr: { height: SMALL, format: three, exact },
  tokens_per_s: { height: SMALL, format: (v) => format(Math.round(v), ","), exact: (v) => format(Math.round(v), ",") },
};

export class Charts {
  // onPick(step): somebody has chosen a step
  constructor(parent, { onPick }) {
    const keep = { png: () => pngOf(this.svg()), svg: () => this.svg(), csv: () => this.csv() };
    this.figure = new Figure(parent, { title: say("train.learning"), className: "train-figure", name: () => `innerview-training-${state.trained ?? ""}`, keep });
    this.scale = make("div", { class: "chips" });
    this.figure.tools.append(this.scale);
    this.grid = make("div", { class: "train-charts" });
    this.figure.body.append(this.grid);
    this.cursor = null;
    this.pinned = null;
    const listen = {
      onMove: (step, chart) => { this.move(step, chart); this.soon(); },
      onPick: (step) => { this.pinned = step; onPick(step); this.soon(); },
    };
    this.charts = Object.entries(MEASURES).map(([measure, options]) => new TrainChart(this.grid, { measure, title: say(`train.measure.${measure}`), ...options, ...listen }));
  }

  move(step, chart) {
    this.cursor = step;
    this.hovered = chart;
    for (const { data } of this.charts) if (data) data.cursor = step; // known before it is painted: the next key goes on from it
  }

  // many steps may come before the next picture: they are painted together
  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const began = performance.now(), drawn = visible(), focus = find(state.trained);
    this.figure.element.hidden = !shown.jobs.length;
    if (!this.grid.clientWidth || !shown.jobs.length) return;
    this.offerScale();
    const names = shortNames(drawn), lead = drawn.includes(focus) ? focus : drawn[0];
    const runs = drawn.map((one, i) => ({ number: one.slot + 1, label: names[i], colour: tint(colourOf(one)), history: one.history, focus: one === focus, live: one.job.status === "running" }));
    runs.sort((a, b) => a.focus - b.focus); // the one in focus on top
    const last = Math.max(2, ...drawn.map(({ job }) => job.steps));
    const moments = (lead?.moments ?? []).map(({ step, text, head }) => ({ step, head, text: inLanguage(text) }));
    const lines = ["chance", "goal"].flatMap((name) => (lead?.job[name] == null ? [] : [{ value: lead.job[name], name: say(`train.${name}`), share: share(lead.job[name]) }]));
    const timed = drawn.some(({ history }) => history.columns.tokens_per_s.some((value) => value !== null)); // not of a run that was stored
    this.charts.at(-1).box.parentElement.hidden = !timed;
    this.grid.classList.toggle("untimed", !timed);
    for (const chart of this.charts) {
      const only = chart.options.measure === "accuracy" ? lines : [];
      chart.set({ runs, scale: state.trainScale, last, lines: only, moments, cursor: this.cursor, hovered: this.hovered, pinned: this.pinned });
    }
    this.took = performance.now() - began;
    if (lead) this.caption(lead);
  }

  caption(lead) {
    const sentence = captionOf(lead);
    if (sentence === this.said) return;
    this.said = sentence;
    this.figure.caption.setAttribute("aria-live", moving(lead) ? "off" : "polite"); // not every step is read out
    this.figure.say(sentence);
    for (const chart of this.charts) chart.canvas.setAttribute("aria-label", `${chart.options.title}. ${sentence.replaceAll("**", "")}`);
  }

  offerScale() {
    if (this.offered === state.trainScale) return;
    this.offered = state.trainScale;
    chips(this.scale, ["log", "linear"].map((value) => ({ value, text: say(`train.scale.${value}`) })), state.trainScale, (trainScale) => set({ trainScale }), say("train.scale"));
  }

  svg() {
    const box = this.grid.getBoundingClientRect(), { runs } = this.charts[0].data, legend = runs.length > 1 ? [...runs].sort((a, b) => a.number - b.number) : [];
    const height = box.height + LEGEND * legend.length, root = make("svg", {
      xmlns: "http://www.w3.org/2000/svg", width: box.width, height, viewBox: `0 0 ${box.width} ${height}`, "font-family": FONT,
    }, make("rect", { width: box.width, height, fill: tint("--iv-card") }));
    for (const chart of this.charts.filter(({ canvas }) => canvas.clientWidth)) {
      const at = chart.canvas.getBoundingClientRect();
      root.append(make("g", { transform: `translate(${at.left - box.left} ${at.top - box.top})` }, ...svgParts(chart.scene())));
    }
    root.append(...legend.map(({ number, label, colour }, i) => make("text", { x: 10, y: box.height + LEGEND * (i + 1) - 5, fill: colour, "font-size": 13, "font-weight": 600 }, `${number}  ${label}`)));
    return new XMLSerializer().serializeToString(root);
  }

  csv() {
    const rows = visible().flatMap(({ key, history }) => history.columns.step.map((_, i) => [key, ...COLUMNS.map((name) => history.columns[name][i] ?? "")].join(",")));
    return [["run", ...COLUMNS].join(","), ...rows].join("\n") + "\n";
  }
}
