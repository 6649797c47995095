// One measure of one or more runs over their steps: light enough to be painted anew with every step.

import { make } from "./dom.js";
import { cursorMarks, layOut, sceneOf } from "./train_marks.js";
import { paint } from "./train_scene.js";
import { say } from "./words.js";

export class TrainChart {
  // options: measure, height, title, format(value), logY, range; onMove(step), onPick(step)
  constructor(parent, options) {
    this.options = options;
    this.canvas = make("canvas", { class: "train-canvas", role: "img", tabindex: 0, "data-measure": options.measure });
    this.tip = make("div", { class: "tip", role: "status", hidden: true });
    this.box = make("div", { class: "train-chart-body" }, this.canvas, this.tip);
    this.box.style.height = `${options.height}px`;
    parent.append(make("div", { class: `train-chart train-chart-${options.measure}` }, this.box));
    this.canvas.addEventListener("pointermove", (event) => options.onMove(this.stepAt(event), this));
    this.canvas.addEventListener("pointerleave", () => options.onMove(null, this));
    this.canvas.addEventListener("click", (event) => options.onPick(this.stepAt(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(this.box);
  }

  resize() {
    if (this.width === this.box.clientWidth) return;
    this.width = this.box.clientWidth;
    if (this.data) this.draw();
  }

  // data: {runs: [{number, label, colour, history, focus, live}], scale, last, lines: [{value, name, share}], moments, cursor, pinned}
  set(data) {
    this.data = data;
    this.draw();
  }

  draw() {
    const width = (this.width ||= this.box.clientWidth), { height } = this.options;
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.place = layOut(this.data, this.options, width);
    paint(context, [...this.scene(), ...cursorMarks(this.data, this.options, this.place)]);
    this.showTip();
  }

  scene() {
    return sceneOf(this.data, this.options, this.place);
  }

  showTip() {
    const { cursor, hovered, runs, moments = [] } = this.data;
    this.tip.hidden = cursor === null || hovered !== this;
    if (this.tip.hidden) return;
    const lines = [say("step", { step: cursor })];
    for (const { number, label, history } of runs) {
      const i = history.at(cursor), value = i === null ? null : history.columns[this.options.measure][i];
      if (value != null) lines.push(runs.length > 1 ? `${number}: ${this.options.exact(value)}  ${label}` : this.options.exact(value)); // of a long line, the name may be cut
    }
    const near = moments.filter(({ step }) => Math.abs(this.place.px(step) - this.place.px(cursor)) < 7);
    this.tip.textContent = [...lines, ...near.map(({ step, text }) => `◆ ${say("moment_at", { step, what: text })}`)].join("\n");
    const at = this.place.px(cursor), wide = this.tip.offsetWidth;
    this.tip.style.left = `${at + 12 + wide < this.width ? at + 12 : Math.max(0, at - wide - 12)}px`;
    this.tip.style.top = `${this.place.top + 2}px`;
  }

  stepAt(event) {
    if (!this.place) return null;
    const x = event.clientX - this.canvas.getBoundingClientRect().left, { last, scale } = this.data;
    const share = Math.max(0, Math.min(1, (x - this.place.left) / this.place.inner));
    return Math.round(scale === "log" ? Math.expm1(share * Math.log1p(last)) : share * last);
  }

  key(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -25, PageDown: 25 }[event.key], { cursor, last } = this.data;
    const to = { Home: 1, End: last, Escape: null }[event.key];
    if (!move && to === undefined && event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") return this.options.onPick(cursor);
    this.options.onMove(move ? Math.max(1, Math.min(last, (cursor ?? 0) + move)) : to, this);
  }
}
