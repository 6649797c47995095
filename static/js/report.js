// A head's report card: each measure of what it does, through training, and the role they amount to, if any.

import * as colour from "./colour.js";
import { about, headName, heads, isAlignment, ready, step, who } from "./current.js";
import { make } from "./dom.js";
import { Figure } from "./figure.js";
import { roleOf, roleSince } from "./roles.js";
import { set, shown, state } from "./store.js";
import { svgText } from "./svg_files.js";
import { say } from "./words.js";

const ROW = 27, NAME = 108, VALUE = 58; // px: height of a line; width of its name, of its number
const SHARES = ["previous", "own", "first", "induction", "agreement"]; // drawn from 0 to 1; the others to their own largest

export class Report {
  constructor(parent) {
    this.figure = new Figure(parent, { title: say("report"), className: "report", about, name: () => `${state.run}-${state.group}-${headName()}-report`, keep: {
      svg: () => svgText(this.svg), csv: () => this.csv() } });
    this.svg = make("svg", { class: "report-lines", role: "img" });
    this.figure.body.append(make("div", { class: "card" }, this.svg));
    this.about = make("small", { class: "report-about" }, say("report_about"));
    this.figure.caption.after(this.about);
    this.svg.addEventListener("click", (event) => this.seek(event));
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.tip = make("title");
    new ResizeObserver(() => ready() && this.draw()).observe(this.figure.body);
  }

  values = (measure) => shown.look.steps.map((_, moment) => shown.look.arrays[`${heads().name}.${measure}`].value(moment, state.layer, state.head));

  draw() {
    const { steps, clear } = shown.look, { measures } = heads();
    this.measures = measures;
    const role = roleOf(shown.look, heads(), state.snapshot, state.layer, state.head);
    const since = steps[roleSince(shown.look, heads(), state.snapshot, state.layer, state.head)];
    const words = { who: who(), clear, step: role.clear ? since : step() };
    this.about.hidden = Boolean(shown.story.checkpoint);
    const told = { ...words, role: role.clear ? say(`role_name.${role.name}`) : "" };
    if (shown.story.checkpoint) this.figure.say(say(role.clear ? "checkpoint.report" : "checkpoint.report_none", told));
    else this.figure.say(!role.clear ? say("report_none", words) : isAlignment() ? say("report_aligned", words) : say("report_caption", told));
    const width = this.svg.parentElement.clientWidth - 28;
    if (width < 60) return;
    const [from, to] = [NAME, width - VALUE], last = Math.log1p(steps.at(-1)) || 1;
    this.x = (moment) => from + 4 + ((to - from - 8) * Math.log1p(steps[moment])) / last;
    const [ink, mute, accent, line] = ["--iv-ink", "--iv-mute", "--iv-accent", "--iv-line"].map(colour.token);
    const said = [];
    const rows = measures.flatMap((measure, row) => {
      const values = this.values(measure), most = SHARES.includes(measure) ? 1 : values.length === 1 ? this.furthest(measure) : Math.max(...values, 1e-9);
      const y = (value) => row * ROW + ROW - 6 - (ROW - 12) * Math.min(1, value / most);
      const hot = measure === role.name, now = values[state.snapshot];
      said.push(`${say(`measure.${measure}`)} ${now.toFixed(2)}`);
      const weight = hot ? 600 : 400, number = { class: "value", "data-measure": measure, "data-value": String(now) };
      const path = values.length === 1 ? `M${from + 4},${row * ROW + 13}h${((to - from - 4) * Math.min(1, now / most)).toFixed(1)}` : values.map((v, i) => `${i ? "L" : "M"}${this.x(i).toFixed(1)},${y(v).toFixed(1)}`).join("");
      return [
        make("text", { x: 0, y: row * ROW + 18, fill: hot ? accent : mute, "font-size": 13, "font-weight": weight },
          make("title", {}, say(`measure_help.${measure}`)), say(`measure.${measure}`)),
        make("line", { x1: from, x2: to, y1: row * ROW + ROW - 6, y2: row * ROW + ROW - 6, stroke: line }),
        make("path", { d: path, fill: "none", stroke: hot ? accent : mute, "stroke-width": values.length === 1 ? 9 : hot ? 2 : 1.4 }),
        make("circle", { cx: this.x(state.snapshot), cy: y(now), r: values.length === 1 ? 0 : 3.2, fill: hot ? accent : ink }),
        make("text", { x: width, y: row * ROW + 18, "text-anchor": "end", fill: hot ? accent : ink, "font-size": 13, "font-weight": weight, ...number },
          now.toFixed(2)),
      ];
    });
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", measures.length * ROW);
    this.svg.setAttribute("aria-label", `${this.figure.caption.textContent} ${said.join(", ")}`);
    this.svg.replaceChildren(this.tip, ...rows);
  }

  // the most that entropy and distance can be, where there is no training to compare with
  furthest(measure) {
    const keys = heads().shape[4];
    return Math.max(1e-9, measure === "entropy" ? Math.log2(keys) : keys - 1);
  }

  // [measure, moment] under the pointer
  at(event) {
    const box = this.svg.getBoundingClientRect(), x = event.clientX - box.left;
    const distances = shown.look.steps.map((_, moment) => Math.abs(this.x(moment) - x));
    return [this.measures[Math.floor((event.clientY - box.top) / ROW)], distances.indexOf(Math.min(...distances))];
  }

  point(event) {
    const [measure, moment] = this.at(event);
    if (!measure) return;
    const words = { name: say(`measure.${measure}`), step: shown.look.steps[moment], value: this.values(measure)[moment].toFixed(4) };
    this.tip.textContent = say("report_tip", words);
  }

  seek(event) {
    if (event.clientX - this.svg.getBoundingClientRect().left >= NAME) set({ snapshot: this.at(event)[1] });
  }

  csv() {
    const columns = this.measures.map((measure) => this.values(measure));
    return [["step", ...this.measures].join(","), ...shown.look.steps.map((at, i) => [at, ...columns.map((values) => values[i])].join(","))].join("\n") + "\n";
  }
}
