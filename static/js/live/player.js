// Plays live figures (app/figures/live.py): when the page's state changes, the attributes bound to it are read from the
// arrays again and moved with Plotly's restyle and relayout. Nothing here knows what is drawn.

import { Crosshair } from "./crosshair.js";
import { evaluate, keysOf } from "./expressions.js";
import { named, placed } from "./labels.js";
import { namesBeside } from "./point_names.js";
import { PartsPointer } from "./parts.js";
import { poster } from "./poster.js";
import { redraw } from "./redraw.js";
import { writeTable } from "./table.js";

const WIDTH = new Set(["width"]);
const ZOOM_KEYS = { "+": 2, "-": 0.5, 0: 0 };
const REST_MS = 150;
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
    const figure = new (spec.figure.data[0]?.type === "table" ? LiveTable : LiveFigure)(box, spec, arrays, this);
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

  // tokens are pointed at: {source: 3, written: 5}, by the names of their axes; null: no longer
  point(tokens, from = null) {
    this.tokens = tokens;
    for (const figure of this.figures) if (figure !== from) figure.light(tokens);
    this.onPoint?.(tokens);
  }
}

export class LiveFigure {
  constructor(box, spec, arrays, player) {
    Object.assign(this, { box, player, stale: new Set(), inView: true });
    this.plot = box.querySelector(".plot") ?? box;
    this.room = this.plot.clientWidth; // px; asked for at every move, it would have the page laid out again each time
    this.plot.tabIndex = 0;
    this.plot.setAttribute("role", "img");
    this.plot.addEventListener("keydown", (event) => this.onKey(event));
    this.plot.addEventListener("blur", () => this.pointed && this.Plotly.Fx.unhover(this.plot));
    this.watching = [new ResizeObserver(() => { this.room = this.plot.clientWidth; this.resize(); }), new IntersectionObserver((entries) => this.scrolled(entries.at(-1).isIntersecting), { rootMargin: "120px" })];
    this.watching.forEach((observer) => observer.observe(this.plot));
    this.show(spec, arrays);
  }

  leave() {
    this.watching.forEach((observer) => observer.disconnect());
    if (this.plot._fullLayout) this.Plotly.purge(this.plot);
  }

  // the page's state, and the room of this figure
  get context() {
    this.state ??= Object.create(this.player.page.state);
    this.state.width = this.room || 640;
    return { arrays: this.arrays, state: this.state };
  }

  get fileName() {
    return evaluate(this.spec.file, this.context);
  }

  // Another figure in the same place: another run, another input. `drawn` is kept when it is there.
  show(spec, arrays) {
    this.part = spec.zoom && spec.zoom === this.spec?.zoom ? ["x", "y"].map((axis) => this.plot._fullLayout?.[`${axis}axis`].range.slice()) : null;
    Object.assign(this, { spec, arrays, every: null, pointed: null, upright: 0 });
    this.bound = Object.entries(spec.bindings).map(([path, expression]) => ({ path: parsed(path), expression, keys: keysOf(expression) }));
    this.words = Object.fromEntries(["title", "caption"].map((part) => [part, keysOf(spec[part])]));
    this.tokenKeys = keysOf(spec.tokens);
    this.fitted = keysOf(spec.labels.map(({ text }) => text));
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
    this.room = this.plot.clientWidth;
    if (!this.room) return;
    const { width, height } = this.size();
    this.plot.style.height = `${height}px`;
    this.poster = poster(this.spec, this.context, { width, height });
    if (this.poster) this.plot.append(this.poster);
  }

  async draw() {
    this.room = this.plot.clientWidth;
    if (!this.room) return void (this.undrawn = true); // in a tab that is not open
    this.undrawn = false;
    const { data, layout } = structuredClone(this.spec.figure), { templates, state, typeSize } = this.player.page;
    for (const binding of this.bound) {
      const value = evaluate(binding.expression, this.context);
      if (typeof value !== "object" || binding.path.trace === null) binding.written = JSON.stringify(value);
      put({ data, layout }, binding.path, value);
    }
    layout.template = templates[state.theme];
    for (const [name, value] of Object.entries(this.size())) put({ data, layout }, parsed(`layout.${name}`), value);
    if (typeSize) layout.font = { ...layout.font, size: typeSize() };
    this.part?.forEach((range, i) => range && Object.assign(layout[`${"xy"[i]}axis`], { range }));
    const first = !this.plot._fullLayout;
    this.stale = new Set();
    this.plot.classList.toggle("scrolls", this.spec.width > 0);
    await this.Plotly.react(this.plot, data, layout, { ...CONFIG, scrollZoom: Boolean(this.spec.zoom), staticPlot: Boolean(this.spec.parts) });
    this.poster?.remove();
    this.plot.style.height = "";
    this.fit();
    if (first) this.listen();
    this.cursor?.place();
    this.crosshair?.place();
    this.parts?.refresh();
    if (this.player.tokens) this.light(this.player.tokens); // pointed at before it was there
  }

  size() {
    const width = Math.max(this.plot.clientWidth, this.spec.width), { height, highest, figure: { data: [first], layout: { hovermode, margin } } } = this.spec;
    if (Array.isArray(height)) return { width, height: Math.max(height[0], Math.min(height[2] ?? Infinity, window.innerHeight - height[1] * (this.player.page.typeSize?.() ?? 13) / 13)) };
    const { l, r, t, b } = { l: 8, r: 8, t: 8, b: 8, ...margin };
    // of lines over one axis the nearest points are told, none farther
    const near = hovermode === "x unified" ? { hoverdistance: Math.ceil((width - l - r) / Math.max(1, first.x.length - 1) / 2) + 1 } : {};
    if (height !== "square") {
      return { width, height: evaluate(height, this.context) + this.upright, ...near,
        ...(this.spec.width && { "margin.r": r + width - this.spec.width }), ...(this.upright && { "margin.t": t + this.upright }) };
    }
    return { width, height: Math.min(width - l - r, (highest && highest - t - b) || Math.max(260, window.innerHeight - 350)) + t + b, ...near };
  }

  resize() {
    if (!this.Plotly) return this.paintPoster();
    if (this.undrawn) return void (this.drawn = this.draw());
    if (this.plot.clientWidth && this.plot._fullLayout && this.size().width !== this.plot._fullLayout.width) {
      this.Plotly.relayout(this.plot, this.size()).then(() => {
        this.move(WIDTH);
        this.fit();
        this.cursor?.place();
        this.crosshair?.place();
      });
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
    if (!this.room || !this.inView) return changed.forEach((key) => this.stale.add(key));
    const keys = this.stale.size ? new Set([...this.stale, ...changed]) : changed;
    this.stale = new Set();
    const moving = this.bound.filter((binding) => meets(binding.keys, keys)), changes = [];
    for (const binding of moving) {
      const value = evaluate(binding.expression, this.context), written = typeof value === "object" && binding.path.trace !== null ? null : JSON.stringify(value);
      if (written === null || written !== binding.written) changes.push({ path: binding.path, value }); // what stays costs no redraw
      binding.written = written;
    }
    const layout = meets(keysOf(this.spec.height), keys) ? this.size() : {};
    if (keys.has("theme")) layout.template = this.player.page.templates[this.player.page.state.theme];
    const left = Object.keys(layout).length ? changes : redraw(this.plot, changes);
    this.update(left, layout);
    if (keys.has("language") || keys.has("theme") || this.refits(keys)) this.fit();
    else if (meets(this.tokenKeys, keys) || left.length) this.fitTokens();
    if (this.relabels(keys)) this.fitSoon();
    this.parts?.refresh();
    if (keys.has(this.spec.cursor?.key)) this.cursor?.place();
    this.crosshair?.place();
  }

  // whether another of several labels at one place comes first now
  relabels(keys) {
    return this.spec.labels.some(({ about }) => Object.keys(about).some((key) => keys.has(key)));
  }

  // when nothing has moved for a while
  fitSoon() {
    clearTimeout(this.fitting);
    this.fitting = setTimeout(() => this.plot._fullLayout && this.fit(), REST_MS);
  }

  update(changes, layout) {
    const traces = [...new Set(changes.map(({ path }) => path.trace))].filter((trace) => trace !== null), update = {};
    for (const { path: { trace, rest }, value } of changes) {
      if (trace === null) layout[rest] = value;
      else (update[rest] ??= traces.map(() => undefined))[traces.indexOf(trace)] = value; // undefined: as it is
    }
    if (traces.length) this.Plotly.update(this.plot, update, layout, traces);
    else if (Object.keys(layout).length) this.Plotly.relayout(this.plot, layout);
  }

  // whether labels or the ends of named lines are elsewhere now
  refits(keys) {
    if (this.spec.point_names && meets(keysOf(this.spec.point_names), keys)) return true;
    if (this.spec.names && this.bound.some((binding) => binding.path.trace !== null && meets(binding.keys, keys))) return true;
    return meets(this.fitted, keys);
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
      element.classList.toggle("none", !sentence);
      element.replaceChildren(...emphasised(sentence));
      if (part === "caption") this.plot.setAttribute("aria-label", [sentence, evaluate(this.spec.description, this.context)].filter(Boolean).join(" ").replaceAll("**", ""));
    }
  }

  listen() {
    if (this.spec.parts) return void (this.parts = new PartsPointer(this));
    this.plot.on("plotly_click", ({ points: [point] }) => Object.keys(this.spec.click).length && !this.spec.cursor && this.player.page.set(this.picked(point)));
    this.plot.addEventListener("click", (event) => this.pickRow(event));
    this.plot.on("plotly_treemapclick", ({ points: [point] }) => { // an area is chosen, not enlarged
      this.player.page.set(this.picked(point));
      return false;
    });
    this.plot.on("plotly_hover", ({ points: [point] }) => {
      this.hovered = Object.keys(this.spec.click).length ? point : null;
      this.pointFrom((axis) => indexOf(point, axis));
    });
    this.plot.on("plotly_unhover", () => {
      this.hovered = null;
      if (Object.keys(this.spec.links).length) this.player.point(null, this);
    });
    this.plot.on("plotly_relayout", () => { this.fitTokens(); this.tellZoom(); });
    if (this.spec.cursor) this.cursor = new Cursor(this);
    if (this.spec.crosshair) this.crosshair = new Crosshair(this);
  }

  // The tokens at these places of the axes, told to the others; both may lie on one axis.
  pointFrom(indexAt) {
    const tokens = {};
    for (const [axis, name] of Object.entries(this.spec.links)) (tokens[name] ??= []).push(indexAt(axis));
    if (Object.keys(tokens).length) this.player.point(tokens, this);
  }

  // What a click on a point sets in the state.
  picked(point) {
    const state = { x: indexOf(point, "x"), y: indexOf(point, "y"), point: point.pointNumber, curve: point.curveNumber, customdata: point.customdata };
    return this.clicked(state);
  }

  clicked(place) {
    return Object.fromEntries(Object.entries(this.spec.click).map(([key, from]) => [key, this.valueOf(from, place)]).filter(([, value]) => value !== undefined));
  }

  valueOf(from, clicked) {
    return typeof from === "string" ? clicked[from] : evaluate(from, { arrays: this.arrays, state: { ...this.player.page.state, ...clicked } });
  }

  // A click on a row's name, left of the plot, chooses the row alone.
  pickRow({ clientX, clientY }) {
    const { xaxis, yaxis } = this.plot._fullLayout;
    if (!xaxis || !yaxis) return; // a treemap has none
    const box = this.plot.getBoundingClientRect(), at = clientY - box.top - yaxis._offset;
    if (clientX - box.left >= xaxis._offset || at < 0 || at > yaxis._length || this.spec.cursor) return;
    const uses = (from, axis) => from === axis || keysOf(from).has(axis), y = Math.round(yaxis.p2l(at));
    const rows = Object.entries(this.spec.click).filter(([, from]) => uses(from, "y") && !uses(from, "x"));
    if (rows.length) this.player.page.set(Object.fromEntries(rows.map(([key, from]) => [key, this.valueOf(from, { y })])));
  }

  onKey(event) {
    if (this.spec.parts) return this.parts?.key(event);
    const [axis, by] = { ArrowLeft: ["x", -1], ArrowRight: ["x", 1], ArrowUp: ["y", -1], ArrowDown: ["y", 1] }[event.key] ?? [];
    const [key, among] = this.spec.arrows[axis] ?? [], { state, set } = this.player.page;
    const enter = event.key === "Enter" && this.pointed && Object.keys(this.spec.click).length && this.plot._hoverdata?.[0];
    if (this.spec.zoom && event.key in ZOOM_KEYS) this.zoom(ZOOM_KEYS[event.key]);
    if (this.spec.reads && !key) return this.read(event);
    if (!key && !enter && !this.pointNext(axis, by)) return;
    event.preventDefault();
    event.stopPropagation();
    if (enter) set(this.picked(enter));
    if (!key) return;
    const values = typeof among === "number" ? null : evaluate(among, this.context), count = values?.length ?? among; // in their order
    const next = Math.max(0, Math.min(count - 1, (values ? values.indexOf(state[key]) : Number(state[key] ?? 0)) + by));
    set({ [key]: values ? values[next] : next });
    this.pointFrom((of) => Number(state[this.spec.arrows[of]?.[0]]));
  }

  // Arrow keys that choose nothing show the exact numbers cell by cell, as the pointer does; Enter is a click.
  pointNext(axis, by) {
    if (!axis || this.spec.cursor || !this.plot._fullLayout) return false;
    const curveNumber = this.plot._fullData.findIndex(({ hoverinfo, visible }) => hoverinfo !== "skip" && visible === true), { type, x, z } = this.plot._fullData[curveNumber] ?? {};
    const within = (at, many) => Math.max(0, Math.min(many - 1, at)), { Fx } = this.Plotly;
    if (type === "heatmap") {
      const [row, column] = this.pointed ?? [0, 0];
      this.pointed = axis === "x" ? [row, within(column + by, z[0].length)] : [within(row + by, z.length), column];
      Fx.hover(this.plot, [{ curveNumber, pointNumber: this.pointed }]);
    } else {
      if (axis !== "x" || !x?.length) return false;
      this.pointed = [within((this.pointed?.[0] ?? -1) + by, x.length)];
      Fx.hover(this.plot, this.plot._fullLayout.hovermode === "x unified" ? { xval: x[this.pointed[0]] } : [{ curveNumber, pointNumber: this.pointed[0] }], "xy");
    }
    return true;
  }

  // The hover text, moved by keys through the cells of heatmaps, one after the other.
  read(event) {
    const maps = this.plot.data.flatMap(({ type }, trace) => (type === "heatmap" ? [trace] : []));
    const move = { ArrowUp: [0, -1, 0], ArrowDown: [0, 1, 0], ArrowLeft: [0, 0, -1], ArrowRight: [0, 0, 1], PageUp: [-1, 0, 0], PageDown: [1, 0, 0] }[event.key];
    if (!move || !maps.length) return;
    event.preventDefault();
    event.stopPropagation();
    const [map, row, column] = (this.reading ?? [0, 0, -1]).map((at, i) => at + move[i]), kept = (at, count) => Math.max(0, Math.min(count - 1, at));
    const at = kept(map, maps.length), { z } = this.plot.data[maps[at]], cell = [kept(row, z.length), kept(column, z[0].length)], { xaxis, yaxis } = this.plot._fullData[maps[at]];
    this.reading = [at, ...cell];
    this.Plotly.Fx.hover(this.plot, [{ curveNumber: maps[at], pointNumber: cell }], [`${xaxis}${yaxis}`]);
  }

  // Tokens that are pointed at elsewhere: their rows and columns here, and what is to be said of them.
  light(tokens) {
    if (!this.plot._fullLayout || !Object.keys(this.spec.links).length) return;
    this.plot.querySelectorAll(".lit, .tip").forEach((part) => part.remove());
    const said = [];
    for (const [axis, name] of Object.entries(this.spec.links)) {
      const index = [tokens?.[name] ?? []].flat()[0];
      if (index === undefined) continue;
      const of = this.plot._fullLayout[`${axis}axis`], [a, b] = [index - 0.5, index + 0.5].map((at) => of.d2p(at)).sort((p, q) => p - q);
      const across = this.plot._fullLayout[axis === "x" ? "yaxis" : "xaxis"];
      const [left, top, width, height] = axis === "x" ? [of._offset + a, across._offset, b - a, across._length] : [across._offset, of._offset + a, across._length, b - a];
      this.overlay("lit", `left:${left}px;top:${top}px;width:${width}px;height:${height}px`);
      if (this.spec.pointed[axis]) said.unshift(evaluate(this.spec.pointed[axis], { arrays: this.arrays, state: Object.assign(Object.create(this.player.page.state), { pointed: index }) }));
    }
    if (said.length) this.overlay("tip", "position:absolute;left:8px;bottom:8px;white-space:pre").textContent = said.join("\n");
  }

  overlay(className, style) {
    const part = Object.assign(document.createElement("i"), { className });
    part.style.cssText = style;
    this.plot.append(part);
    return part;
  }

  // What depends on the room there is.
  fit() {
    this.fitTokens();
    const { labels, names, figure, point_names: points } = this.spec, { state, templates } = this.player.page;
    if (!labels.length && !names && !points) return;
    const words = labels.map((label) => ({ ...label, text: evaluate(label.text, this.context) }));
    const { annotations, shapes } = placed(words, this.plot, state, templates[state.theme].layout.colorway[2], this.spec);
    const own = (part) => (this.plot.layout[part] ?? []).slice(0, figure.layout[part]?.length ?? 0), all = [...own("annotations"), ...annotations];
    const beside = points ? namesBeside(evaluate(points, this.context), this.plot) : [];
    all.push(...beside);
    if (points?.legend) return void this.Plotly.relayout(this.plot, { annotations: all, showlegend: beside.length < points.text.length });
    const wanted = { ...(names ? named(this.plot, all) : { annotations: all }), ...(labels.length ? { shapes: [...own("shapes"), ...shapes] } : {}) };
    const changes = Object.entries(wanted).filter(([path, value]) => JSON.stringify(value) !== JSON.stringify(path.split(".").reduce((part, name) => part?.[name], this.plot.layout)));
    if (changes.length) this.Plotly.relayout(this.plot, Object.fromEntries(changes)); // what stays would be drawn again
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

  // Which part of the axes is shown: null for all.
  tellZoom() {
    if (!this.spec.zoom) return;
    const [[left, right], [top, bottom]] = ["x", "y"].map((axis) => this.plot._fullLayout[`${axis}axis`].range.map(Number).sort((a, b) => a - b));
    const [columns, rows] = ["x", "y"].map((axis) => this.spec.arrows[axis][1]), whole = right - left >= columns - 0.01 && bottom - top >= rows - 0.01;
    this.onZoom?.(whole ? null : { top: Math.ceil(top), bottom: Math.floor(bottom), left: Math.ceil(left), right: Math.floor(right) });
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

// A table (go.Table) is one of the page's own: its numbers can be read, selected and scrolled without Plotly.
class LiveTable extends LiveFigure {
  async begin(spec) {
    if (spec !== this.spec) return;
    const { data, layout } = structuredClone(spec.figure);
    for (const { path, expression } of this.bound) put({ data, layout }, path, evaluate(expression, this.context));
    this.plot.setAttribute("role", "group");
    writeTable(this.plot, data[0]);
  }

  move(changed) {
    this.say(changed);
    if (this.bound.some(({ keys }) => meets(keys, changed))) this.drawn = this.begin(this.spec);
  }

  paintPoster() {}
  resize() {}
  scrolled() {}
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
