// ALiBi: one slope per head; what each head takes off its scores by distance, causal or two-sided.

import { make } from "./dom.js";
import { shadeOf, tint } from "./lines.js";
import { LinesFigure, MapFigure, TableFigure } from "./positions_figures.js";
import { chipRow, chosen, number, Panel, range } from "./positions_parts.js";
import { sentences } from "./sentences.js";
import { say } from "./words.js";

export class AlibiPanel extends Panel {
  constructor(parent, limits) {
    super(parent);
    this.slider("n_heads", limits.n_heads);
    this.slider("side", limits.side);
    this.heads = make("div", { class: "chips" });
    this.sides = make("div", { class: "chips" });
    this.controls.append(this.heads, this.sides);
    this.map = new MapFigure(this.figures, {
      title: say("pos.alibi.matrix"), file: "alibi-matrix", square: true, height: 380, describe: (q, k) => this.describe(q, k),
    });
    this.lines = new LinesFigure(this.figures, { title: say("pos.alibi.lines"), file: "alibi-lines", height: 330 });
    this.table = new TableFigure(this.figures, { title: say("pos.alibi.slopes"), file: "alibi-slopes", wide: true });
  }

  questions() {
    const { n_heads, side } = chosen();
    return { alibi: ["alibi", { n_heads, side }] };
  }

  describe(query, key) {
    if (chosen().sides === "one" && key > query) return say("pos.masked", { query, key });
    const value = number(this.bias.value(this.head, query, key), 4);
    return say("pos.alibi.tip", { head: this.head, query, key, distance: Math.abs(query - key), value });
  }

  draw({ alibi: { arrays } }) {
    const [heads, side] = arrays.bias.shape;
    this.bias = arrays.bias; // (head, query, key)
    this.head = Math.min(chosen().head, heads - 1);
    this.showSliders({ n_heads: heads, side });
    chipRow(this.heads, "head", range(heads), say("pos.head_label"), (n) => say("pos.head", { n }), this.head);
    chipRow(this.sides, "sides", ["one", "two"], say("pos.sides_label"));
    this.drawMatrix(arrays, side);
    this.drawLines(heads, side, arrays.slopes.value(this.head));
    this.drawSlopes(heads, arrays.slopes);
  }

  drawMatrix({ slopes, causal }, side) {
    const { head, bias } = this, far = side - 1, slope = slopes.value(head), one = chosen().sides === "one";
    const names = range(side).map(String), limit = slope * far;
    this.map.show({
      values: bias.at(head), rows: names, columns: names, allowed: one ? causal : null, kind: "signed", limit,
      names: [say("pos.query_position"), say("pos.key_position")], ends: [number(-limit, 2), "0"], levels: [0, 127],
      caption: say(one ? "pos.alibi.matrix_causal" : "pos.alibi.matrix_two", {
        head, slope: number(slope, 5), far, bias: number(bias.value(head, far, 0), 3),
      }),
    });
  }

  drawLines(heads, side, slope) {
    const mine = (head) => head === this.head;
    this.lines.show({
      x: range(side), xName: say("pos.distance"), yName: say("pos.bias"), format: (v) => number(v, 4),
      series: range(heads).map((head) => ({
        name: say("pos.head", { n: head }), y: range(side).map((distance) => this.bias.value(head, distance, 0)),
        colour: mine(head) ? tint("--iv-accent") : shadeOf(head, heads), width: mine(head) ? 4 : 1.8,
      })),
      caption: say("pos.alibi.lines_caption", { head: this.head, half: (Math.log(2) / slope).toFixed(1) }),
    });
  }

  drawSlopes(heads, slopes) {
    const numbers = range(heads).map((head) => [head, slopes.value(head), Math.log(2) / slopes.value(head)]);
    const halves = numbers.map(([, , half]) => half), steep = Math.max(...numbers.map(([, slope]) => slope));
    this.table.show({
      columns: ["head", "slope", "half"].map((name) => say(`pos.alibi.column.${name}`)), numbers, hot: this.head,
      rows: numbers.map(([head, slope, half]) => [head, slope.toPrecision(5), half.toPrecision(3)]),
      caption: sentences(say("pos.alibi.slopes_caption", {
        heads, steep: number(steep, 4), short: Math.min(...halves).toFixed(1), long: Math.max(...halves).toFixed(1),
      }), this.between(heads)),
    });
  }

  // the formula is that of powers of two
  between(heads) {
    const power = 2 ** Math.floor(Math.log2(heads));
    return heads > power ? say("pos.alibi.between", { heads, power, last: power - 1, double: 2 * power }) : null;
  }
}
