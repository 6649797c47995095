// How much of the loss's gradient reaches each step: RNN, GRU and LSTM in one picture, on a logarithmic scale.

import { askArrays, Refusal } from "./api.js";
import * as colour from "./colour.js";
import { chips, make } from "./dom.js";
import { Figure } from "./figure.js";
import { fresh, layer, layerName, pictured, question, stepKeys, time, tokens } from "./gates_data.js";
import { typeSize } from "./lines.js";
import { timesTen } from "./numbers.js";
import { plot, plotKeep } from "./plot.js";
import { sentences } from "./sentences.js";
import { set, shown, state } from "./store.js";
import { isolated } from "./token_labels.js";
import { inLanguage, say } from "./words.js";

const OF = ["input", "long", "untrained"];
const LOOKS = { rnn: ["orange", "circle"], gru: ["blue", "square"], lstm: ["ink", "diamond"], seq2seq: ["ink", "circle"] };
const COLOURS = { orange: () => colour.css(colour.scale("signed")[255]), blue: () => colour.css(colour.scale("signed")[0]), ink: () => colour.token("--iv-ink") };
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"], NAME = 19; // px of a name's line
const MOST_ANSWERS = 100, NARROW = 480, LETTERS = 8; // px; of a token below its place

export class Gradient {
  constructor(parent) {
    this.box = make("div", { class: "gates-plot", role: "img", tabindex: 0, onkeydown: (event) => this.of === "input" && stepKeys(event) });
    this.figure = new Figure(parent, { title: say("gates.view.gradient"), about: () => (this.of === "input" ? pictured() : say(`gates.gradient_help.${this.of}`)), name: () => `gradient-${this.of}-step${shown.story.snapshots[state.snapshot]}`, keep: {
      ...plotKeep(this.box), csv: () => this.csv() } });
    this.switch = make("div", { class: "chips" });
    this.figure.tools.append(this.switch);
    this.figure.body.append(this.box);
    this.answers = new Map(); // question → payload, or the promise of one
  }

  get of() {
    return OF.includes(state.gradientOf) ? state.gradientOf : "input";
  }

  draw() {
    this.offer();
    const questions = this.questions(), lines = questions.flatMap((asked) => this.linesOf(asked));
    const waiting = questions.find((asked) => !this.answer(asked));
    if (!lines.length) return this.figure.say(waiting ? say("gates.computing", { name: titleOf(waiting.run) }) : "");
    const sentence = this.sentence(lines);
    this.box.setAttribute("aria-label", sentence.replaceAll("**", ""));
    this.lines = lines;
    plot(this.box, () => lines.map((line) => this.trace(line)), () => this.layout(lines), {
      onClick: ({ pointIndex }) => this.of === "input" && set({ step: pointIndex }),
    });
    this.figure.say(sentences(sentence, waiting && say("gates.computing", { name: titleOf(waiting.run) })));
  }

  offer() {
    if (this.offered === this.of) return;
    this.offered = this.of;
    const options = OF.map((value) => ({ value, text: say(`gates.gradient_of.${value}`), title: say(`gates.gradient_help.${value}`) }));
    chips(this.switch, options, this.of, (gradientOf) => set({ gradientOf }), say("gates.view.gradient"));
  }

  // no room for names beside the lines
  get narrow() {
    return this.box.clientWidth < NARROW;
  }

  // one per run, so that each line is drawn as soon as it has come
  questions() {
    const { peers, trio } = shown.workings;
    if (this.of === "untrained") return trio.slice(0, 1).map((run) => ({ run, of: "untrained" }));
    if (this.of === "long") return trio.map((run) => ({ run, of: "long" }));
    return peers.map((run) => ({ ...question(run), of: "input" }));
  }

  answer(asked) {
    const key = JSON.stringify(asked), known = this.answers.get(key);
    if (known) return known.arrays ? known : null;
    if (this.answers.size > MOST_ANSWERS) this.answers.clear();
    this.answers.set(key, askArrays("gates/gradients", asked).then((found) => {
      this.answers.set(key, found);
      if (fresh() && state.gatesView === "gradient") this.draw();
    }, (error) => {
      this.answers.delete(key);
      if (!(error instanceof Refusal)) throw error;
      this.figure.say(error.message);
    }));
    return null;
  }

  // log10 of the gradient at this moment of the training, line by line
  linesOf(asked) {
    const found = this.answer(asked);
    if (!found) return [];
    if (this.of === "untrained") return found.lines.map((name, i) => line(lineName(name), name.split(" ")[0], found, name, 0, i));
    const family = shown.runs.find(({ name }) => name === asked.run)?.family ?? shown.story.family, moment = nearest(found.steps);
    const stack = `${layer().name.split("layers.")[0]}layers.`; // encoder and decoder read other tokens
    const mine = found.lines.filter((name) => this.of !== "input" || name.startsWith(stack));
    return mine.map((name, i) => line(mine.length > 1 ? layerName(name) : say(`family.${family}`), family, found, name, moment, i));
  }

  trace({ name, family, logs, shares, place }) {
    const [tint, symbol] = LOOKS[family], dash = DASHES[place % DASHES.length], fill = COLOURS[tint]();
    return {
      name, x: logs.map((_, t) => t), y: shares.map((log) => 10 ** log), customdata: logs.map((log) => 10 ** log), mode: logs.length > 30 ? "lines" : "lines+markers", // marks close together would hide the dashes
      line: { color: fill, width: 2.5, dash }, marker: { symbol, size: 8, color: fill },
      hovertemplate: `${name} · %{x}<br>${say("gates.share_of_last")}: %{y:.3e}<br>|∂L/∂h|: %{customdata:.3e}<extra></extra>`,
    };
  }

  layout(lines) {
    const length = lines[0].logs.length, own = this.of === "input", every = Math.max(1, Math.ceil(length / 24));
    const ticks = Array.from({ length }, (_, t) => t).filter((t) => t % every === 0), accent = colour.token("--iv-accent");
    const range = [Math.min(...lines.map(({ lowest }) => lowest)) - 0.5, Math.max(...lines.map(({ highest }) => highest)) + 0.5];
    const names = this.narrow ? null : this.names(lines, range);
    return {
      margin: { l: 108 }, annotations: names ?? [], showlegend: !names,
      xaxis: {
        tickvals: ticks, ticktext: ticks.map((t) => (own ? escaped(isolated(tokens()[t], LETTERS)) : String(t))), zeroline: false, range: [-0.5, length - 0.5], automargin: true,
        title: { text: say(own ? "gates.tokens_read" : "gates.position_read"), standoff: 8 },
      },
      yaxis: { type: "log", exponentformat: "power", showexponent: "all", dtick: Math.ceil((range[1] - range[0]) / 9), title: { text: say("gates.gradient_axis") }, range },
      shapes: own ? [{ type: "rect", x0: time() - 0.5, x1: time() + 0.5, y0: 0, y1: 1, yref: "paper", fillcolor: accent, opacity: 0.1, line: { width: 0 } }] : [],
    };
  }

  // each line's name above it, a third of the way in; null where two would meet
  names(lines, range) {
    const step = (NAME * (range[1] - range[0])) / Math.max(200, this.box.clientHeight - 80), x = Math.floor(lines[0].logs.length / 3);
    const sorted = lines.map((one) => ({ ...one, at: one.shares[x] })).sort((a, b) => b.at - a.at);
    if (sorted.some(({ at }, i) => i && sorted[i - 1].at - at < step)) return null;
    return sorted.map(({ name, family, at }) => ({
      x, y: at, text: escaped(name), showarrow: false, xanchor: "right", yanchor: "bottom", yshift: 2, opacity: 0.9,
      bgcolor: colour.token("--iv-card"), font: { color: COLOURS[LOOKS[family][0]](), size: typeSize() },
    }));
  }

  sentence(lines) {
    const said = lines.map(({ name, reached }) => say("gates.gradient_part", { name, share: ratio(reached) }));
    const where = this.of === "untrained" ? say("gates.gradient_born", { length: lines[0].logs.length })
      : say(this.of === "long" ? "gates.gradient_long" : "gates.gradient_here", { step: [...new Set(lines.map(({ step }) => step))].join("/"), length: lines[0].logs.length });
    return sentences(where, `${said.join(say("gates.and"))}${say("gates.stop")}`);
  }

  // One row per line and position. The long problems are many: their positions have no token of their own.
  csv() {
    const quote = (text) => `"${String(text).replaceAll('"', '""')}"`, token = (t) => (this.of === "input" ? quote(tokens()[t]) : "");
    const rows = this.lines.flatMap(({ name, step, logs, shares }) => logs.map((log, t) => (
      [quote(name), step, t, token(t), (10 ** log).toPrecision(6), (10 ** shares[t]).toPrecision(6)].join(","))));
    return `${["name,training_step,position,token,gradient_norm,relative_to_last_read", ...rows].join("\n")}\n`;
  }
}

const titleOf = (run) => inLanguage(shown.runs.find(({ name }) => name === run)?.title ?? { en: run, zh: run });

// the same share of the training as the playhead shows, in a run that may have been longer
function nearest(steps) {
  const { snapshots } = shown.story, share = snapshots[state.snapshot] / snapshots.at(-1);
  const far = steps.map((step) => Math.abs(step / steps.at(-1) - share));
  return far.indexOf(Math.min(...far));
}

// shares: of the gradient at the step read last, as logarithms; the axis stands still over all of the training
function line(name, family, found, key, moment, place) {
  const every = found.arrays[key], length = every.shape[1], end = key.endsWith("bwd") ? 0 : length - 1;
  let lowest = 0, highest = 0;
  for (let m = 0; m < every.shape[0]; m++) for (let t = 0; t < length; t++) {
    const log = every.value(m, t) - every.value(m, end);
    lowest = Math.min(lowest, log);
    highest = Math.max(highest, log);
  }
  const logs = Array.from(every.at(moment).data), shares = logs.map((log) => log - logs[end]);
  return { name, family, step: found.steps[moment], lowest, highest, logs, shares, place, reached: shares[end ? 0 : length - 1] };
}

function lineName(key) {
  const [family, bias] = key.split(" ");
  return bias === undefined ? say(`family.${family}`) : say("gates.biased", { family: say(`family.${family}`), bias });
}

// 0.0145, 3.75 × 10⁻⁸: three digits of a number given as its logarithm
export function ratio(log) {
  if (log >= -3 && log < 2.999) return (10 ** log).toPrecision(3);
  const power = Math.floor(log), digits = (10 ** (log - power)).toFixed(2); // 9.999 would be 10.00
  const [shown, exponent] = digits === "10.00" ? ["1.00", power + 1] : [digits, power];
  return timesTen(shown, exponent).replaceAll(" ", "\u00a0");
}

const escaped = (token) => token.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
