// Several quantities over the same tokens, one row of bars each, like voices in a score; one cell of it is chosen.

import * as colour from "./colour.js";
import { make } from "./dom.js";
import { typeSize } from "./lines.js";
import { pngOf, svgText } from "./svg_files.js";
import { shortened } from "./token_labels.js";

const GAP = 7, TOP = 22, NAME = 86, NUMBER = 66; // px
const LETTERS = 6; // of a token above its bars
const FONT = 'ui-monospace, Menlo, "Noto Sans Mono CJK SC", monospace';

export class Score {
  // options: onSelect(name of row, column), describe(name of row, column) → text of the tip
  constructor(parent, options) {
    this.options = options;
    this.svg = make("svg", { class: "gates-score", role: "img", tabindex: 0, "font-family": FONT });
    this.tip = make("div", { class: "tip", role: "status", hidden: true });
    this.box = make("div", { class: "heatmap-box" }, this.svg, this.tip);
    parent.append(this.box);
    this.svg.addEventListener("pointermove", (event) => this.hover(this.cellAt(event)));
    this.svg.addEventListener("pointerleave", () => this.hover(null));
    this.svg.addEventListener("click", (event) => this.choose(this.cellAt(event)));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.data && this.draw()).observe(this.box);
  }

  // rows: {name, text, values, signed, limit}; `row` (a name) and `column` are chosen
  set(data) {
    this.data = data;
    this.svg.setAttribute("aria-label", data.label);
    this.draw();
  }

  draw() {
    const { rows, columns, column } = this.data, width = this.box.clientWidth;
    if (!width) return;
    const cell = (width - NAME - NUMBER) / columns.length, tall = window.innerHeight < 1000 ? 26 : 38;
    const height = TOP + rows.length * (tall + GAP);
    this.place = { cell, width, tall };
    const [ink, mute, line, accent, soft] = ["--iv-ink", "--iv-mute", "--iv-line", "--iv-accent", "--iv-soft"].map(colour.token);
    const heads = columns.map((token) => shortened(token, LETTERS)), letter = 0.62 * typeSize();
    const every = Math.max(1, Math.ceil((Math.max(...heads.map((head) => head.length)) * letter + 4) / cell));
    const text = (x, y, anchor, fill, said, size = null) => make("text", { x, y, "text-anchor": anchor, fill, "font-size": size }, said);
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", height);
    this.svg.setAttribute("font-size", typeSize());
    this.svg.replaceChildren(
      make("rect", { x: NAME + column * cell, y: 0, width: cell, height, fill: soft }),
      ...heads.map((head, i) => ((Math.abs(i - column) < every || i % every) && i !== column ? null
        : text(NAME + (i + 0.5) * cell, 14, "middle", i === column ? accent : mute, head))).filter(Boolean),
      ...rows.flatMap((row, r) => this.voice(row, TOP + r * (tall + GAP), { ink, mute, line, accent, text })),
    );
  }

  voice({ name, text: said, values, signed, limit }, top, { ink, mute, line, accent, text }) {
    const { cell, width, tall } = this.place, { row, column } = this.data, chosen = name === row;
    const room = signed ? tall / 2 : tall, zero = top + room, scale = room / limit, bound = limit === 1 ? "1" : limit.toFixed(2);
    const [low, high, gate] = [colour.scale("signed")[0], colour.scale("signed")[255], colour.scale("weight")[200]].map(colour.css);
    const bars = (some) => values.map((value, i) => { // one path for all bars of a colour: few elements move fast
      const size = Math.max(0.5, Math.abs(value) * scale), wide = Math.max(1, cell - Math.min(4, cell / 4)), x = NAME + i * cell + Math.min(2, cell / 8);
      return some(value) ? `M${x} ${value < 0 ? zero : zero - size}h${wide}v${size}h${-wide}z` : "";
    }).join("");
    return [
      make("line", { x1: NAME, x2: width - NUMBER, y1: zero + 0.5, y2: zero + 0.5, stroke: line }),
      make("path", { d: bars((value) => value >= 0), fill: signed ? high : gate }),
      make("path", { d: bars((value) => value < 0), fill: low }),
      text(NAME - 8, top + tall / 2 + 4, "end", chosen ? accent : ink, said),
      text(width - 2, top + tall / 2 + 1, "end", chosen ? accent : ink, values[column].toFixed(3).replace("-", "−")),
      text(width - 2, top + tall / 2 + 14, "end", mute, signed ? `±${bound}` : `0–${bound}`, typeSize() - 2),
    ];
  }

  cellAt(event) {
    if (!this.place) return null;
    const box = this.svg.getBoundingClientRect(), { rows, columns } = this.data;
    const row = Math.floor((event.clientY - box.top - TOP) / (this.place.tall + GAP)), column = Math.floor((event.clientX - box.left - NAME) / this.place.cell);
    return row >= 0 && row < rows.length && column < columns.length ? [row, Math.max(-1, column)] : null;
  }

  hover(cell) {
    this.tip.hidden = !cell || cell[1] < 0;
    if (this.tip.hidden) return;
    this.tip.textContent = this.options.describe(this.data.rows[cell[0]].name, cell[1]);
    const x = NAME + (cell[1] + 1) * this.place.cell + 6;
    this.tip.style.left = `${Math.max(0, Math.min(x, this.place.width - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${TOP + (cell[0] + 1) * (this.place.tall + GAP)}px`;
  }

  // a name on the left chooses its row alone
  choose(cell) {
    if (cell) this.options.onSelect(this.data.rows[cell[0]].name, cell[1] < 0 ? this.data.column : cell[1]);
  }

  key(event) {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    const { rows, columns, row, column } = this.data, within = (x, n) => Math.max(0, Math.min(n - 1, x));
    const at = rows.findIndex(({ name }) => name === row);
    this.options.onSelect(rows[within(at + move[0], rows.length)].name, within(column + move[1], columns.length));
  }

  svgText() {
    return svgText(this.svg);
  }

  png() {
    return pngOf(this.svgText());
  }
}
