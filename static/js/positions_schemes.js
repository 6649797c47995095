// One panel per position scheme: what it asks for, its controls, its pictures.

import { make } from "./dom.js";
import { Panel, range, Slider } from "./positions_panel.js";
import { chooseRun } from "./session.js";
import { set, shown, state } from "./store.js";
import { inLanguage, say, sayInto } from "./words.js";

const PAUSE_MS = 350; // after the last key, before the text is read
const CSV = ["csv"]; // of a table
const button = (words, onclick) => make("button", { type: "button", class: "small", onclick }, say(words));
const worded = (key) => (value) => say(`pos.${key}.${value}`);
const signed = (n) => (n > 0 ? `+${n}` : String(n).replace("-", "−"));
const lastStep = () => shown.story.snapshots.at(-1);

class Sinusoidal extends Panel {
  constructor(parent, limits) {
    super(parent);
    for (const name of ["d_model", "length", "position", "pair"]) this.slider(name, limits[name] ?? {});
    for (const [name, className] of [["table", "sin-table"], ["waves", "sin-waves"], ["dots", "sin-dots wide"]]) this.picture(name, className);
  }
  questions = () => ({ sinusoidal: ["sinusoidal", { d_model: state.d_model, length: state.length }] });
}

class Rope extends Panel {
  constructor(parent, limits) {
    super(parent);
    for (const name of ["d_head", "length", "position"]) this.slider(name, limits[name] ?? {});
    const allowed = (offset, last) => Math.max(-Math.min(state.position, last), Math.min(last - Math.min(state.position, last), offset));
    this.slider("offset", {}, { allowed, words: signed });
    const choice = make("div", { class: "positions-choice" });
    this.bar.append(choice);
    this.chips(choice, "ropeKey", "pos.rope.key", worded("key"), () => ["same", "other"]);
    choice.append(button("pos.rope.another", () => set({ ropeSeed: (state.ropeSeed + 1) % (limits.seed.high + 1) })));
    for (const name of ["dials", "scores", "matrix"]) this.picture(name, `rope-${name}`);
    this.picture("wavelengths", "rope-wavelengths", CSV);
  }
  questions = () => ({ rope: ["rope", { d_head: state.d_head, length: state.length, seed: state.ropeSeed }] });
}

const headChips = (panel, parent, heads) => panel.chips(parent, "biasHead", "pos.head_label", (n) => say("pos.head", { n }),
  (answers) => range(heads(answers)), (all) => Math.min(state.biasHead, all.length - 1));
const sideChips = (panel) => panel.chips(panel.bar, "sides", "pos.sides_label", worded("sides"), () => ["one", "two"]);
const partOf = (parts) => (parts.includes(state.positionPart) ? state.positionPart : parts[0]);
const partChips = (panel, parent, trained) => panel.chips(parent, "positionPart", "pos.part_label",
  (name) => say(`pos.part.${["cross", "decoder", "encoder"].find((part) => name.includes(part)) ?? "model"}`), (answers) => trained(answers).parts, partOf);

class Alibi extends Panel {
  constructor(parent, limits) {
    super(parent);
    for (const name of ["n_heads", "side"]) this.slider(name, limits[name]);
    headChips(this, this.bar, ({ alibi }) => alibi.heads);
    sideChips(this);
    for (const name of ["matrix", "lines"]) this.picture(name, `alibi-${name}`);
    this.picture("slopes", "alibi-slopes wide", CSV);
  }
  questions = () => ({ alibi: ["alibi", { n_heads: state.n_heads, side: state.side }] });
}

class T5 extends Panel {
  constructor(parent, limits) {
    super(parent);
    for (const name of ["n_buckets", "max_distance", "side"]) this.slider(name, limits[name]);
    sideChips(this);
    for (const name of ["steps", "matrix"]) this.picture(name, `t5-${name}`);
    const bias = this.picture("bias", "t5-bias wide"), above = this.above(bias);
    partChips(this, bias.tools, ({ trained }) => trained);
    showOrigin(this, above, "t5", ({ trained }) => trained);
    headChips(this, above, ({ trained }) => trained.heads);
  }

  questions() {
    const { n_buckets, max_distance, side, run } = state;
    return { t5: ["t5", { n_buckets, max_distance, side }], trained: ["t5-trained", { run }, lastStep()] };
  }

  drawn = ({ t5, trained }) => ({ steps: [t5, "steps"], matrix: [t5, "matrix"], bias: [trained, `${partOf(trained.parts)}.bias`] });
}

class Learned extends Panel {
  constructor(parent) {
    super(parent);
    showOrigin(this, this.bar, "learned", ({ learned }) => learned);
    partChips(this, this.bar, ({ learned }) => learned);
    this.chips(this.bar, "tableView", "pos.learned.view", worded("view"), ({ learned }) => (learned.checkpoint ? null : ["whole", "added"]));
    for (const what of ["table", "cosines"]) {
      this.picture(`${what}_before`, `learned-${what}-before`);
      this.picture(what, `learned-${what}-now`);
    }
    this.picture("moved", "learned-moved wide");
  }
  questions = () => ({ learned: ["learned", { run: state.run }, lastStep()] });
  drawn = ({ learned }) => Object.fromEntries(Object.keys(this.pictures).map((name) => [name, [learned, `${partOf(learned.parts)}.${name}`]]));
}

// Where trained positions come from: the run looked at and its moment, or a run that stands in, with a moment of its own.
function showOrigin(panel, parent, what, trained) {
  const words = make("span", {}), go = button("pos.look_at_it", () => chooseRun(trained(panel.answers).run)), key = `${what}Snapshot`;
  const box = make("div", { class: "positions-origin" }, words, go);
  parent.append(box);
  const slider = new Slider(box, key, (index) => {
    const { steps } = trained(panel.answers);
    return say("step_of", { step: steps[index], last: steps.at(-1) });
  }, "snapshot");
  panel.controls.push((answers) => {
    const { run, asked, checkpoint, title, steps } = trained(answers), last = steps.length - 1;
    const kind = asked ? (checkpoint ? "given" : "own") : run ? "stand_in" : "untrained";
    sayInto(words, say(`pos.${what}.${kind}`, { run: title && inLanguage(title) }));
    go.hidden = asked || !run;
    slider.label.hidden = asked || !last;
    if (state[key] === null) set({ [key]: last });
    slider.limit(0, last);
    slider.show(Math.min(state[key], last));
  });
}

// No positions: the same words in another order.
class None extends Panel {
  constructor(parent, limits) {
    super(parent);
    const text = make("input", { type: "text", id: "positions-text", maxlength: 400, spellcheck: "false" });
    let timer;
    text.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => set({ sentence: text.value }), PAUSE_MS);
    });
    const choice = make("div", { class: "positions-choice" });
    this.bar.append(make("label", { class: "positions-text" }, make("span", {}, say("pos.none.words")), text), choice);
    this.chips(choice, "wordOrder", "pos.none.order", worded("order"), () => ["shuffle", "reverse"]);
    choice.append(button("pos.none.again", () => set({ wordOrder: "shuffle", shuffleSeed: (state.shuffleSeed + 1) % (limits.seed.high + 1) })));
    this.chips(this.above(this.picture("map", "none-map")), "modelScheme", "pos.none.with", worded("scheme"), ({ none }) => none.schemes);
    this.picture("apart", "none-apart");
    this.controls.push(() => { if (document.activeElement !== text) text.value = state.sentence; });
  }
  questions = () => ({ none: ["none", { text: state.sentence, order: state.wordOrder, seed: state.shuffleSeed }] });
}

export const SCHEMES = { sinusoidal: Sinusoidal, learned: Learned, rope: Rope, alibi: Alibi, t5: T5, none: None };
