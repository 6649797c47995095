// No positions: what comes out for a word does not depend on where it stands. The same words in another order show it.

import { make } from "./dom.js";
import { tint } from "./lines.js";
import { MapFigure, TableFigure } from "./positions_figures.js";
import { chipRow, choose, chosen, number, Panel, tiny } from "./positions_parts.js";
import { sentences } from "./sentences.js";
import { say } from "./words.js";

const PAUSE_MS = 350; // after the last key, before the text is read
const SAME = 1e-4; // differences below this are rounding

export class NonePanel extends Panel {
  constructor(parent, limits) {
    super(parent);
    this.text = make("input", { type: "text", id: "positions-text", maxlength: 400, spellcheck: "false" });
    let timer;
    this.text.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => choose({ text: this.text.value }), PAUSE_MS);
    });
    this.order = make("div", { class: "chips" });
    const again = () => choose({ order: "shuffle", shuffle: (chosen().shuffle + 1) % (limits.seed.high + 1) });
    const button = make("button", { type: "button", class: "small", onclick: again }, say("pos.none.again"));
    this.controls.append(
      make("label", { class: "positions-text" }, make("span", {}, say("pos.none.words")), this.text),
      make("div", { class: "positions-choice" }, this.order, button));
    this.map = new MapFigure(this.figures, {
      title: say("pos.none.map"), file: "none-map", square: true, height: 340, describe: (i, j) => this.describe(i, j),
    });
    this.with = make("div", { class: "chips" });
    this.map.figure.body.prepend(this.with);
    this.table = new TableFigure(this.figures, { title: say("pos.none.apart"), file: "none-apart" });
  }

  questions() {
    const { text, order, shuffle } = chosen();
    return { none: ["none", { text, order, seed: shuffle }] };
  }

  describe(i, j) {
    const { rows, columns } = this.map.map.data;
    return say("pos.none.tip", { word: rows[i], i, other: columns[j], j, value: number(this.map.map.value(i, j), 5) });
  }

  draw({ none: { words, places, schemes, arrays } }) {
    if (document.activeElement !== this.text) this.text.value = chosen().text;
    chipRow(this.order, "order", ["shuffle", "reverse"], say("pos.none.order"));
    chipRow(this.with, "with", schemes, say("pos.none.with"), (scheme) => say(`pos.scheme.${scheme}`));
    const mine = schemes.indexOf(chosen().with), apart = schemes.map((_, i) => arrays.apart.value(i));
    this.map.show({
      values: arrays.cosines.at(mine), rows: words, columns: places.map((place) => words[place]), kind: "weight",
      marks: words.map((_, i) => [places.indexOf(i)]), ends: ["≤ 0", "1"], names: [say("pos.none.first"), say("pos.none.second")],
      caption: say(apart[mine] < SAME ? "pos.none.map_same" : "pos.none.map_apart", {
        scheme: say(`pos.with.${chosen().with}`), apart: tiny(apart[mine]),
      }),
    });
    this.drawTable(schemes, apart, mine);
  }

  drawTable(schemes, apart, mine) {
    const names = schemes.map((scheme) => say(`pos.scheme.${scheme}`)), most = Math.max(...apart);
    const bar = (value) => make("i", {
      class: "positions-bar", style: `width: ${((100 * value) / most).toFixed(1)}%; background: ${tint("--iv-accent")}`,
    });
    const blind = names.filter((_, i) => apart[i] < SAME).join(say("pos.and"));
    const said = [say("pos.none.apart_caption", { blind }), say("pos.none.causal", { apart: tiny(apart.at(-1)) })];
    if (chosen().order === "reverse") said.splice(1, 0, say("pos.none.mirror"));
    this.table.show({
      columns: [say("pos.none.column.scheme"), say("pos.none.column.apart"), ""], hot: mine, caption: sentences(...said),
      rows: names.map((name, i) => [name, tiny(apart[i]), bar(apart[i])]), numbers: names.map((name, i) => [name, apart[i]]),
    });
  }
}
