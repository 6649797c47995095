// A line at what is pointed at, in all subplots of a figure at once, with a dot on every curve and the exact values beside
// it: laid over the plot, so that moving it redraws nothing, and that it stays while the data grows.

import { evaluate } from "./expressions.js";

const FAR = 25, NEAR = 7, BESIDE = 12; // steps of PageUp and PageDown; px of what is near; px from the line to its text

export class Crosshair {
  constructor(figure) {
    Object.assign(this, { figure, chart: 0, told: false });
    this.layer = Object.assign(document.createElement("div"), { className: "crosshair" });
    this.tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true });
    this.tip.setAttribute("role", "status");
    figure.plot.append(this.layer, this.tip);
    const on = (kind, act) => figure.plot.addEventListener(kind, act, true); // Plotly takes the pointer when it goes down: ours comes first
    on("mousedown", (event) => event.stopPropagation());
    on("pointermove", (event) => (event.movementX || event.movementY) && this.point(this.under(event), true)); // not where the page moves under it
    on("pointerleave", () => this.point(null, false));
    on("click", (event) => this.pick(this.under(event)));
    on("keydown", (event) => this.key(event));
    figure.plot.addEventListener("blur", () => this.point(null, false));
  }

  get spec() {
    return this.figure.spec.crosshair;
  }

  get value() {
    return this.figure.player.page.state[this.spec.key] ?? null;
  }

  get subplots() {
    return Object.keys(this.spec.charts).map((name) => this.figure.plot._fullLayout._plots[name]);
  }

  // a whole number → its x in the data
  at(value) {
    const { arrays, state } = this.figure.context;
    return evaluate(this.spec.x, { arrays, state: { ...state, [this.spec.key]: value } });
  }

  // the value that lies nearest to the pointer; the chart that is under it is the one whose values are told
  under({ clientX, clientY }) {
    const { left, top } = this.figure.plot.getBoundingClientRect(), [x, y] = [clientX - left, clientY - top];
    const away = ({ xaxis, yaxis }) => beyond(x, xaxis) + beyond(y, yaxis), distances = this.subplots.map(away);
    this.chart = distances.indexOf(Math.min(...distances));
    const { xaxis } = this.subplots[this.chart], wanted = xaxis.p2d(Math.max(0, Math.min(xaxis._length, x - xaxis._offset)));
    let { first: low, last: high } = this.spec;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.at(middle) <= wanted) low = middle;
      else high = middle;
    }
    return wanted - this.at(low) < this.at(high) - wanted ? low : high;
  }

  point(value, told) {
    this.told = told;
    if (value === this.value) return this.place();
    this.figure.player.page.set({ [this.spec.key]: value });
  }

  pick(value) {
    if (this.spec.pin) this.figure.player.page.set({ [this.spec.pin]: value });
  }

  key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -FAR, PageDown: FAR }[event.key], chart = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const { first, last } = this.spec, to = { Home: first, End: last, Escape: null }[event.key];
    if (!by && !chart && to === undefined && event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") return this.pick(this.value);
    if (chart) this.chart = Math.max(0, Math.min(this.subplots.length - 1, this.chart + chart));
    this.point(chart ? this.value : by ? Math.max(first, Math.min(last, (this.value ?? first - (by > 0)) + by)) : to, this.value !== null || !chart);
  }

  place() {
    if (!this.figure.plot._fullLayout?._plots) return;
    const { value, spec, subplots, figure: { context } } = this, pinned = spec.pin ? context.state[spec.pin] ?? null : null, marks = [];
    Object.values(spec.charts).forEach(({ dots }, chart) => {
      const { xaxis, yaxis } = subplots[chart], line = (at, name) => mark(name, `left:${xaxis._offset + xaxis.d2p(this.at(at))}px;top:${yaxis._offset}px;height:${yaxis._length}px`);
      if (pinned !== null) marks.push(line(pinned, "pinned"));
      if (value === null) return;
      marks.push(line(value, "at"));
      for (const { x, y, colour } of evaluate(dots, context)) {
        if (x === null || y === null || Number.isNaN(y)) continue;
        const up = Math.max(0, Math.min(yaxis._length, yaxis.d2p(y)));
        marks.push(mark("dot", `left:${xaxis._offset + xaxis.d2p(x)}px;top:${yaxis._offset + up}px;background:${colour}`));
      }
    });
    this.layer.replaceChildren(...marks);
    this.tell();
  }

  tell() {
    const { value, spec, figure: { context, plot } } = this;
    this.tip.hidden = value === null || !this.told;
    if (this.tip.hidden) return;
    const { xaxis, yaxis } = this.subplots[this.chart], px = (x) => xaxis._offset + xaxis.d2p(x), at = px(this.at(value));
    const notes = evaluate(spec.notes, context).filter(({ x }) => Math.abs(px(x) - at) < NEAR).map(({ text }) => text);
    this.tip.textContent = [...evaluate(Object.values(spec.charts)[this.chart].lines, context).filter(({ value: told }) => told !== null && told !== undefined).map(({ text }) => text), ...notes].join("\n");
    const wide = this.tip.offsetWidth;
    this.tip.style.left = `${at + BESIDE + wide < plot.clientWidth ? at + BESIDE : Math.max(0, at - wide - BESIDE)}px`;
    this.tip.style.top = `${yaxis._offset + 2}px`;
  }
}

const beyond = (at, { _offset, _length }) => Math.max(0, _offset - at, at - _offset - _length);

function mark(name, style) {
  const element = document.createElement("i");
  element.className = name;
  element.style.cssText = style;
  return element;
}
