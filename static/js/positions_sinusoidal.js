// Sinusoidal positions: the table, the waves it is made of, and how alike two positions are by their offset.

import { palette, shadeOf } from "./lines.js";
import { LinesFigure, MapFigure } from "./positions_figures.js";
import { byOffset, choose, chosen, number, Panel, range, signed, tiny, unevenness } from "./positions_parts.js";
import { say } from "./words.js";

const NEAR = 8; // the offset whose similarity is told

export class SinusoidalPanel extends Panel {
  constructor(parent, limits) {
    super(parent);
    this.slider("d_model", limits.d_model);
    this.slider("length", limits.length);
    this.slider("position", { low: 0, high: limits.length.default - 1 });
    this.slider("pair", { low: 0, high: limits.d_model.default / 2 - 1 });
    this.map = new MapFigure(this.figures, {
      title: say("pos.sin.table"), file: "sin-table", height: 300, describe: (position, column) => this.describe(position, column),
      onSelect: ([position, column]) => choose({ position, pair: Math.floor(column / 2) }),
    });
    this.waves = new LinesFigure(this.figures, {
      title: say("pos.sin.waves"), file: "sin-waves", onSelect: (position) => choose({ position }),
    });
    this.dots = new LinesFigure(this.figures, { title: say("pos.sin.dots"), file: "sin-dots", wide: true });
  }

  questions() {
    const { d_model, length } = chosen();
    return { sinusoidal: ["sinusoidal", { d_model, length }] };
  }

  describe(position, column) {
    const value = number(this.table.value(position, column), 4);
    return say("pos.sin.tip", { position, column, wave: column % 2 ? "cos" : "sin", value });
  }

  draw({ sinusoidal: { arrays } }) {
    this.table = arrays.table; // (position, dimension)
    const [length, width] = this.table.shape;
    const position = Math.min(chosen().position, length - 1), pair = Math.min(chosen().pair, width / 2 - 1);
    this.sliders.position.limit({ low: 0, high: length - 1 });
    this.sliders.pair.limit({ low: 0, high: width / 2 - 1 });
    this.showSliders({ d_model: width, length, position, pair });
    this.drawTable(length, width, position, pair);
    this.drawWaves(length, width, position, pair);
    this.drawDots(arrays.dots, length, position);
  }

  drawTable(length, width, position, pair) {
    this.map.map.selected = [position, 2 * pair];
    this.map.show({
      values: this.table, rows: range(length).map(String), columns: range(width).map(String), kind: "signed",
      names: [say("pos.position"), say("pos.dimension")], ends: ["−1", "+1"],
      caption: say("pos.sin.table_caption", { length, width }),
    });
  }

  drawWaves(length, width, position, pair) {
    const [first, second, third, fourth] = palette();
    const wave = (column, style, thickness) => ({
      name: say("pos.sin.wave", { wave: column % 2 ? "cos" : "sin", column }), width: thickness, ...style,
      y: range(length).map((p) => this.table.value(p, column)),
    });
    const others = [0, width - 2].filter((column) => column !== 2 * pair); // the fastest and the slowest
    const [sin, cos] = [0, 1].map((k) => this.table.value(position, 2 * pair + k));
    this.waves.show({
      x: range(length), range: [-1.05, 1.05], xName: say("pos.position"), yName: say("pos.value"), format: (v) => number(v, 4),
      series: [
        ...others.map((column, i) => wave(column, [third, fourth][i], 1.2)),
        wave(2 * pair, first, 3), wave(2 * pair + 1, second, 3),
      ],
      marks: [{ x: position, y: sin }, { x: position, y: cos }],
      caption: say("pos.sin.waves_caption", {
        pair, wavelength: 2 * Math.PI * 10000 ** ((2 * pair) / width), position,
        sin: number(sin, 4), cos: number(cos, 4), sum: sin * sin + cos * cos,
      }),
    });
  }

  drawDots(dots, length, position) {
    const offsets = range(2 * length - 1, 1 - length), near = Math.min(NEAR, length - 1);
    const places = [...new Set([0, length >> 2, length >> 1, length - 1, position])].sort((p, q) => p - q);
    this.dots.show({
      x: offsets, xName: say("pos.offset"), yName: say("pos.dot"), formatX: signed, format: (v) => number(v, 4),
      series: places.map((p, i) => ({
        name: say("pos.from", { position: p }), y: byOffset(dots, p, offsets), unnamed: true,
        colour: shadeOf(i, places.length), width: p === position ? 4 : 2,
      })),
      caption: say("pos.sin.dots_caption", {
        places: places.join(", "), worst: tiny(unevenness(dots)), here: dots.value(0, 0), near, there: dots.value(0, near),
      }),
    });
  }
}
