// A tagger: a tag under every token, the scores it was chosen from as a lattice with the best path through it, and with a
// CRF the scores of every move from tag to tag.

import { chips, make } from "./dom.js";
import { counted, framed, greatest, probability, signed, spoken } from "./generate_parts.js";
import { Heatmap } from "./heatmap.js";
import { kindsOf, kindTone, Lanes } from "./lanes.js";
import { Tensor } from "./payload.js";
import { sentences } from "./sentences.js";
import { set, state } from "./store.js";
import { quoted } from "./token_labels.js";
import { inLanguage, say } from "./words.js";

export class Tags {
  constructor(parent) {
    const first = make("section", { class: "generate-row" }), pair = make("div", { class: "generate-lattice" }), left = make("div"), right = make("div");
    parent.append(first, pair);
    pair.append(left, right);
    this.figure = framed(first, { title: say("tags.title"), name: "tags", view: () => this.lanes, className: "generate-tags" });
    this.lanes = new Lanes(this.figure.body, { select: ({ place }) => { this.map.select([this.answer.path[place], place]); } });
    this.lattice = framed(left, { title: say("tags.lattice"), name: "lattice", view: () => this.map, className: "generate-scores" });
    this.chips = make("div", { class: "chips" });
    this.lattice.tools.append(this.chips);
    this.map = new Heatmap(this.lattice.body, { height: 320, axes: () => ({ rows: say("tags.tags"), columns: say("tags.tokens") }), onSelect: (cell) => this.map.select(cell), describe: (row, column) => this.describe(row, column) });
    this.table = framed(right, { title: say("tags.transitions"), name: "transitions", view: () => this.moves, className: "generate-transitions" });
    this.moves = new Heatmap(this.table.body, { height: 320, axes: () => ({ rows: say("tags.from"), columns: say("tags.to") }), describe: (row, column) => this.describeMove(row, column) });
  }

  take(answer) {
    this.answer = answer;
    this.names = answer.labels.map(inLanguage);
    this.map.selected = null;
    this.show();
  }

  show() {
    if (!this.answer) return;
    const label = this.told();
    this.drawLanes(label);
    this.drawLattice();
    this.table.element.hidden = !this.answer.crf;
    if (this.answer.crf) this.drawMoves();
    this.figure.say(label);
  }

  drawLanes(label) {
    const { tokens, path, alone, right, crf } = this.answer, { names } = this, share = (t, tag) => this.answer.arrays.shares.value(t, tag);
    const kind = (tag) => (names[tag].includes("-") ? kindTone(kindsOf(names).indexOf(names[tag].slice(2))) : null);
    const cell = (tag, t, key) => ({ text: names[tag], tone: kind(tag), bold: kind(tag) !== null, words: say(key, { tag: names[tag], token: tokens[t], share: probability(share(t, tag)) }) });
    const lanes = [
      { name: say("tags.tokens"), cells: tokens.map((text, t) => ({ text, words: say("tags.token_at", { token: text, at: t }) })) },
      { name: say(crf ? "tags.path" : "tags.alone"), cells: path.map((tag, t) => cell(tag, t, "tags.cell")) },
    ];
    if (crf) lanes.push({ name: say("tags.alone"), cells: alone.map((tag, t) => ({ ...cell(tag, t, "tags.cell_alone"), faint: tag === path[t] })) });
    if (right) lanes.push({ name: say("tags.right"), cells: right.map((tag, t) => ({ ...cell(tag, t, tag === path[t] ? "tags.cell_right" : "tags.cell_missed"), faint: tag === path[t] })) });
    this.lanes.set({ lanes, label: spoken(label) });
  }

  // the words' own scores, or how likely each tag is
  drawLattice() {
    const { answer: { tokens, path, alone, arrays, crf }, names } = this, scores = state.scoresAs === "scores";
    chips(this.chips, ["scores", "shares"].map((value) => ({ value, text: say(`tags.as_${value}`) })), state.scoresAs, (scoresAs) => set({ scoresAs }), say("tags.as"));
    const source = scores ? arrays.emissions : arrays.shares, values = new Float32Array(names.length * tokens.length);
    names.forEach((_, tag) => tokens.forEach((__, t) => { values[tag * tokens.length + t] = source.value(t, tag); }));
    const limit = scores ? Math.max(1e-6, ...values.map(Math.abs)) : 1, cells = (tags) => tags.map((tag, t) => [tag, t]);
    const sure = path.map((tag, t) => arrays.shares.value(t, tag)), least = sure.indexOf(Math.min(...sure));
    const sentence = say("tags.least_sure", { token: quoted(tokens[least]), tag: names[path[least]], share: sure[least] });
    this.map.set({ values: new Tensor(values, [names.length, tokens.length]), rows: names, columns: tokens, kind: scores ? "signed" : "weight", limit, label: spoken(sentence),
      paths: [...(crf ? [{ cells: cells(alone), tone: "--iv-mute", dash: [4, 4] }] : []), { cells: cells(path), tone: "--iv-accent" }] });
    this.lattice.say(sentences(say(crf ? "tags.lines" : "tags.line"), sentence));
  }

  drawMoves() {
    const { crf, arrays } = this.answer, rows = crf.rows.map(inLanguage), columns = crf.columns.map(inLanguage), n = rows.length - 1;
    const { transitions: values, legal } = arrays, possible = legal.data.map((one, i) => Number(i !== legal.data.length - 1 && one >= 0)), crosses = [], scores = { legal: [], illegal: [] };
    let best = [0, 0], odd = null;
    rows.forEach((_, from) => columns.forEach((__, to) => {
      if (from === n && to === n) return;
      const fine = legal.value(from, to) === 1, score = values.value(from, to);
      scores[fine ? "legal" : "illegal"].push(score);
      if (!fine) crosses.push([from, to]);
      if (fine && score > values.value(...best)) best = [from, to];
      if (!fine && (!odd || score > values.value(...odd))) odd = [from, to];
    }));
    const mean = (all) => signed(all.reduce((sum, x) => sum + x, 0) / all.length), told = ([from, to]) => ({ from: rows[from], to: columns[to], score: signed(values.value(from, to)) });
    const parts = [say("tags.best_move", told(best)), odd && say("tags.illegal", { n: crosses.length, illegal: mean(scores.illegal), legal: mean(scores.legal), ...told(odd) })];
    const sentence = sentences(...parts);
    this.moves.set({ values, rows, columns, kind: "signed", limit: Math.max(1e-6, ...values.data.map(Math.abs)), allowed: new Tensor(possible, legal.shape), crosses, label: spoken(sentence) });
    this.table.say(sentence);
  }

  describe(row, column) {
    const { tokens, arrays, path } = this.answer;
    return say(path[column] === row ? "tags.tip_path" : "tags.tip", { tag: this.names[row], token: tokens[column], score: signed(arrays.emissions.value(column, row), 3), share: probability(arrays.shares.value(column, row)) });
  }

  describeMove(row, column) {
    const { crf, arrays } = this.answer, last = crf.rows.length - 1;
    if (row === last && column === last) return say("tags.no_way");
    const words = { from: inLanguage(crf.rows[row]), to: inLanguage(crf.columns[column]), score: signed(arrays.transitions.value(row, column), 3) };
    return say(arrays.legal.value(row, column) ? "tags.move" : "tags.move_illegal", words);
  }

  told() {
    const { tokens, path, alone, right, crf, arrays } = this.answer, { names } = this;
    const wrong = right?.filter((tag, t) => tag !== path[t]).length, judged = right ? (wrong ? counted("tags.wrong", wrong, { wrong, n: path.length }) : counted("tags.all_right", path.length)) : "";
    if (!crf) return sentences(say("tags.softmax", { token: quoted(tokens[greatest(path.map((tag, t) => -arrays.shares.value(t, tag)))]) }), judged);
    const t = alone.findIndex((tag, at) => tag !== path[at]), broken = crf.broken.find((at) => alone[at] !== path[at]) ?? crf.broken[0];
    const score = say("tags.score", { score: signed(crf.path.score), emitted: signed(crf.path.emitted), moved: signed(crf.path.moved), share: probability(crf.path.share) });
    if (t < 0) return sentences(score, say("tags.same"), judged);
    const other = say("tags.differs", { token: quoted(tokens[t]), alone: names[alone[t]], path: names[path[t]], score: signed(crf.alone.score), share: probability(crf.alone.share) });
    const odd = broken === undefined ? "" : say("tags.broken", { from: broken ? names[alone[broken - 1]] : say("tags.start"), to: names[alone[broken]] });
    return sentences(score, other, odd, judged);
  }
}
