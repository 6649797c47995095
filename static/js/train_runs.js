// The runs on the chart, as its legend: which is in focus, which are drawn, which are to go.

import { make } from "./dom.js";
import { set, shown, state } from "./store.js";
import { colourOf, moving, remove, setVisible } from "./train_jobs.js";
import { shortNames } from "./train_names.js";
import { inLanguage, say } from "./words.js";

export class RunList {
  constructor(parent) {
    this.element = make("ul", { class: "train-runs", "aria-label": say("train.runs") });
    parent.append(this.element);
  }

  // drawn anew only when something of it has changed: nobody's focus is lost to a step
  draw() {
    const names = shortNames(shown.jobs), facts = JSON.stringify([state.trained, names, shown.jobs.map(({ key, job, visible }) => [key, job.status, job.accuracy, visible])]);
    this.element.hidden = shown.jobs.length === 0;
    if (facts === this.drawn) return;
    this.drawn = facts;
    const held = document.activeElement?.closest(".train-runs") && [document.activeElement.closest("li")?.dataset.key, document.activeElement.className];
    this.element.replaceChildren(...shown.jobs.map((one, i) => this.row(one, shown.jobs.length > 1 ? names[i] : inLanguage(one.job.title))));
    if (held) this.element.querySelector(`[data-key="${held[0]}"] .${held[1].split(" ")[0]}`)?.focus();
  }

  row(one, name) {
    const { key, job, visible } = one, colour = `var(${colourOf(one)})`;
    const seen = make("input", { type: "checkbox", class: "run-seen", "data-number": shown.jobs.length > 1 ? one.slot + 1 : null, title: say("train.show_run"), "aria-label": say("train.show_run"), onchange: () => setVisible(key, seen.checked) });
    seen.checked = visible;
    seen.style.color = colour;
    const focus = make("button", { type: "button", class: "run-name", title: inLanguage(job.title), "aria-pressed": String(state.trained === key), onclick: () => {
      if (!one.visible) setVisible(key, true);
      set({ trained: key });
    } }, name);
    focus.style.color = colour;
    const share = job.accuracy ?? null;
    return make("li", { class: state.trained === key ? "on" : "", "data-key": key }, seen, focus,
      make("small", {}, share !== null && !moving(one) ? say("train.share", { share }) : say(`train.status.${job.status}`)),
      make("button", { type: "button", class: "run-gone", title: say(moving(one) ? "train.remove_moving" : "train.remove_run"), "aria-label": say("train.remove_run"), onclick: () => remove(key) }, "×"));
  }
}
