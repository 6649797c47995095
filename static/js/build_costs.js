// What the model costs against the length of its input: predicted by formula, measured on the server length by length.

import { askJson, Refusal } from "./api.js";
import { make } from "./dom.js";
import { Figure } from "./figure.js";
import { Lines, palette } from "./lines.js";
import { fixed, scaled } from "./numbers.js";
import { sentences } from "./sentences.js";
import { format, say } from "./words.js";

export class Costs {
  constructor(parent) {
    this.button = make("button", { type: "button", class: "small", onclick: () => this.measure() });
    this.status = make("small", { role: "status" });
    this.title = make("h3", {}, say("build.costs"));
    this.box = make("section", { class: "build-costs" }, make("div", { class: "figure-head" }, this.title, make("div", { class: "figure-tools" }, this.status, this.button)));
    this.pair = make("div", { class: "build-pair" });
    this.box.append(this.pair);
    parent.append(this.box);
    this.compute = new Chart(this.pair, "flops", say("build.operations"));
    this.memory = new Chart(this.pair, "memory", say("build.memory"));
    this.found = new Map(); // of this configuration: length → what was measured
    this.running = 0;
  }

  // whose: which of two, where two are compared
  async show(plan, whose) {
    this.title.textContent = whose + say("build.costs");
    const choice = { family: plan.family, options: plan.options }, key = JSON.stringify(choice);
    if (key === this.key) return this.predicted && this.draw();
    Object.assign(this, { key, choice, predicted: null });
    this.button.disabled = true; // until it is known which lengths can be measured
    this.found.clear();
    this.running++;
    const predicted = await askJson("build/costs", choice);
    if (key !== this.key) return;
    this.predicted = predicted;
    this.draw();
  }

  // One length after the other, each drawn as it comes; pressed again, it stops.
  async measure() {
    if (this.measuring) {
      this.running++;
      return;
    }
    const mine = ++this.running;
    this.measuring = true;
    this.found.clear();
    try {
      for (const length of this.predicted.measurable) {
        this.status.textContent = say("build.measuring", { n: length });
        this.draw();
        const one = await askJson("build/measure", { ...this.choice, length });
        if (mine !== this.running) break;
        this.found.set(length, one);
      }
      this.status.textContent = "";
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.status.textContent = error.message;
    } finally {
      this.measuring = false;
      if (this.predicted) this.draw();
    }
  }

  draw() {
    const { lengths, flops, activations, state, formula, measurable } = this.predicted, styles = palette();
    const total = lengths.map((_, i) => Object.values(flops).reduce((sum, part) => sum + part[i], 0));
    const of = (name) => lengths.map((n) => this.found.get(n)?.[name] ?? null), some = this.found.size > 0;
    this.button.hidden = !measurable.length;
    this.button.disabled = false;
    this.button.textContent = say(this.measuring ? "build.stop" : "build.measure");
    if (!measurable.length) this.status.textContent = say("build.predicted_only");
    else if (!this.measuring && this.status.textContent === say("build.predicted_only")) this.status.textContent = "";
    const quadratic = flops.attention;
    this.compute.show(lengths, [
      { name: say("build.total_flops"), y: total, ...styles[0], width: 3 },
      quadratic ? { name: say("build.part.attention"), y: quadratic, ...styles[1] } : null,
      some ? { name: say("build.counted"), y: of("flops"), ...styles[3], dash: "1 7", dots: true } : null,
    ], [say("build.flops_caption", { n: lengths.at(-1), total: scaled(total.at(-1)), ratio: growth(total) }), this.timeWords(of("seconds"), lengths)]);
    this.memory.show(lengths, [
      { name: say("build.activations"), y: activations, ...styles[0], width: 3 },
      state[0] === null ? null : { name: say("build.state"), y: state, ...styles[1] },
      some ? { name: say("build.on_tape"), y: of("activation_bytes"), ...styles[3], dash: "1 7", dots: true } : null,
      some ? { name: say("build.saved"), y: of("saved_bytes"), ...styles[2], dots: true } : null,
    ], [say("build.memory_caption", { sum: polynomial(formula) }),
      state[0] === null ? "" : say(state[0] === state.at(-1) ? "build.state_constant" : "build.state_grows", { bytes: bytes(state.at(-1)), n: lengths.at(-1) })]);
  }

  timeWords(seconds, lengths) {
    const known = lengths.filter((_, i) => seconds[i] !== null);
    if (known.length < 2) return "";
    const [before, last] = known.slice(-2), at = (n) => seconds[lengths.indexOf(n)];
    return say("build.time_caption", { before, last, ms: fixed(1000 * at(last), 1), ratio: at(last) / at(before) });
  }
}

// Both axes double: a line of slope 1 costs as much per token however long the input.
class Chart {
  constructor(parent, kind, title) {
    this.kind = kind;
    this.figure = new Figure(parent, { title, className: `build-${kind}`, name: () => `innerview-${kind}`, keep: {
      png: () => this.lines.png(), svg: () => this.lines.svgText(), csv: () => this.csv() } });
    this.lines = new Lines(this.figure.body, { height: 270 });
  }

  show(lengths, series, said) {
    const unit = this.kind === "flops" ? scaled : bytes, caption = sentences(...said);
    this.lengths = lengths;
    this.series = series.filter(Boolean);
    const logs = this.series.map((one) => ({ ...one, y: one.y.map((value) => (value ? Math.log10(value) : null)) })), all = logs.flatMap(({ y }) => y.filter((v) => v !== null));
    this.lines.set({
      x: lengths.map(Math.log2), series: logs, whole: true, range: [Math.floor(Math.min(...all)), Math.ceil(Math.max(...all) + 0.01)], xName: say("build.tokens"), yName: "",
      format: (v) => unit(Math.round(10 ** v)), formatY: (v) => (Number.isInteger(v) ? unit(10 ** v) : ""), formatX: (v) => format(Math.round(2 ** v), ","), label: caption.replaceAll("**", ""),
    });
    this.figure.say(caption);
  }

  csv() {
    const quote = (text) => `"${text.replaceAll('"', '""')}"`;
    return [[quote(say("build.tokens")), ...this.series.map(({ name }) => quote(name))].join(","),
      ...this.lengths.map((n, i) => [n, ...this.series.map(({ y }) => y[i] ?? "")].join(","))].join("\n") + "\n";
  }
}

export class LayerTable {
  constructor(parent) {
    this.figure = new Figure(parent, { title: say("build.layers"), className: "build-layers", name: () => "innerview-layers", keep: { csv: () => this.csv() } });
    this.body = make("table", { class: "build-weights build-layer-table" });
    this.button = make("button", { type: "button", class: "small", onclick: () => this.measure() }, say("build.measure"));
    this.figure.tools.append(this.button);
    this.figure.body.append(this.body);
    this.draw(null);
  }

  async measure() {
    this.button.disabled = true;
    this.button.textContent = say("build.measuring_layers");
    try {
      this.draw(await askJson("build/layers", {}));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.figure.say(error.message);
    } finally {
      this.button.disabled = false;
      this.button.textContent = say("build.measure");
    }
  }

  draw(found) {
    const pair = ([short, long], show = (value) => format(value, ",")) => `${show(short)} → ${show(long)}`;
    const heads = ["layer", "cost", "steps", "path", "parallel", ...(found ? ["flops", "time", "chain", "hops"] : [])];
    this.rows = STATED.map(([name, cost, steps, path]) => {
      const one = found?.find((layer) => layer.name === name), stated = [say(`build.layer.${name}`), cost, steps, path, say(steps === "1" ? "build.yes" : "build.no")];
      return one ? [...stated, `× ${fixed(one.flops[1] / one.flops[0], 2)}`, `× ${fixed(one.seconds[1] / one.seconds[0], 2)}`, pair(one.chain), pair(one.hops)] : stated;
    });
    this.heads = heads.map((head) => say(`build.column.${head}`));
    this.body.replaceChildren(make("tr", {}, ...this.heads.map((text) => make("th", {}, text))), ...this.rows.map((cells) => make("tr", {}, ...cells.map((text) => make("td", {}, text)))));
    const rnn = found?.find(({ name }) => name === "rnn"), attention = found?.find(({ name }) => name === "attention");
    this.figure.say(found ? say("build.layers_measured", { chain: rnn.chain[1] / rnn.chain[0], own: attention.chain[0], flops: attention.flops[1] / attention.flops[0] }) : say("build.layers_stated"));
  }

  csv() {
    const quote = (text) => `"${text.replaceAll('"', '""')}"`;
    return [this.heads, ...this.rows].map((cells) => cells.map(quote).join(",")).join("\n") + "\n";
  }
}

const STATED = [["rnn", "n · d²", "n", "n"], ["cnn", "k · n · d²", "1", "n / ⌊k/2⌋"], ["attention", "n² · d", "1", "1"]];
const growth = (values) => (values.length > 1 ? values.at(-1) / values.at(-2) : 1);
const bytes = (value) => scaled(value, "B");

// "768 · n + **66** · n²": only the terms that are there
function polynomial({ a, b, c }) {
  const terms = [[a, (size) => size], [b, (size) => `${size} · n`], [c, (size) => `**${size}** · n²`]].filter(([size]) => size);
  return terms.map(([size, term], i) => `${size < 0 ? (i ? " − " : "−") : i ? " + " : ""}${term(format(Math.abs(size), ","))}`).join("") || "0";
}
