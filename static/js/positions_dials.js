// RoPE's dials: for each pair of dimensions where a hand stands at a position, and where at another.

import { make } from "./dom.js";
import { Figure } from "./figure.js";
import { tint, typeSize } from "./lines.js";
import { about, sayOnce } from "./positions_figures.js";
import { range } from "./positions_parts.js";
import { pngOf, svgText } from "./svg_files.js";
import { say } from "./words.js";

const ROOM = 92, FACE = 34, NAME = 14; // px: a dial's room, its radius, its name's height

export class Dials {
  // onSelect(pair), describe(pair) → text
  constructor(parent, options) {
    this.options = options;
    this.svg = make("svg", { class: "dials", role: "img", tabindex: 0 });
    this.figure = new Figure(parent, {
      title: say("pos.rope.dials"), name: () => "rope-dials", className: "rope-dials", about,
      keep: { png: () => pngOf(svgText(this.svg)), svg: () => svgText(this.svg), csv: () => this.csv() },
    });
    this.figure.body.append(this.svg);
    this.svg.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => {
      this.width = this.figure.body.clientWidth;
      if (this.data) this.draw();
    }).observe(this.figure.body);
  }

  // turned: Tensor (position, pair, 2), the hands' ends
  show({ turned, position, other, pair, caption }) {
    this.data = { turned, position, other, pair };
    this.svg.setAttribute("aria-label", caption.replaceAll("**", ""));
    sayOnce(this.figure, caption);
    this.draw();
  }

  draw() {
    const pairs = this.data.turned.shape[1];
    if (!this.width) return;
    const columns = Math.max(1, Math.min(pairs, Math.floor(this.width / ROOM)));
    this.svg.setAttribute("width", columns * ROOM);
    this.svg.setAttribute("height", Math.ceil(pairs / columns) * (ROOM + NAME) + 4);
    this.svg.replaceChildren(...range(pairs).map((i) => {
      const across = i % columns, down = Math.floor(i / columns);
      return this.dial(i, (across + 0.5) * ROOM, down * (ROOM + NAME) + ROOM / 2);
    }));
  }

  dial(i, x, y) {
    const { position, other, pair } = this.data, on = i === pair;
    const [ink, mute, line, accent, amber, card] = ["ink", "mute", "line", "accent", "amber", "card"].map((name) => tint(`--iv-${name}`));
    const facts = { class: "dial", "data-pair": i, "data-angle": this.angle(position, i) };
    const name = make("text", { x, y: y + FACE + 17, "text-anchor": "middle", "font-size": typeSize(), fill: on ? accent : mute });
    name.append(say("pos.rope.pair", { pair: i }));
    return make("g", { ...facts, onclick: () => this.options.onSelect(i) },
      make("title", {}, this.options.describe(i)),
      make("circle", { cx: x, cy: y, r: FACE, fill: card, stroke: on ? accent : line, "stroke-width": on ? 3 : 1.5 }),
      make("line", { x1: x, y1: y, x2: x + FACE, y2: y, stroke: line }),
      this.hand(x, y, other, i, amber, "4 5"), this.hand(x, y, position, i, ink, null), name);
  }

  hand(x, y, position, pair, stroke, dash) {
    const [cos, sin] = [0, 1].map((k) => this.data.turned.value(position, pair, k));
    const [endX, endY] = [x + FACE * cos, y - FACE * sin];
    return make("g", {},
      make("line", { x1: x, y1: y, x2: endX, y2: endY, stroke, "stroke-width": 3, "stroke-dasharray": dash, "stroke-linecap": "round" }),
      make("circle", { cx: endX, cy: endY, r: 4, fill: stroke }));
  }

  // where the hand stands, in (−π, π]
  angle(position, pair) {
    return Math.atan2(this.data.turned.value(position, pair, 1), this.data.turned.value(position, pair, 0));
  }

  // radians per position: never more than 1
  turn(pair) {
    return this.angle(1, pair);
  }

  key(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    this.options.onSelect(Math.max(0, Math.min(this.data.turned.shape[1] - 1, this.data.pair + move)));
  }

  csv() {
    const { turned, position } = this.data;
    const rows = range(turned.shape[1]).map((i) => [i, this.turn(i), turned.value(position, i, 0), turned.value(position, i, 1)].join(","));
    return ["pair,theta,cos,sin", ...rows].join("\n") + "\n";
  }
}
