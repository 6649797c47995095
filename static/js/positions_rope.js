// RoPE: a dial per pair of dimensions, turned by the position; q·k by offset, the same wherever the pair stands.

import { make } from "./dom.js";
import { palette, shadeOf } from "./lines.js";
import { Dials } from "./positions_dials.js";
import { LinesFigure, MapFigure, TableFigure } from "./positions_figures.js";
import { byOffset, chipRow, choose, chosen, number, Panel, range, signed, tiny, unevenness } from "./positions_parts.js";
import { say } from "./words.js";

export class RopePanel extends Panel {
  constructor(parent, limits) {
    super(parent);
    const last = limits.length.default - 1;
    this.slider("d_head", limits.d_head);
    this.slider("length", limits.length);
    this.slider("position", { low: 0, high: last });
    this.slider("offset", { low: -last, high: last });
    this.keys = make("div", { class: "chips" });
    const another = () => choose({ seed: (chosen().seed + 1) % (limits.seed.high + 1) });
    const button = make("button", { type: "button", class: "small", onclick: another }, say("pos.rope.another"));
    this.controls.append(make("div", { class: "positions-choice" }, this.keys, button));
    this.dials = new Dials(this.figures, { onSelect: (pair) => choose({ pair }), describe: (pair) => this.describe(pair) });
    this.scores = new LinesFigure(this.figures, {
      title: say("pos.rope.scores"), file: "rope-scores", onSelect: (offset) => choose({ offset }),
    });
    this.map = new MapFigure(this.figures, {
      title: say("pos.rope.matrix"), file: "rope-matrix", square: true, height: 320,
      describe: (m, n) => say("pos.rope.tip", { m, n, offset: signed(n - m), value: number(this.matrix.value(m, n), 5) }),
      onSelect: ([m, n]) => choose({ position: m, offset: n - m }),
    });
    this.table = new TableFigure(this.figures, { title: say("pos.rope.waves"), file: "rope-wavelengths" });
  }

  questions() {
    const { d_head, length, seed } = chosen();
    return { rope: ["rope", { d_head, length, seed }] };
  }

  describe(pair) {
    return say("pos.rope.dial_tip", { pair, position: this.position, angle: number(this.dials.turn(pair) * this.position, 4) });
  }

  draw({ rope: { arrays } }) {
    const [length, pairs] = arrays.turned.shape, key = chosen().key === "same" ? 0 : 1;
    this.matrix = arrays.scores.at(key); // (query, key)
    this.position = Math.min(chosen().position, length - 1);
    this.offset = Math.max(-this.position, Math.min(length - 1 - this.position, chosen().offset));
    const pair = Math.min(chosen().pair, pairs - 1);
    this.sliders.position.limit({ low: 0, high: length - 1 });
    this.sliders.offset.limit({ low: 1 - length, high: length - 1 });
    this.showSliders({ d_head: 2 * pairs, length, position: this.position });
    this.sliders.offset.show(this.offset, signed(this.offset));
    chipRow(this.keys, "key", ["same", "other"], say("pos.rope.key"));
    this.drawDials(arrays.turned, pair);
    this.drawScores(length, arrays.unturned.value(key));
    this.drawTable(length, pairs, pair);
  }

  drawDials(turned, pair) {
    const { position, offset } = this, theta = Math.atan2(turned.value(1, pair, 1), turned.value(1, pair, 0));
    const facts = { position, other: position + offset, offset: signed(offset), pair };
    const caption = say("pos.rope.dials_caption", { ...facts, theta: number(theta, 5), turn: number(theta * offset, 3) });
    this.dials.show({ turned, position, other: position + offset, pair, caption });
  }

  drawScores(length, unturned) {
    const { matrix, position, offset } = this, offsets = range(2 * length - 1, 1 - length);
    const places = [...new Set([0, length >> 1, length - 1, position])].sort((a, b) => a - b);
    const here = matrix.value(position, position + offset), worst = tiny(unevenness(matrix)), plain = palette()[4];
    this.scores.show({
      x: offsets, xName: say("pos.offset"), yName: "q·k", formatX: signed, format: (v) => number(v, 5),
      series: [
        ...places.map((p, i) => ({
          name: say("pos.from", { position: p }), y: byOffset(matrix, p, offsets), unnamed: true,
          colour: shadeOf(i, places.length), width: p === position ? 3 : 1.8,
        })),
        { name: say("pos.rope.unturned"), y: offsets.map(() => unturned), unnamed: true, ...plain, width: 1.4 },
      ],
      marks: [{ x: offset, y: here }],
      caption: say("pos.rope.scores_caption", { offset: signed(offset), value: number(here, 5), worst, unturned: number(unturned, 5) }),
    });
    const names = range(length).map(String), limit = matrix.data.reduce((most, v) => Math.max(most, Math.abs(v)), 1e-6);
    this.map.map.selected = [position, position + offset];
    this.map.show({
      values: matrix, rows: names, columns: names, kind: "signed", limit, ends: [number(-limit, 2), number(limit, 2)],
      names: [say("pos.query_position"), say("pos.key_position")], caption: say("pos.rope.matrix_caption", { worst }),
    });
  }

  drawTable(length, pairs, pair) {
    const numbers = range(pairs).map((i) => {
      const theta = this.dials.turn(i), wavelength = (2 * Math.PI) / theta;
      return [i, theta, wavelength, (length - 1) / wavelength];
    });
    const whole = numbers.filter(([, , , turns]) => turns >= 1).length;
    this.table.show({
      columns: ["pair", "theta", "wavelength", "turns"].map((name) => say(`pos.rope.column.${name}`)), numbers, hot: pair,
      rows: numbers.map(([i, theta, wavelength, turns]) => [
        i, theta.toPrecision(4), wavelength < 1000 ? wavelength.toPrecision(4) : Math.round(wavelength), turns.toPrecision(3),
      ]),
      caption: say("pos.rope.waves_caption", { whole, pairs, length, slowest: Math.round(numbers.at(-1)[2]) }),
    });
  }
}
