// A classifier: the shares of its classes, and how they went while the input was read.

import { Bars } from "./bars.js";
import { make } from "./dom.js";
import { counted, framed, greatest, percent, probability, spoken } from "./generate_parts.js";
import { Heatmap } from "./heatmap.js";
import { Tensor } from "./payload.js";
import { sentences } from "./sentences.js";
import { quoted } from "./token_labels.js";
import { inLanguage, say } from "./words.js";

export class Classes {
  constructor(parent) {
    const pair = make("div", { class: "generate-pair" }), left = make("div"), right = make("div");
    pair.append(left, right);
    parent.append(pair);
    this.figure = framed(left, { title: say("classes.title"), name: "classes", view: () => this.bars, csv: () => this.bars.csv(["class", "share"]), className: "generate-classes" });
    this.bars = new Bars(this.figure.body);
    this.along = framed(right, { title: say("classes.along"), name: "classes-along", view: () => this.map, className: "generate-along" });
    this.map = new Heatmap(this.along.body, { height: 300, axes: () => ({ rows: say("classes.rows"), columns: say("classes.columns") }), describe: (row, column) => counted("classes.along_tip", this.answer.lengths[column], {
      token: this.answer.tokens[this.answer.lengths[column] - 1], label: this.names[row], share: probability(this.map.value(row, column)) }) });
  }

  take(answer) {
    this.answer = answer;
    this.names = answer.labels.map(inLanguage);
    this.show();
  }

  show() {
    if (!this.answer) return;
    const { arrays, lengths, tokens, right } = this.answer, { names } = this, all = arrays.shares, last = Array.from(all.at(lengths.length - 1).data);
    const best = greatest(last);
    const told = right === null ? "" : say(right === best ? "classes.right" : "classes.wrong", { label: names[right] });
    const sentence = sentences(say("classes.says", { label: names[best], share: last[best] }), told);
    this.bars.set({ groups: [{ title: "", rows: names.map((name, i) => ({ name, values: [last[i]], text: percent(last[i]), strong: i === best, words: say("classes.bar", { label: name, share: probability(last[i]) }) })) }], label: spoken(sentence) });
    this.figure.say(sentence);
    this.drawAlong(all, lengths, tokens);
  }

  // rows: classes; columns: tokens, each as the last one that was read
  drawAlong(all, lengths, tokens) {
    const { names } = this, values = new Float32Array(names.length * lengths.length);
    names.forEach((_, c) => lengths.forEach((__, t) => { values[c * lengths.length + t] = all.value(t, c); }));
    const said = lengths.map((_, t) => greatest(Array.from(all.at(t).data))), turns = said.flatMap((one, t) => (t && one !== said[t - 1] ? [t] : [])), turn = turns.at(-1);
    const sentence = turns.length ? counted("classes.turns", turns.length, { token: quoted(tokens[lengths[turn] - 1]), at: lengths[turn], label: names[said[turn]] }) : say("classes.steady", { label: names[said[0]] });
    this.map.set({ values: new Tensor(values, [names.length, lengths.length]), rows: names, columns: lengths.map((n) => tokens[n - 1]), label: spoken(sentence),
      paths: [{ cells: said.map((one, t) => [one, t]), tone: "--iv-amber" }] });
    this.along.say(sentence);
  }
}
