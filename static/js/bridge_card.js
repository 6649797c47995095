// One head of a comparison: its map with its tokens, how like it is, and its profile as bars beside the other's.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { Heatmap } from "./heatmap.js";
import { fixed } from "./numbers.js";
import { isolated } from "./token_labels.js";
import { say } from "./words.js";

const ROW = 19, NAME = 92, VALUE = 38, WIDTH = 240; // px of the bars, in their own units
const TALLEST = 240; // px of a map

export class BridgeCard {
  // card: {title, head, tokens, values, limit, pooled, measures, alike, beside, focus, open}
  constructor(parent, card) {
    this.card = card;
    const { title, head, values, tokens, pooled, limit, alike, focus, open } = card, name = `${head.layer}.${head.head}`;
    const heading = make("h4", {}, say("bridge.card", { title, head: name }));
    const number = focus ? make("small", {}, say("bridge.in_focus")) : make("span", { class: head.likeness < alike ? "number poor" : "number", "data-value": String(head.likeness) }, fixed(head.likeness, 2));
    const where = make("div"), more = open ? make("button", { type: "button", class: "small", onclick: open, "aria-label": say("bridge.open_head", { title, head: name }) }, say("bridge.open")) : null;
    this.element = make("div", { class: focus ? "card bridge-card focus" : "card bridge-card", role: "listitem", "data-head": `${head.group}.${name}` }, heading, number, where);
    parent.append(this.element);
    this.map = new Heatmap(where, { square: true, height: TALLEST, axes: () => ({ rows: say("axis_rows"), columns: say("axis_columns") }),
      describe: (row, column) => say(pooled > 1 ? "map_tip_pooled" : "map_tip", { query: isolated(tokens[row]), row, key: isolated(tokens[column]), column, weight: this.map.value(row, column), side: pooled }) });
    this.map.set({ values, rows: tokens, columns: tokens, pooled, limit, label: `${heading.textContent}. ${this.summary()}` });
    this.element.append(this.bars(), ...(head.outside > 0.005 ? [make("small", {}, say("bridge.outside", { share: head.outside }))] : []), ...(more ? [more] : []));
  }

  summary() {
    const { head, measures } = this.card;
    return measures.map((name) => `${say(`bridge.measure.${name}`)} ${fixed(head.profile[name], 2)}`).join(", ");
  }

  // each measure from 0 to 1; a tick where the head in focus has it
  bars() {
    const { head, measures, beside } = this.card, [ink, mute, accent, line] = ["--iv-ink", "--iv-mute", "--iv-accent", "--iv-line"].map(colour.token);
    const long = WIDTH - NAME - VALUE, height = measures.length * ROW;
    const rows = measures.flatMap((name, i) => {
      const value = head.profile[name], y = i * ROW;
      return [
        make("text", { x: 0, y: y + 13, "font-size": 12, fill: mute }, make("title", {}, say(`bridge.help.${name}`)), say(`bridge.measure.${name}`)),
        make("rect", { x: NAME, y: y + 5, width: long, height: 9, fill: line, "fill-opacity": 0.7 }),
        make("rect", { x: NAME, y: y + 5, width: Math.max(0, long * Math.min(1, value)), height: 9, fill: accent }),
        ...(beside ? [make("line", { x1: NAME + long * beside[name], x2: NAME + long * beside[name], y1: y + 2, y2: y + 17, stroke: ink, "stroke-width": 2 })] : []),
        make("text", { x: WIDTH, y: y + 13, "text-anchor": "end", "font-size": 12, fill: ink, class: "value", "data-measure": name, "data-value": String(value) }, fixed(value, 2)),
      ];
    });
    this.svg = make("svg", { viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, role: "img", "aria-label": this.summary() }, ...rows);
    return this.svg;
  }
}
