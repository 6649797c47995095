// Fine-tuned against from scratch: accuracy by the number of labelled examples, from the runs that came with the app.

import { askJson } from "./api.js";
import { make } from "./dom.js";
import { Figure } from "./figure.js";
import { Lines, palette } from "./lines.js";
import { sentences } from "./sentences.js";
import { on } from "./store.js";
import { format, say, sayInto } from "./words.js";

const WAYS = ["tuned", "scratch"];
const CLEAR = 0.01; // a difference below this is none
const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
const share = (value) => format(value, ".1%");

export async function drawFineTuning(host) {
  const facts = await askJson("fine-tuning");
  const lead = make("p", { class: "fine-tuning-lead" }), section = make("section", { class: "fine-tuning" });
  host.append(section);
  const figure = new Figure(section, {
    title: say("fine_tuning.title"), name: () => "innerview-fine-tuning", className: "fine-tuning-figure",
    keep: { png: () => lines.png(), svg: () => lines.svgText(), csv: () => csv(facts) },
  });
  section.querySelector(".figure-body").before(lead);
  sayInto(lead, say("fine_tuning.lead", { first_steps: facts.first_steps, steps: facts.steps }));
  const lines = new Lines(figure.body, { height: 320 });
  const draw = () => show(figure, lines, facts);
  on(["theme"], draw);
  draw();
}

function show(figure, lines, facts) {
  const { labels, seeds } = facts, styles = palette(), caption = tell(facts);
  const means = Object.fromEntries(WAYS.map((way) => [way, labels.map((_, i) => mean(facts[way].accuracy.map((seed) => seed[i])))]));
  const range = (way, i) => { // of the seeds
    const all = facts[way].accuracy.map((seed) => seed[i]);
    return say("fine_tuning.range", { mean: means[way][i], low: Math.min(...all), high: Math.max(...all), seeds: seeds.length });
  };
  lines.set({
    x: labels.map(Math.log2), formatX: (power) => String(2 ** power), whole: true, // each step to the right: twice the labels
    range: [Math.min(...WAYS.flatMap((way) => facts[way].accuracy.flat())) - 0.04, 1.005],
    xName: say("fine_tuning.labels"), yName: say("fine_tuning.accuracy"), label: caption.replaceAll("**", ""), format: share, formatY: (value) => format(value, ".0%"),
    series: WAYS.flatMap((way, w) => [
      ...facts[way].accuracy.map((y) => ({ name: way, y, ...styles[w], width: 1, opacity: 0.45, unnamed: true, quiet: true })),
      { name: say(`fine_tuning.${way}`), y: means[way], ...styles[w], width: 3, dots: true, tell: (i) => range(way, i) },
    ]),
  });
  figure.say(caption);
}

// What is to be seen, whichever way it came out.
export function tell({ labels, seeds, tuned, scratch, evaluated_on }) {
  const at = (way, i) => mean(way.accuracy.map((seed) => seed[i])), last = labels.length - 1;
  const wins = seeds.filter((_, s) => tuned.accuracy[s][0] > scratch.accuracy[s][0]).length;
  const gain = (i) => at(tuned, i) - at(scratch, i), few = { n: labels[0], tuned: at(tuned, 0), scratch: at(scratch, 0), wins, seeds: seeds.length };
  const enough = labels.findIndex((_, i) => at(scratch, i) >= at(tuned, 0));
  return sentences(
    say(gain(0) > CLEAR ? "fine_tuning.better" : gain(0) < -CLEAR ? "fine_tuning.worse" : "fine_tuning.alike", few),
    gain(0) <= CLEAR ? null : enough < 0 ? say("fine_tuning.never", { n: labels[0], most: labels[last] }) : enough > 0 ? say("fine_tuning.enough", { n: labels[0], m: labels[enough] }) : null,
    say("fine_tuning.most", { n: labels[last], points: Math.abs(100 * gain(last)), which: say(gain(last) >= 0 ? "fine_tuning.ahead" : "fine_tuning.behind") }),
    say("fine_tuning.how", { seeds: seeds.length, sentences: evaluated_on }),
  );
}

function csv({ labels, seeds, ...ways }) {
  const rows = WAYS.flatMap((way) => seeds.flatMap((seed, s) => labels.map((n, i) => [n, way, seed, ways[way].accuracy[s][i]])));
  return [["labels", "way", "seed", "accuracy"], ...rows].map((row) => row.join(",")).join("\n") + "\n";
}
