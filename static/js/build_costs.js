// What the model costs against the length of its input: predicted by formula, measured on the server length by length.

import { askJson, Refusal } from "./api.js";
import { make } from "./dom.js";
import { Picture } from "./live/picture.js";
import { say } from "./words.js";

export class Costs {
  constructor(parent) {
    this.button = make("button", { type: "button", class: "small", onclick: () => this.measure() });
    this.status = make("small", { role: "status" });
    this.title = make("h3", {}, say("build.costs"));
    const pair = make("div", { class: "build-pair" });
    parent.append(make("section", { class: "build-costs" }, make("div", { class: "figure-head" }, this.title, make("div", { class: "figure-tools" }, this.status, this.button)), pair));
    this.pictures = { operations: new Picture(pair, { className: "build-flops" }), memory: new Picture(pair, { className: "build-memory" }) };
    this.running = 0;
  }

  // whose: which of two, where two are compared
  async show(plan, whose) {
    this.title.textContent = whose + say("build.costs");
    const choice = { family: plan.family, options: plan.options }, key = JSON.stringify(choice);
    if (key === this.key) return;
    Object.assign(this, { key, choice });
    this.button.disabled = true; // until it is known which lengths can be measured
    this.running++;
    const { measurable, figures } = await askJson("build/costs", choice);
    if (key !== this.key) return;
    this.measurable = measurable;
    this.button.hidden = !measurable.length;
    this.status.textContent = measurable.length ? "" : say("build.predicted_only");
    this.ready();
    this.draw(figures);
  }

  draw = (figures) => Object.entries(this.pictures).forEach(([name, picture]) => picture.show(figures[name], {}));

  ready() {
    this.button.disabled = false;
    this.button.textContent = say(this.measuring ? "build.stop" : "build.measure");
  }

  // One length after the other, each drawn as it comes; pressed again, it stops.
  async measure() {
    if (this.measuring) return void this.running++;
    const mine = ++this.running, measured = [];
    this.measuring = true;
    this.ready();
    try {
      for (const length of this.measurable) {
        this.status.textContent = say("build.measuring", { n: length });
        const { figures, ...one } = await askJson("build/measure", { ...this.choice, length, measured });
        if (mine !== this.running) break;
        measured.push(one);
        this.draw(figures);
      }
      if (this.measurable.length) this.status.textContent = "";
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.status.textContent = error.message;
    } finally {
      this.measuring = false;
      this.ready();
    }
  }
}
