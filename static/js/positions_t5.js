// T5: which offsets share a bucket, one- and two-sided; and what a trained model's heads learned to add for each.

import { make } from "./dom.js";
import { palette, shadeOf, tint } from "./lines.js";
import { LinesFigure, MapFigure } from "./positions_figures.js";
import { chipRow, chosen, number, Panel, range, signed } from "./positions_parts.js";
import { Origin, partWords } from "./positions_trained.js";
import { shown, state } from "./store.js";
import { say } from "./words.js";

const DASHES = [null, "7 3", "2 3", "9 3 2 3"];

export class T5Panel extends Panel {
  constructor(parent, limits) {
    super(parent);
    for (const name of ["n_buckets", "max_distance", "side"]) this.slider(name, limits[name]);
    this.sides = make("div", { class: "chips" });
    this.controls.append(this.sides);
    this.steps = new LinesFigure(this.figures, { title: say("pos.t5.steps"), file: "t5-steps", height: 330 });
    this.map = new MapFigure(this.figures, {
      title: say("pos.t5.matrix"), file: "t5-matrix", square: true, height: 330,
      describe: (query, key) => say("pos.t5.tip", { query, key, offset: signed(key - query), bucket: this.map.map.value(query, key) }),
    });
    this.bias = new LinesFigure(this.figures, { title: say("pos.t5.bias"), file: "t5-bias", wide: true, height: 320 });
    this.parts = make("div", { class: "chips" });
    this.bias.figure.tools.append(this.parts);
    const above = make("div", {});
    this.bias.figure.body.prepend(above);
    this.origin = new Origin(above, "t5");
    this.heads = make("div", { class: "chips" });
    above.append(this.heads);
  }

  questions() {
    const { n_buckets, max_distance, side } = chosen();
    return {
      t5: ["t5", { n_buckets, max_distance, side }],
      trained: ["t5-trained", { run: state.run }, shown.story.snapshots.at(-1)],
    };
  }

  follow() {
    return this.update();
  }

  draw({ t5: { arrays }, trained }) {
    const { n_buckets, max_distance, sides } = chosen(), two = sides === "two" ? 1 : 0, side = arrays.matrix.shape[1];
    this.showSliders({ n_buckets, max_distance, side });
    chipRow(this.sides, "sides", ["one", "two"], say("pos.sides_label"));
    this.drawSteps(Array.from(arrays.buckets.at(two).data), Array.from(arrays.offsets.data), two, n_buckets);
    this.drawMatrix(arrays.matrix.at(two), side, n_buckets);
    this.drawBias(trained);
  }

  drawSteps(buckets, offsets, two, n_buckets) {
    const at = (offset) => buckets[offset - offsets[0]];
    let alone = 0; // up to here, each distance back has a bucket of its own
    while (at(-alone - 1) !== at(-alone) && at(-alone - 2) !== at(-alone - 1)) alone += 1;
    let last = offsets[0]; // from here back, all share one
    while (at(last + 1) === at(last)) last += 1;
    this.steps.show({
      x: offsets, step: true, range: [0, n_buckets], xName: say("pos.offset_key"), yName: say("pos.t5.bucket"), formatX: signed, format: String,
      series: [{ name: say("pos.t5.bucket"), y: buckets, unnamed: true, ...palette()[0], width: 2.5 }],
      caption: say(two ? "pos.t5.steps_two" : "pos.t5.steps_one", {
        alone, last: -last, far: buckets[0], ahead: buckets.at(-1), used: new Set(buckets).size, offsets: offsets.length,
      }),
    });
  }

  drawMatrix(matrix, side, n_buckets) {
    const names = range(side).map(String);
    this.map.show({
      values: matrix, rows: names, columns: names, kind: "weight", limit: n_buckets - 1, ends: ["0", String(n_buckets - 1)],
      names: [say("pos.query_position"), say("pos.key_position")],
      caption: say("pos.t5.matrix_caption", { side, used: new Set(matrix.data).size, buckets: n_buckets }),
    });
  }

  drawBias(trained) {
    const index = this.origin.show(trained), { parts, one_sided, offsets, steps } = trained;
    const part = parts.includes(chosen().part) ? chosen().part : parts[0];
    chipRow(this.parts, "part", parts, say("pos.part_label"), partWords, part);
    const biases = trained.arrays[`${part}.bias`], values = biases.at(index), heads = values.shape[0];
    const kept = range(offsets.length).filter((i) => !one_sided.includes(part) || offsets[i] <= 0);
    const mine = Math.min(chosen().head, heads - 1);
    chipRow(this.heads, "head", range(heads), say("pos.head_label"), (n) => say("pos.head", { n }), mine);
    const most = 1.05 * biases.data.reduce((m, v) => Math.max(m, Math.abs(v)), 0.1), best = strongest(values, heads, kept);
    this.bias.show({
      x: kept.map((i) => offsets[i]), step: true, range: [-most, most], formatX: signed, format: (v) => number(v, 4),
      xName: say("pos.offset_key"), yName: say("pos.bias"),
      series: range(heads).map((head) => ({
        name: say("pos.head", { n: head }), y: kept.map((i) => values.value(head, i)),
        ...(head === mine ? { colour: tint("--iv-accent"), width: 4 } : { colour: shadeOf(head, heads), dash: DASHES[head % DASHES.length], width: 1.6 }),
      })),
      caption: say(trained.checkpoint ? "pos.t5.bias_given" : "pos.t5.bias_caption", { step: steps[index], head: best.head, offset: signed(offsets[best.at]), value: number(best.value, 2) }),
    });
  }
}

// the offset a head favours most, against its own mean: softmax does not see what is added to all alike
function strongest(values, heads, kept) {
  let best = { value: -Infinity };
  for (let head = 0; head < heads; head++) {
    const mean = kept.reduce((sum, i) => sum + values.value(head, i), 0) / kept.length;
    for (const at of kept) {
      const value = values.value(head, at) - mean;
      if (value > best.value) best = { head, at, value };
    }
  }
  return best;
}
