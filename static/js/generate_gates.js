// Behind one written token of a recurrent model: all gates and states, unit by unit, at the step that chose it.

import { framed, greatest, seen, signed, spoken } from "./generate_parts.js";
import { Heatmap } from "./heatmap.js";
import { Tensor } from "./payload.js";
import { sentences } from "./sentences.js";
import { quoted } from "./token_labels.js";
import { say } from "./words.js";

const ORDER = ["forget", "reset", "input", "update", "candidate", "output", "cell", "hidden"]; // as the equations go
const GATES = ["forget", "reset", "input", "update", "output"]; // 0…1
const OPEN = 0.9, SHUT = 0.1;

export class Gates {
  constructor(parent) {
    this.figure = framed(parent, { title: say("generate.gates"), name: "gates", view: () => this.map });
    this.map = new Heatmap(this.figure.body, { height: 220, axes: () => ({ rows: say("generate.points"), columns: say("generate.units") }), describe: (row, unit) => say("generate.gates_tip", {
      what: this.rows[row], unit, value: signed(this.map.value(row, unit), 3) }) });
  }

  // rows: the points of every layer that writes; columns: units
  draw(answer, at) {
    this.figure.element.hidden = !answer.cells.length;
    if (!answer.cells.length) return;
    const parsed = answer.cells.map((name) => ({ name, layer: name.match(/layers\.(\d+)/)[1], point: name.split(".").at(-1) }));
    const rows = parsed.sort((a, b) => a.layer - b.layer || ORDER.indexOf(a.point) - ORDER.indexOf(b.point)), deep = rows.some(({ layer }) => layer !== "0");
    const data = rows.map(({ name }) => Array.from(answer.arrays[name].at(at).data)), units = data[0].length;
    this.rows = rows.map(({ layer, point }) => (deep ? `${layer} ${say(`gates.point.${point}`)}` : say(`gates.point.${point}`)));
    const limit = Math.max(1, ...data.flat().map(Math.abs)), sentence = this.words(answer, at, rows, data);
    this.map.set({ values: new Tensor(Float32Array.from(data.flat()), [rows.length, units]), rows: this.rows, columns: Array.from({ length: units }, (_, unit) => String(unit)), kind: "signed", limit, label: spoken(sentence) });
    this.figure.say(sentence);
  }

  words(answer, at, rows, data) {
    const last = rows.map(({ point }) => point).lastIndexOf("hidden"), state = data[last], unit = greatest(state.map(Math.abs));
    const gate = rows.findLastIndex(({ point }) => GATES.includes(point)), count = (test) => data[gate].filter(test).length;
    const open = gate < 0 ? "" : say("generate.gates_open", { gate: this.rows[gate], open: count((x) => x > OPEN), shut: count((x) => x < SHUT), of: state.length });
    return sentences(say("generate.gates_caption", { token: quoted(seen(answer.texts[0].tokens[at])), unit, value: signed(state[unit]) }), open);
  }
}
