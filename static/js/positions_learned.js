// A learned table before training and at a moment of it; how alike its positions are; how far each has moved.

import { make } from "./dom.js";
import { palette } from "./lines.js";
import { LinesFigure, MapFigure } from "./positions_figures.js";
import { chipRow, chosen, number, Panel, range } from "./positions_parts.js";
import { Origin, partWords } from "./positions_trained.js";
import { shown, state } from "./store.js";
import { say } from "./words.js";

const SHAPES = { table: { height: 300 }, cosines: { square: true, height: 320 } };

export class LearnedPanel extends Panel {
  constructor(parent) {
    super(parent);
    this.origin = new Origin(this.controls, "learned");
    this.parts = make("div", { class: "chips" });
    this.view = make("div", { class: "chips" });
    this.controls.append(this.parts, this.view);
    this.maps = {};
    for (const what of ["table", "cosines"]) this.maps[what] = ["before", "now"].map((when) => this.addMap(what, when));
    this.moved = new LinesFigure(this.figures, { title: say("pos.learned.moved"), file: "learned-moved", wide: true, height: 240 });
  }

  addMap(what, when) {
    const title = say(`pos.learned.${what}_${when}`, { step: "" });
    const one = new MapFigure(this.figures, {
      title, file: `learned-${what}-${when}`, ...SHAPES[what],
      describe: (row, column) => say(`pos.learned.${what}_tip`, { row, column, value: number(one.map.value(row, column), 4) }),
    });
    return one;
  }

  questions() {
    return { learned: ["learned", { run: state.run }, shown.story.snapshots.at(-1)] };
  }

  follow() {
    return this.update();
  }

  draw({ learned }) {
    const index = this.origin.show(learned), { steps, parts, arrays } = learned, given = Boolean(learned.checkpoint);
    const part = parts.includes(chosen().part) ? chosen().part : parts[0];
    chipRow(this.parts, "part", parts, say("pos.part_label"), partWords, part);
    for (const one of [this.maps.table[0], this.maps.cosines[0], this.moved]) one.figure.element.hidden = given;
    this.view.hidden = given;
    if (given) return this.drawGiven(arrays[`${part}.table`].at(0), arrays[`${part}.cosines`].at(0), learned.checkpoint.positions);
    chipRow(this.view, "view", ["whole", "added"], say("pos.learned.view"));
    const tables = arrays[`${part}.table`], [, length, width] = tables.shape, seen = Math.min(learned.trained, length);
    [0, index].forEach((at, k) => {
      const kind = k && chosen().view === "added" ? "added_" : "", when = k ? (kind ? "added" : "now") : "before";
      const table = arrays[`${part}.${kind}table`], cosines = arrays[`${part}.${kind}cosines`].at(at), step = steps[at];
      const moved = say("pos.learned.table_moved_caption", { step, moved: movedShare(tables, at, seen) });
      this.paint("table", k, when, step, table.at(at), largest(table), k ? moved : say("pos.learned.table_caption", { step, length, width }));
      this.paint("cosines", k, when, step, cosines, 1, say("pos.learned.cosines_caption", { step, last: seen - 1, ...alike(cosines, seen) }));
    });
    this.drawMoved(arrays[`${part}.moved`], index, length, seen, steps);
  }

  // of a checkpoint: the table as it is; a few numbers far above the others must not make those invisible
  drawGiven(table, cosines, positions) {
    const [length, width] = table.shape, limit = Math.min(largest(table), 4 * Math.sqrt(mean(Array.from(table.data, (v) => v * v))));
    const beyond = table.data.reduce((count, v) => count + (Math.abs(v) > limit), 0);
    const said = say("checkpoint.table_caption", { length, positions, width, limit, beyond, most: largest(table) });
    this.paint("table", 1, "given", 0, table, limit, said);
    this.paint("cosines", 1, "given", 0, cosines, 1, say("checkpoint.cosines_caption", { last: length - 1, ...alike(cosines, length) }));
  }

  paint(what, k, when, step, values, limit, caption) {
    const one = this.maps[what][k], [rows, columns] = values.shape.map((n) => range(n).map(String));
    one.figure.title.textContent = say(`pos.learned.${what}_${when}`, { step });
    one.show({
      values, rows, columns, kind: "signed", limit, caption, ends: [number(-limit, 2), `+${number(limit, 2)}`],
      names: [say("pos.position"), say(what === "table" ? "pos.dimension" : "pos.position")],
    });
  }

  drawMoved(moved, index, length, seen, steps) {
    const values = range(length).map((position) => moved.value(index, position));
    const facts = { step: steps[index], last: seen - 1, inside: mean(values.slice(0, seen)), from: seen, to: length - 1 };
    this.moved.show({
      x: range(length), range: [0, 1.05 * Math.max(0.1, largest(moved))], format: (v) => number(v, 4),
      xName: say("pos.position"), yName: say("pos.learned.distance"), shade: { from: 0, to: seen - 1, text: say("pos.learned.seen") },
      series: [{ name: say("pos.learned.distance"), y: values, unnamed: true, ...palette()[0], width: 3, dots: true }],
      caption: seen < length
        ? say("pos.learned.moved_caption", { ...facts, outside: mean(values.slice(seen)) })
        : say("pos.learned.moved_all", facts),
    });
  }
}

const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
const largest = (tensor) => tensor.data.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-6);

// how far the rows seen in training have moved, in parts of the length they started with
function movedShare(tables, at, rows) {
  const start = tables.at(0).data, now = tables.at(at).data;
  let moved = 0, whole = 0;
  for (let i = 0; i < rows * tables.shape[2]; i++) {
    moved += (now[i] - start[i]) ** 2;
    whole += start[i] ** 2;
  }
  return Math.sqrt(moved / whole);
}

// mean cosine of neighbours, and of all other pairs, among the first n positions
function alike(cosines, n) {
  const near = [], far = [];
  for (let i = 0; i < n; i++) for (let j = 0; j < i; j++) (i - j === 1 ? near : far).push(cosines.value(i, j));
  return { near: mean(near), far: mean(far) };
}
