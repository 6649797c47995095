// Rows of tokens one below the other, place by place: what goes in and what should come out, links between them, spans
// under the first row. Cells can be pointed at and walked with arrow keys.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { fontOf, shortened } from "./token_labels.js";
import { csvLine, Walkable, within } from "./walk.js";

const TYPE = 14, CELL = 26, NAME = 20, GAP = 12, PAD = 9, LEAST = 24, BETWEEN = 4, SPAN = 24; // px
const MOST_LETTERS = 18;
const TONES = { light: ["#0b7a75", "#9a5c00", "#5b4bb5", "#a8326b", "#4d6b1f"], dark: ["#4fc3b8", "#f0b04a", "#b0a5ff", "#f28ab5", "#b4d672"] };
const ruler = document.createElement("canvas").getContext("2d");

// what BIO tags speak of, in the order of all tags of a task: a kind has its colour wherever it is drawn
export const kindsOf = (tags) => [...new Set(tags.filter((tag) => tag.includes("-")).map((tag) => tag.slice(2)))];
export const kindTone = (i) => TONES[colour.dark() ? "dark" : "light"][i % 5];

export class Lanes {
  constructor(parent, { select = null } = {}) {
    this.walk = new Walkable(parent, { className: "lanes", select: (i) => select?.(this.places[i]), step: (i, key) => this.step(i, key) });
  }

  // lanes: [{name, cells: [{text, words, tone, faint, bold} or null], own}], own: it has columns of its own
  // links: [{from: [lane, place], to: [lane, place]}]; spans: [{start, end, name, words, tone, faint}] under lane 0
  set({ lanes, label, links = [], spans = [] }) {
    this.data = { lanes, links, spans };
    const shared = widths(lanes.filter(({ own }) => !own)), shapes = [], parts = [], names = [];
    this.places = [];
    this.boxes = [];
    const levels = stack(spans), deep = spans.length ? Math.max(...levels) + 1 : 0;
    let y = 0;
    lanes.forEach(({ name, cells, own }, lane) => {
      const sides = own ? widths([{ cells }]) : shared, [ink, mute] = ["--iv-ink", "--iv-mute"].map(colour.token);
      names.push(make("text", { x: 0, y: y + 13, "font-size": 12.5, fill: mute, stroke: colour.token("--iv-paper"), "stroke-width": 5, "paint-order": "stroke" }, name)); // links pass behind it
      y += NAME;
      let x = 1;
      this.boxes.push(sides.map((side) => { const box = [x, y, side, CELL]; x += side + BETWEEN; return box; }));
      cells.forEach((cell, place) => {
        if (!cell) return;
        const box = this.boxes[lane][place], tone = cell.tone ?? colour.token("--iv-line");
        const element = make("g", {},
          make("rect", { x: box[0], y, width: box[2], height: CELL, rx: 6, fill: colour.token("--iv-card"), stroke: tone, "stroke-width": cell.tone ? 1.8 : 1, "stroke-dasharray": cell.faint ? "3 3" : null }),
          make("text", { x: box[0] + box[2] / 2, y: y + 18, "text-anchor": "middle", "font-size": TYPE, "font-family": "ui-monospace, Menlo, 'Noto Sans Mono CJK SC', monospace", "font-weight": cell.bold ? 700 : 400, fill: cell.faint ? mute : cell.tone ?? ink }, shortened(cell.text, MOST_LETTERS)));
        shapes.push(element);
        parts.push({ element, words: cell.words, box });
        this.places.push({ lane, place });
      });
      y += CELL + (lane === 0 ? deep * SPAN : 0) + GAP;
    });
    spans.forEach((span, i) => this.span(span, i, levels[i], shapes, parts));
    const bottom = ([x, top, side]) => [x + side / 2, top + CELL], top = ([x, high, side]) => [x + side / 2, high];
    for (const { from, to } of links) {
      const [a, b] = [bottom(this.boxes[from[0]][from[1]]), top(this.boxes[to[0]][to[1]])], bend = (a[1] + b[1]) / 2;
      shapes.push(make("path", { d: `M${a}C${a[0]},${bend} ${b[0]},${bend} ${b}`, fill: "none", stroke: colour.token("--iv-mute"), "stroke-opacity": 0.55, "stroke-width": 1.2 }));
    }
    const width = Math.max(...this.boxes.flat().map(([x, , side]) => x + side), 200) + 2;
    this.walk.draw({ width, height: y - GAP + 2, label, shapes: [...shapes, ...names], parts });
  }

  span({ start, end, name, words, tone, faint }, index, level, shapes, parts) {
    const first = this.boxes[0][start], last = this.boxes[0][end], x = first[0], y = first[1] + CELL + 4 + level * SPAN, wide = last[0] + last[2] - x;
    const room = Math.max(1, Math.floor((wide - 6) / 7.2));
    const element = make("g", {},
      make("rect", { x, y, width: wide, height: SPAN - 5, rx: 4, fill: tone, "fill-opacity": faint ? 0 : 0.16, stroke: tone, "stroke-width": 1.6, "stroke-dasharray": faint ? "4 3" : null }),
      make("text", { x: x + wide / 2, y: y + 14, "text-anchor": "middle", "font-size": 12.5, "font-weight": 600, fill: tone }, shortened(name, room)));
    shapes.push(element);
    parts.push({ element, words, box: [x, y, wide, SPAN - 5] });
    this.places.push({ span: index });
  }

  // left and right in a row; up and down to the nearest cell of another
  step(i, key) {
    if (key === "ArrowLeft" || key === "ArrowRight") return within(i + (key === "ArrowLeft" ? -1 : 1), this.places.length);
    const { parts } = this.walk, middle = ({ box: [x, , wide] }) => x + wide / 2, down = key === "ArrowDown" ? 1 : -1;
    const others = parts.map((part, at) => ({ at, away: (part.box[1] - parts[i].box[1]) * down, aside: Math.abs(middle(part) - middle(parts[i])) })).filter(({ away }) => away > 0);
    return others.sort((a, b) => a.away - b.away || a.aside - b.aside)[0]?.at ?? i;
  }

  csv() {
    const { lanes, spans } = this.data;
    const rows = lanes.flatMap(({ name, cells }) => cells.map((cell, place) => csvLine([name, place, cell?.text ?? ""])));
    return `${[csvLine(["row", "place", "text"]), ...rows, ...spans.map(({ start, end, name }) => csvLine([name, start, String(end)]))].join("\n")}\n`;
  }

  svgText = () => this.walk.svgText();
}

// px of every column: its widest text
function widths(lanes) {
  ruler.font = fontOf(TYPE);
  const columns = Math.max(0, ...lanes.map(({ cells }) => cells.length));
  return Array.from({ length: columns }, (_, place) => Math.max(LEAST, ...lanes.map(({ cells }) => (cells[place] ? ruler.measureText(shortened(cells[place].text, MOST_LETTERS)).width + 2 * PAD : 0))));
}

// the level of every span: short ones lie close to the text, those around them below
function stack(spans) {
  const order = spans.map((_, i) => i).sort((a, b) => spans[a].end - spans[a].start - (spans[b].end - spans[b].start)), levels = [];
  for (const i of order) {
    const taken = order.filter((j) => levels[j] !== undefined && spans[j].start <= spans[i].end && spans[i].start <= spans[j].end).map((j) => levels[j]);
    levels[i] = taken.length ? Math.max(...taken) + 1 : 0;
  }
  return levels;
}
