// One head large: as a map, as arcs, or all heads multiplied up through the layers (attention rollout).

import { askArrays } from "./api.js";
import { Arcs, FAINT, MOST_TOKENS } from "./arcs.js";
import * as colour from "./colour.js";
import { about, axes, darkest, headName, heads, headTitle, pointOf, question, step, weights, who } from "./current.js";
import { chips, make } from "./dom.js";
import { Figure } from "./figure.js";
import { Heatmap } from "./heatmap.js";
import { Latest } from "./latest.js";
import { roleOf, roleWords } from "./roles.js";
import { sentences } from "./sentences.js";
import { set, shown, state } from "./store.js";
import { isolated, quoted } from "./token_labels.js";
import { say } from "./words.js";

export class OneHead {
  constructor(parent, onHover) {
    this.figure = new Figure(parent, { title: say("one_head"), about, name: () => `${state.run}-${state.group}-${this.what()}-step${step()}`, keep: {
      svg: () => this.view.svgText(), csv: () => this.map.csv() } });
    this.zoomBar = make("div", { class: "zoom", hidden: true });
    this.zoomWhere = make("small", { class: "zoom-where" });
    this.figure.tools.append(this.zoomBar);
    this.mapBox = make("div", { class: "as-map" });
    this.arcBox = make("div", { class: "as-arcs" });
    this.nothing = make("p", { class: "nothing", hidden: true });
    this.legend = make("div", { class: "legend" });
    this.figure.body.append(this.mapBox, this.arcBox, this.nothing, this.legend);
    const choose = { onSelect: (cell) => set({ cell }), describe: (row, column) => this.describe(row, column),
      describeToken: (axis, index) => this.describeToken(axis, index) };
    this.map = new Heatmap(this.mapBox, { square: true, zoom: true, onHover, onZoom: (view) => this.showZoom(view),
      axes: () => ({ rows: say("axis_rows"), columns: say("axis_columns") }), ...choose });
    this.arcs = new Arcs(this.arcBox, choose);
    this.exact = new Latest({ ask: ({ path, ...body }) => askArrays(path, body), take: (answer) => this.show(answer.arrays.weights, answer.arrays.allowed ?? null, 0),
      refuse: (sentence) => this.figure.say(sentence), most: 24 });
    this.buildZoom();
  }

  get view() {
    return state.focus === "arcs" ? this.arcs : this.map;
  }

  what = () => (state.focus === "rollout" ? `rollout${state.layer}` : headName());

  draw() {
    const { pooled } = heads(), rolled = state.focus === "rollout", { rows, columns } = axes();
    const long = state.focus === "arcs" && Math.max(rows.length, columns.length) > MOST_TOKENS;
    this.nothing.hidden = !long;
    this.mapBox.hidden = state.focus === "arcs";
    this.arcBox.hidden = long || state.focus !== "arcs";
    this.figure.keep.hidden = long;
    this.exact.forget();
    this.figure.title.textContent = rolled ? say("rollout_title", { layer: state.layer }) : headTitle();
    if (long) {
      this.nothing.textContent = say("arcs_long", { most: MOST_TOKENS, length: Math.max(rows.length, columns.length) });
      this.figure.say(this.sentence());
      this.zoomBar.hidden = this.legend.hidden = true;
      return;
    }
    const tensor = rolled ? shown.look.arrays[`${state.group}.rollout.weights`].at(state.snapshot, state.layer)
      : weights().at(state.snapshot, state.layer, state.head);
    this.show(tensor, shown.look.arrays[`${state.group}.allowed`] ?? null, pooled);
    if (pooled) this.exact.want({ path: rolled ? "rollout" : "head", ...question(), ...this.where() });
  }

  where() {
    if (state.focus !== "rollout") return { point: pointOf(state.layer), head: state.head };
    return { points: Array.from({ length: state.layer + 1 }, (_, layer) => pointOf(layer)) };
  }

  show(values, allowed, pooled) {
    const marks = heads().measures.includes("agreement") && state.focus !== "rollout" ? shown.look.alignment : null;
    const data = { values, ...axes(), allowed, marks, pooled, limit: darkest(values) };
    this.map.selected = this.arcs.selected = state.cell;
    const sentence = this.shownSentence(data);
    data.label = `${sentence.replaceAll("**", "")} ${say(state.focus === "arcs" ? "arcs_axes" : "map_axes")} ${say("map_keys")}`;
    this.map.set(data);
    if (state.focus === "arcs") this.arcs.set(data);
    this.figure.say(sentence);
    this.zoomBar.hidden = state.focus === "arcs" || !this.map.zoomable();
    this.legend.hidden = state.focus === "arcs";
    const scale = colour.scale("weight"), stops = [0, 64, 128, 192, 255].map((level) => colour.css(scale[level]));
    const bar = make("i", { style: `background: linear-gradient(90deg, ${stops.join(", ")})` });
    this.legend.replaceChildren("0", bar, data.limit === 1 ? "1" : data.limit.toFixed(4), make("small", {}, say("map_axes")), this.zoomWhere);
  }

  shownSentence(data) {
    const said = [state.focus === "rollout" ? this.rolloutSentence(data) : this.sentence()];
    if (data.pooled) said.push(say("exact_waiting", { side: data.pooled }));
    if (state.focus === "arcs") said.push(say("arcs_caption", { least: FAINT }));
    return sentences(...said);
  }

  sentence() {
    return roleWords(roleOf(shown.look, heads(), state.snapshot, state.layer, state.head), who());
  }

  rolloutSentence({ values, rows, pooled }) {
    const at = state.cell?.[0] ?? rows.length >> 1, side = pooled || 1;
    const share = (place) => values.value(Math.floor(at / side), Math.floor(place / side));
    const place = rows.reduce((best, _, i) => (i !== at && share(i) > share(best) ? i : best), at ? 0 : 1);
    const words = { layer: state.layer, token: quoted(rows[at]), at, own: share(at) };
    if (rows.length === 1) return say("rollout_alone", words);
    return say("rollout_caption", { ...words, other: quoted(rows[place]), place, share: share(place) });
  }

  select() {
    this.map.selected = this.arcs.selected = state.cell;
    if (state.focus === "rollout" && !this.mapBox.hidden && this.map.data) {
      const { pooled } = this.map.data;
      this.figure.say(this.shownSentence({ ...this.map.data, pooled: pooled > 1 ? pooled : 0 }));
    }
    if (!this.mapBox.hidden || !this.arcBox.hidden) this.view.select(state.cell);
  }

  // a token of the source: its row and its column, where it has them
  pointAt(index) {
    if (state.focus === "arcs" || this.mapBox.hidden || !this.map.data) return;
    const { queries, keys } = heads(), row = queries === "source" ? index : null, column = keys === "source" ? index : null;
    if (index === null || (row === null && column === null)) return this.map.hover(null);
    this.map.reveal([row ?? this.map.window.row, column ?? this.map.window.column]);
    this.map.hover([row, column], this.describeToken(row === null ? "column" : "row", index));
  }

  describe(row, column) {
    const { rows, columns, pooled } = this.map.data;
    const words = { query: isolated(rows[row]), row, key: isolated(columns[column]), column, weight: this.map.value(row, column), side: pooled };
    return say(pooled > 1 ? "map_tip_pooled" : "map_tip", words);
  }

  describeToken(axis, index) {
    const { rows, columns } = this.map.data;
    const strongest = (tokens, value) => tokens.reduce((best, _, i) => (value(i) > value(best) ? i : best), 0);
    const said = (key, tokens, others, value) => {
      const place = strongest(others, value);
      return say(key, { token: isolated(tokens[index]), at: index, other: isolated(others[place]), place, weight: value(place) });
    };
    const row = () => said("token_row", rows, columns, (i) => this.map.value(index, i));
    const column = () => said("token_column", columns, rows, (i) => this.map.value(i, index));
    return rows === columns ? `${row()}\n${column()}` : axis === "row" ? row() : column();
  }

  buildZoom() {
    const centre = () => this.map.selected ?? [this.map.window.row + this.map.window.rows / 2, this.map.window.column + this.map.window.columns / 2];
    const button = (sign, words, times) => make("button", { type: "button", class: "small", title: say(words), "aria-label": say(words),
      onclick: () => this.map.zoom(times, centre().map(Math.floor)) }, sign);
    this.zoomBar.title = say("zoom_hint");
    this.zoomBar.append(button("+", "zoom_in", 2), button("−", "zoom_out", 0.5), button("⤢", "zoom_all", 0));
  }

  showZoom({ row, column, rows, columns }) {
    this.zoomWhere.textContent = this.map.zoomed() ? say("zoom_where", { top: row, bottom: row + rows - 1, left: column, right: column + columns - 1 }) : "";
  }
}
