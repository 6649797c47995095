// Plays live figures (app/figures/live.py): when the page's state changes, the attributes bound to it are read from the
// arrays again and moved with Plotly's restyle and relayout. Nothing here knows what is drawn.

import { evaluate, keysOf } from "./expressions.js";
import { named, placed } from "./labels.js";
import { PartsPointer } from "./parts.js";
import { poster } from "./poster.js";

const CONFIG = { displayModeBar: false, responsive: false, doubleClick: "reset", showSendToCloud: false };

const LETTER = 7.8, WIDE_LETTER = 13.5, LONGEST = 14; // px of a letter of a token on an axis, of a Chinese one, and how many of them

// All figures of a page. page: {state, set(changes), plotly() → Promise, templates}
export class Player {
  constructor(page) {
    this.page = page;
    this.figures = new Set();
    this.changed = new Set();
    this.frame = 0;
  }

  add(box, spec, arrays) {
    const figure = new LiveFigure(box, spec, arrays, this);
    this.figures.add(figure);
    return figure;
  }

  remove(figure) {
    this.figures.delete(figure);
    figure.leave();
  }

  // keys of the state have other values; several changes within one frame are one move
  moved(keys) {
    for (const key of keys) this.changed.add(key);
    this.frame ||= requestAnimationFrame(() => {
      const changed = this.changed;
      this.changed = new Set();
      this.frame = 0;
      for (const figure of this.figures) figure.move(changed);
    });
  }

  // a token is pointed at (index null: no longer): {axis: "source", index}
  point(target, from) {
    for (const figure of this.figures) if (figure !== from) figure.light(target);
  }
}

export class LiveFigure {
  constructor(box, spec, arrays, player) {
    Object.assign(this, { box, player, stale: new Set(), inView: true });
    this.plot = box.querySelector(".plot") ?? box;
    this.plot.tabIndex = 0;
    this.plot.setAttribute("role", "img");
    this.plot.addEventListener("keydown", (event) => this.onKey(event));
    this.watching = [new ResizeObserver(() => this.resize()), new IntersectionObserver((entries) => this.scrolled(entries.at(-1).isIntersecting), { rootMargin: "120px" })];
    this.watching.forEach((observer) => observer.observe(this.plot));
    this.show(spec, arrays);
  }

  leave() {
    this.watching.forEach((observer) => observer.disconnect());
    if (this.plot._fullLayout) this.Plotly.purge(this.plot);
  }

  get context() {
    return { arrays: this.arrays, state: this.player.page.state };
  }

  get fileName() {
    return evaluate(this.spec.file, this.context);
  }

  // Another figure in the same place: another run, another input. `drawn` is kept when it is there.
  show(spec, arrays) {
    Object.assign(this, { spec, arrays, every: null, upright: 0 });
    this.bound = Object.entries(spec.bindings).map(([path, expression]) => ({ path: parsed(path), expression, keys: keysOf(expression) }));
    this.words = Object.fromEntries(["title", "caption"].map((part) => [part, keysOf(spec[part])]));
    this.say(null);
    if (!this.Plotly) this.paintPoster();
    return (this.drawn = this.begin(spec));
  }

  async begin(spec) {
    this.Plotly ??= await this.player.page.plotly();
    if (spec === this.spec) await this.draw(); // else there is a newer one
  }

  paintPoster() {
    this.poster?.remove();
    if (!this.plot.clientWidth) return;
    const { width, height } = this.size();
    this.plot.style.height = `${height}px`;
    this.poster = poster(this.spec, this.context, { width, height });
    if (this.poster) this.plot.append(this.poster);
  }

  async draw() {
    if (!this.plot.clientWidth) return void (this.undrawn = true); // in a tab that is not open
    this.undrawn = false;
    const { data, layout } = structuredClone(this.spec.figure), { templates, state, typeSize } = this.player.page;
    for (const { path, expression } of this.bound) put({ data, layout }, path, evaluate(expression, this.context));
    layout.template = templates[state.theme];
    for (const [name, value] of Object.entries(this.size())) put({ data, layout }, parsed(`layout.${name}`), value);
    if (typeSize) layout.font = { ...layout.font, size: typeSize() };
    const first = !this.plot._fullLayout;
    this.stale = new Set();
    this.plot.classList.toggle("scrolls", this.spec.width > 0);
    await this.Plotly.react(this.plot, data, layout, this.spec.parts ? { ...CONFIG, staticPlot: true } : CONFIG);
    this.poster?.remove();
    this.plot.style.height = "";
    this.fit();
    if (first) this.listen();
    this.cursor?.place();
    this.parts?.refresh();
  }

  size() {
    const width = Math.max(this.plot.clientWidth, this.spec.width), height = evaluate(this.spec.height, this.context), { margin } = this.spec.figure.layout;
    return { width, height: height === "square" ? Math.min(width, Math.max(300, window.innerHeight - 330)) : height + (this.upright ?? 0),
      ...(this.spec.width && { "margin.r": (margin?.r ?? 0) + width - this.spec.width }), ...(this.upright && { "margin.t": margin.t + this.upright }) };
  }

  resize() {
    if (!this.Plotly) return this.paintPoster();
    if (this.undrawn) return void (this.drawn = this.draw());
    if (this.plot.clientWidth && this.size().width !== this.plot._fullLayout?.width) {
      this.Plotly.relayout(this.plot, this.size()).then(() => { this.fit(); this.cursor?.place(); });
    }
    if (this.stale.size) this.move(new Set());
  }

  scrolled(inView) {
    this.inView = inView;
    if (inView && this.stale.size) this.move(new Set());
  }

  // The attributes that follow what has changed, in one update; a figure out of sight waits until it is seen.
  move(changed) {
    this.say(changed);
    if (!this.plot._fullLayout) return changed.size && this.Plotly === undefined ? this.paintPoster() : undefined;
    if (!this.plot.clientWidth || !this.inView) return changed.forEach((key) => this.stale.add(key));
    const keys = this.stale.size ? new Set([...this.stale, ...changed]) : changed;
    this.stale = new Set();
    const moving = this.bound.filter((binding) => meets(binding.keys, keys)), traces = [...new Set(moving.map(({ path }) => path.trace))].filter((trace) => trace !== null);
    const update = {}, layout = {};
    for (const { path, expression } of moving) {
      const value = evaluate(expression, this.context);
      if (path.trace === null) layout[path.rest] = value;
      else (update[path.rest] ??= traces.map(() => undefined))[traces.indexOf(path.trace)] = value; // undefined: as it is
    }
    if (meets(keysOf(this.spec.height), keys)) Object.assign(layout, this.size());
    if (keys.has("theme")) layout.template = this.player.page.templates[this.player.page.state.theme];
    if (traces.length && Object.keys(layout).length) this.Plotly.update(this.plot, update, layout, traces);
    else if (traces.length) this.Plotly.restyle(this.plot, update, traces);
    else if (Object.keys(layout).length) this.Plotly.relayout(this.plot, layout);
    if (keys.has("language") || keys.has("theme") || this.refits(keys)) this.fit();
    else if (moving.length) this.fitTokens();
    this.parts?.refresh();
    if (keys.has(this.spec.cursor?.key)) this.cursor?.place();
  }

  // whether labels or the ends of named lines are elsewhere now
  refits(keys) {
    if (this.spec.names && this.bound.some((binding) => binding.path.trace !== null && meets(binding.keys, keys))) return true;
    return this.spec.labels.some(({ about }) => Object.keys(about).some((key) => keys.has(key)));
  }

  // More points at the ends of traces, as training makes them: [{trace, x: […], y: […]}]
  extend(points) {
    if (!this.plot._fullLayout) return;
    this.Plotly.extendTraces(this.plot, { x: points.map(({ x }) => x), y: points.map(({ y }) => y) }, points.map(({ trace }) => trace));
  }

  // Title and caption, as far as they follow what has changed (null: all).
  say(changed) {
    for (const part of ["title", "caption"]) {
      const element = this.box.querySelector(`.${part}`);
      if (!element || (changed && !meets(this.words[part], changed))) continue;
      const sentence = evaluate(this.spec[part], this.context);
      element.replaceChildren(...emphasised(sentence));
      if (part === "caption") this.plot.setAttribute("aria-label", [sentence.replaceAll("**", ""), evaluate(this.spec.description, this.context)].filter(Boolean).join(" "));
    }
  }

  listen() {
    if (this.spec.parts) return void (this.parts = new PartsPointer(this));
    this.plot.on("plotly_click", ({ points: [point] }) => Object.keys(this.spec.click).length && !this.spec.cursor && this.player.page.set(this.picked(point)));
    this.plot.on("plotly_hover", ({ points: [point] }) => {
      this.hovered = Object.keys(this.spec.click).length ? point : null;
      for (const [axis, name] of Object.entries(this.spec.links)) this.player.point({ axis: name, index: indexOf(point, axis) }, this);
    });
    this.plot.on("plotly_unhover", () => {
      this.hovered = null;
      if (Object.keys(this.spec.links).length) this.player.point(null, this);
    });
    this.plot.on("plotly_relayout", () => this.fitTokens());
    if (this.spec.cursor) this.cursor = new Cursor(this);
  }

  // What a click on a point sets in the state.
  picked(point) {
    return this.clicked({ x: indexOf(point, "x"), y: indexOf(point, "y"), point: point.pointNumber, curve: point.curveNumber, customdata: point.customdata });
  }

  clicked(state) {
    const value = (from) => (typeof from === "string" ? state[from] : evaluate(from, { arrays: this.arrays, state }));
    return Object.fromEntries(Object.entries(this.spec.click).map(([key, from]) => [key, value(from)]));
  }

  onKey(event) {
    if (this.spec.parts) return this.parts?.key(event);
    const [axis, by] = { ArrowLeft: ["x", -1], ArrowRight: ["x", 1], ArrowUp: ["y", -1], ArrowDown: ["y", 1] }[event.key] ?? [];
    const [key, count] = this.spec.arrows[axis] ?? [];
    if (!key) return;
    event.preventDefault();
    event.stopPropagation();
    this.player.page.set({ [key]: Math.max(0, Math.min(count - 1, Number(this.player.page.state[key] ?? 0) + by)) });
  }

  // A token that is pointed at elsewhere: its row and its column here.
  light(target) {
    if (!this.plot._fullLayout || !Object.keys(this.spec.links).length) return;
    this.box.querySelectorAll(".lit").forEach((band) => band.remove());
    for (const [axis, name] of Object.entries(this.spec.links)) {
      if (target?.axis !== name) continue;
      const of = this.plot._fullLayout[`${axis}axis`], [a, b] = [target.index - 0.5, target.index + 0.5].map((at) => of.d2p(at)).sort((p, q) => p - q);
      const band = document.createElement("i"), across = this.plot._fullLayout[axis === "x" ? "yaxis" : "xaxis"];
      band.className = "lit";
      const [left, top, width, height] = axis === "x" ? [of._offset + a, across._offset, b - a, across._length] : [across._offset, of._offset + a, across._length, b - a];
      band.style.cssText = `left:${left}px;top:${top}px;width:${width}px;height:${height}px`;
      this.plot.append(band);
    }
  }

  // What depends on the room there is.
  fit() {
    this.fitTokens();
    const { labels, names, figure } = this.spec, { state, templates } = this.player.page;
    if (!labels.length && !names) return;
    const words = labels.map((label) => ({ ...label, text: evaluate(label.text, this.context) }));
    const annotations = [...(this.plot.layout.annotations ?? []).slice(0, figure.layout.annotations?.length ?? 0), ...placed(words, this.plot, state, templates[state.theme].layout.colorway[2])];
    this.Plotly.relayout(this.plot, names ? named(this.plot, annotations) : { annotations });
  }

  // As many token labels as there is room for at this zoom.
  fitTokens() {
    if (!this.plot._fullLayout) return;
    const changes = {};
    for (const [axis, tokens] of Object.entries(evaluate(this.spec.tokens, this.context))) {
      const { _length, range } = this.plot._fullLayout[`${axis}axis`], px = _length / Math.abs(range[1] - range[0]), free = axis === "x" && this.spec.figure.layout.xaxis.tickangle === undefined;
      const wide = free ? tokens.map(widthOf) : [], lie = wide.some((width, i) => (width + (wide[i + 1] ?? 0)) / 2 + 3 > px) ? -90 : 0; // labels that have no room beside each other stand upright
      const every = Math.max(1, Math.ceil((axis === "y" || lie ? 13 : free ? 1 : Math.max(14, 8 * Math.min(8, longest(tokens)))) / px));
      if (this.every?.[axis] === every + lie) continue;
      this.every = { ...this.every, [axis]: every + lie };
      const places = tokens.map((_, i) => i).filter((i) => i % every === 0);
      Object.assign(changes, { [`${axis}axis.tickvals`]: places, [`${axis}axis.ticktext`]: places.map((i) => label(tokens[i])) });
      if (!free) continue;
      this.upright = lie ? Math.max(0, Math.ceil(Math.max(...wide)) - 12) : 0;
      Object.assign(changes, { "xaxis.tickangle": lie, "margin.t": this.spec.figure.layout.margin.t }, this.size());
    }
    if (Object.keys(changes).length) this.Plotly.relayout(this.plot, changes);
  }

  // Twice as large (2), half (0.5) or all of it (0), around the chosen cell.
  zoom(times) {
    const changes = {}, { state } = this.player.page;
    for (const axis of ["x", "y"]) {
      const [key, count] = this.spec.arrows[axis] ?? [], [from, to] = this.plot._fullLayout[`${axis}axis`].range;
      const whole = this.spec.figure.layout[`${axis}axis`].range, size = Math.min(count, Math.abs(to - from) / (times || 1));
      const middle = Math.max(size / 2, Math.min(count - size / 2, (state[key] ?? 0) + 0.5)) - 0.5, turned = to < from ? -1 : 1;
      changes[`${axis}axis.range`] = !times || size >= count ? whole : [middle - (turned * size) / 2, middle + (turned * size) / 2];
    }
    this.Plotly.relayout(this.plot, changes);
  }
}

// The playhead: a line laid over the plot, so that moving it redraws nothing; it can be dragged.
class Cursor {
  constructor(figure) {
    this.figure = figure;
    this.line = Object.assign(document.createElement("i"), { className: "cursor" });
    figure.plot.append(this.line);
    let held = false; // Plotly takes the pointer when it goes down: ours comes first, and keeps it
    const on = (kind, act) => figure.plot.addEventListener(kind, act, true);
    on("pointerdown", (event) => {
      const { hovered } = figure;
      if (hovered) return figure.player.page.set(figure.picked(hovered)); // a mark of its own
      held = true;
      figure.plot.setPointerCapture(event.pointerId);
      this.drag(event);
    });
    on("mousedown", (event) => event.stopPropagation());
    on("pointermove", (event) => held && this.drag(event));
    on("pointerup", () => { held = false; });
  }

  get steps() {
    return this.figure.spec.cursor.x;
  }

  drag(event) {
    const axis = this.figure.plot._fullLayout.xaxis, at = event.clientX - this.figure.plot.getBoundingClientRect().left - axis._offset;
    const away = this.steps.map((step) => Math.abs(axis.d2p(step) - at));
    this.figure.player.page.set({ [this.figure.spec.cursor.key]: away.indexOf(Math.min(...away)) });
    event.stopPropagation();
    event.preventDefault();
  }

  place() {
    const { xaxis, yaxis } = this.figure.plot._fullLayout, { state } = this.figure.player.page;
    const step = this.steps[Math.min(state[this.figure.spec.cursor.key], this.steps.length - 1)];
    this.line.style.cssText = `left:${xaxis._offset + xaxis.d2p(step)}px;top:${yaxis._offset}px;height:${yaxis._length}px`;
  }
}

const meets = (some, others) => { for (const one of some) if (others.has(one)) return true; return false; };
// a token as a label: text, never markup
const label = (token) => { const letters = [...String(token)]; return escaped(letters.length > LONGEST ? `${letters.slice(0, LONGEST - 1).join("")}…` : String(token)); };
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const widthOf = (token) => [...String(token)].slice(0, LONGEST).reduce((sum, letter) => sum + (letter > "\u2e7f" ? WIDE_LETTER : LETTER), 0);
const longest = (tokens) => tokens.reduce((most, token) => Math.max(most, token.length), 1);

// the index of a heatmap's row or column, or of a point
function indexOf({ pointNumber, pointIndex = pointNumber, x, y }, axis) {
  if (Array.isArray(pointIndex)) return pointIndex[axis === "x" ? 1 : 0];
  return Number.isInteger(axis === "x" ? x : y) ? (axis === "x" ? x : y) : pointIndex;
}

// "data[2].marker.color" → {trace: 2, rest: "marker.color"}; "layout.shapes[0].x0" → {trace: null, rest: "shapes[0].x0"}
function parsed(path) {
  const [, trace, rest] = path.match(/^(?:data\[(\d+)\]|layout)\.(.+)$/);
  return { trace: trace === undefined ? null : Number(trace), rest };
}

function put({ data, layout }, { trace, rest }, value) {
  const names = rest.replace(/\[(\d+)\]/g, ".$1").split("."), last = names.pop();
  let target = trace === null ? layout : data[trace];
  for (const name of names) target = target[name] ??= {};
  target[last] = value;
}

// "**91 %** of its weight" as text and <b>: always text, never markup
export const emphasised = (sentence) => sentence.split("**").map((part, i) => {
  if (i % 2 === 0) return document.createTextNode(part);
  return Object.assign(document.createElement("b"), { textContent: part });
});
