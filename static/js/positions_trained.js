// Where trained positions come from: the run looked at and its moment, or a run that stands in, with a moment of its own.

import { make } from "./dom.js";
import { chosen, Slider } from "./positions_parts.js";
import { chooseRun } from "./session.js";
import { state } from "./store.js";
import { inLanguage, say, sayInto } from "./words.js";

export class Origin {
  constructor(parent, what) {
    this.what = what; // "learned" or "t5"
    this.words = make("span", {});
    this.go = make("button", { type: "button", class: "small" }, say("pos.look_at_it"));
    this.go.addEventListener("click", () => chooseRun(this.header.run));
    const box = make("div", { class: "positions-origin" }, this.words, this.go);
    parent.append(box);
    this.slider = new Slider(box, "snapshot", { low: 0, high: 1 });
  }

  // Says where the numbers come from; gives the index of the snapshot to be shown.
  show(header) {
    this.header = header;
    const { run, asked, steps } = header, last = steps.length - 1;
    const index = Math.min(last, asked ? state.snapshot : chosen().snapshot ?? last);
    const kind = asked ? (header.checkpoint ? "given" : "own") : run ? "stand_in" : "untrained", title = header.title && inLanguage(header.title);
    sayInto(this.words, say(`pos.${this.what}.${kind}`, { run: title }));
    this.go.hidden = asked || !run;
    this.slider.label.hidden = asked || !last;
    this.slider.limit({ low: 0, high: last });
    this.slider.show(index, say("step_of", { step: steps[index], last: steps[last] }));
    return index;
  }
}

// "decoder.cross_position" → which part of the model that is
export function partWords(name) {
  return say(`pos.part.${["cross", "decoder", "encoder"].find((part) => name.includes(part)) ?? "model"}`);
}
