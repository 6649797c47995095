// What a model's heads look at, or how its gates stand, on one held-out problem while it learns (app/figures/train_inside.py).

import { askJson } from "./api.js";
import { Picture } from "./live/picture.js";
import { Tensor } from "./payload.js";

const WIDTH_STEP = 20; // px of another width that is described anew

export class Thumbnails {
  constructor(parent) {
    this.parent = parent;
    this.picture = new Picture(parent, { className: "train-thumbs" });
  }

  async draw(sight) {
    this.sight = sight;
    if (!sight || !(sight.heads.length || sight.gates.length)) return this.picture.show((this.facts = null));
    this.picture.element.hidden = false;
    const width = WIDTH_STEP * Math.floor(this.picture.element.clientWidth / WIDTH_STEP), maps = [...sight.heads, ...sight.gates];
    if (!width) return;
    const facts = JSON.stringify([sight.key, width, maps.map(({ bytes, low, high, ...map }) => map)]), arrays = arraysOf(sight);
    if (facts === this.facts) return this.figure && this.move(arrays);
    this.facts = facts;
    const spec = await askJson(`train/inside/${sight.key}`, { width });
    if (facts !== this.facts) return; // there is a newer one
    this.picture.show(spec, arraysOf(this.sight));
    this.figure = this.picture.figure;
  }

  move(arrays) {
    this.figure.arrays = arrays;
    this.figure.move(new Set(Object.keys(arrays).map((name) => `#${name}`)));
  }
}

const bytesOf = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
const scalar = (value) => new Tensor(Float64Array.of(value), []);

function arraysOf({ step, heads, gates }) {
  const arrays = { "inside.step": scalar(step) }, sharpness = [], means = [];
  for (const { name, head, rows, columns, bytes } of heads) {
    const values = Float64Array.from(bytesOf(bytes), (byte) => byte / 255);
    add(`${name} ${head}`, values, rows, columns, 1);
  }
  for (const { name, point, time, units, low, high, bytes } of gates) { // units become rows, time goes to the right
    const data = bytesOf(bytes), values = new Float64Array(data.length);
    data.forEach((byte, i) => { values[(i % units) * time + Math.floor(i / units)] = low + (byte / 255) * (high - low); });
    add(`${name} ${point}`, values, units, time, Math.max(1e-6, Math.abs(low), Math.abs(high)));
  }
  function add(id, values, rows, columns, limit) {
    arrays[`inside.${id}`] = new Tensor(values, [rows, columns]);
    arrays[`inside.${id}.limit`] = scalar(limit);
    means.push(values.reduce((sum, value) => sum + value, 0) / values.length);
    let sharp = 0;
    for (let row = 0; row < rows; row++) sharp += Math.max(...values.subarray(row * columns, (row + 1) * columns)) / rows;
    sharpness.push(sharp);
  }
  arrays["inside.means"] = new Tensor(Float64Array.from(means), [means.length]);
  arrays["inside.sharpness"] = new Tensor(Float64Array.from(sharpness), [sharpness.length]);
  arrays["inside.best"] = scalar(sharpness.indexOf(Math.max(...sharpness)));
  return arrays;
}
