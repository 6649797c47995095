// Five measures of the runs that are shown, as the server describes them (app/figures/train_charts.py); their numbers come
// from the stream.

import { askJson } from "./api.js";
import { chips } from "./dom.js";
import { Picture } from "./live/picture.js";
import { set, shown, state } from "./store.js";
import { chartArrays } from "./train_arrays.js";
import { find, moving, visible } from "./train_jobs.js";
import { shortNames } from "./train_names.js";
import { say } from "./words.js";

const WIDTH_STEP = 40, CALM = 2; // px of another width that is described anew; time left to the page, in times of drawing

export class Charts {
  constructor(parent) {
    this.picture = new Picture(parent, { className: "train-figure" });
    this.scale = this.picture.tools.appendChild(document.createElement("div"));
    this.scale.className = "chips";
    this.parent = parent;
  }

  // many steps may come before the next picture: they are drawn together, and no more often than leaves the page free
  soon() {
    if (this.waiting) return;
    this.waiting = true;
    setTimeout(() => requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    }), Math.max(0, (this.next ?? 0) - performance.now()));
  }

  draw() {
    const drawn = visible(), focus = find(state.trained), width = this.parent.clientWidth;
    if (!drawn.length || !width) return drawn.length ? undefined : this.picture.show(null);
    const names = shortNames(drawn), lead = drawn.includes(focus) ? focus : drawn[0];
    const runs = drawn.map((one, i) => ({ one, name: names[i] })).sort((a, b) => (a.one === focus) - (b.one === focus)); // the one in focus on top
    const wanted = { focus: lead.key, width: WIDTH_STEP * Math.floor(width / WIDTH_STEP), timed: drawn.some(({ history }) => history.columns.tokens_per_s.some((speed) => speed !== null)),
      runs: runs.map(({ one, name }) => ({ key: one.key, number: one.slot + 1, name, rewound: Boolean(one.history.ghost) })) };
    const facts = JSON.stringify([wanted, drawn.map(({ job }) => [job.status, job.accuracy, job.steps]), lead.moments]);
    if (facts !== this.facts) this.describe(facts, wanted);
    if (!this.figure || !this.keys.every(find)) return; // its description is on its way
    this.offerScale();
    const began = performance.now();
    this.figure.arrays = this.arrays();
    this.figure.move(new Set(Object.keys(this.figure.arrays).map((name) => `#${name}`)));
    this.next = performance.now() + CALM * (performance.now() - began);
    this.picture.caption.setAttribute("aria-live", moving(lead) ? "off" : "polite"); // not every step is read out
  }

  async describe(facts, wanted) {
    this.facts = facts;
    const spec = await askJson("train/charts", wanted);
    if (facts !== this.facts) return; // there is a newer one
    Object.assign(this, { keys: wanted.runs.map(({ key }) => key), lead: wanted.focus });
    if (!this.keys.every(find)) return;
    this.offerScale();
    this.picture.show(spec, this.arrays());
    this.figure = this.picture.figure;
    this.figure.drawn.then(() => this.soon()); // discs are set apart where their curves end
  }

  arrays() {
    return chartArrays(this.keys.map(find), find(this.lead), state.trainScale, this.figure?.plot);
  }

  offerScale() {
    if (this.offered === state.trainScale) return;
    this.offered = state.trainScale;
    chips(this.scale, ["log", "linear"].map((value) => ({ value, text: say(`train.scale.${value}`) })), state.trainScale, (trainScale) => set({ trainScale, trainStep: null }), say("train.scale"));
  }
}
