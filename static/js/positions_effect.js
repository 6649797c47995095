// The effect: the same model trained with each scheme, accuracy against length, within and beyond training.

import { palette } from "./lines.js";
import { LinesFigure } from "./positions_figures.js";
import { chosen } from "./positions_parts.js";
import { sentences } from "./sentences.js";
import { format, say } from "./words.js";

const LEARNED = 0.95; // mean accuracy within the lengths of training from which a scheme counts as learned
const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
const opening = (words) => words[0].toUpperCase() + words.slice(1); // of a sentence
const name = ({ scheme }) => say(`pos.scheme.${scheme}`);

export class Effect {
  constructor(parent, comparison) {
    this.comparison = comparison;
    this.chart = new LinesFigure(parent, { title: say("pos.effect.title"), file: "positions-effect", height: 340 });
    const { lengths, trained_on: [, high] } = comparison;
    this.schemes = comparison.schemes.map(({ accuracy, ...facts }) => {
      const y = lengths.map((_, i) => mean(accuracy.map((seed) => seed[i])));
      const inside = mean(y.filter((_, i) => lengths[i] <= high)), ends = accuracy.map((seed) => seed.at(-1));
      return { ...facts, y, inside, beyond: y.at(-1), low: Math.min(...ends), high: Math.max(...ends) };
    });
  }

  draw() {
    const { lengths, trained_on: [low, high], seeds, evaluated_on, family, task } = this.comparison, styles = palette();
    const mine = ({ scheme }) => scheme === chosen().scheme;
    this.chart.show({
      x: lengths, range: [0, 1.02], xName: say("pos.effect.length"), yName: say("accuracy"),
      format: (share) => format(share, ".1%"), formatY: (share) => format(share, ".0%"),
      shade: { from: low, to: high, text: say("pos.effect.trained", { low, high }) },
      series: this.schemes.map((one, i) => ({ name: name(one), y: one.y, ...styles[i], width: mine(one) ? 4 : 2, dots: mine(one) })),
      caption: sentences(
        this.best(high, lengths.at(-1)), this.failed(), this.chosen(lengths.at(-1)),
        say("pos.effect.how", {
          family: opening(say(`a_family.${family}`)), task: say(`pos.effect.task.${task}`), seeds: seeds.length, problems: evaluated_on,
        }),
      ),
    });
  }

  // of those that learned the task: who keeps most beyond training, who least
  best(high, longest) {
    const learned = this.schemes.filter(({ inside }) => inside >= LEARNED).sort((a, b) => b.beyond - a.beyond);
    if (learned.length < 2) return null;
    const [first, last] = [learned[0], learned.at(-1)];
    return say("pos.effect.beyond", {
      high, longest, best: name(first), best_share: first.beyond, worst: name(last), worst_share: last.beyond,
    });
  }

  failed() {
    const failed = this.schemes.filter(({ inside }) => inside < LEARNED);
    const schemes = failed.map((one) => say("pos.effect.scheme_share", { scheme: name(one), share: one.inside })).join(say("pos.list"));
    return failed.length ? say("pos.effect.not_learned", { schemes }) : null;
  }

  chosen(longest) {
    const mine = this.schemes.find(({ scheme }) => scheme === chosen().scheme);
    const alike = mine && format(mine.low, ".0%") === format(mine.high, ".0%");
    return mine ? say(alike ? "pos.effect.mine_all" : "pos.effect.mine", { ...mine, scheme: name(mine), longest }) : null;
  }
}
