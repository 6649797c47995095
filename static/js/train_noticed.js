// What the app noticed about the run in focus: what is wrong, and the change that would help as a button.

import { make } from "./dom.js";
import { set } from "./store.js";
import { choiceOf, hasTaskOf } from "./train_choices.js";
import { focused } from "./train_jobs.js";
import { inLanguage, say } from "./words.js";

export class Noticed {
  // begin(): train what the controls now say
  constructor(parent, begin) {
    this.begin = begin;
    this.element = make("div", { class: "train-noticed", "aria-live": "polite", hidden: true });
    parent.append(this.element);
  }

  draw() {
    const one = focused(), noticed = one?.job.noticed ?? [], facts = JSON.stringify([one?.key, noticed]);
    if (facts === this.drawn) return;
    this.drawn = facts;
    this.element.hidden = !noticed.length;
    this.element.replaceChildren(...noticed.map((what) => this.row(one.job, what)));
  }

  row(job, { what, remedy, changes, variant, kind }) {
    return make("div", { class: "noticed", "data-kind": kind }, make("p", {}, inLanguage(what)), remedy ? make("button", {
      type: "button", class: "small remedy", title: say("train.remedy_hint"), onclick: ({ currentTarget }) => {
        if (!hasTaskOf(job)) return currentTarget.replaceWith(make("p", { class: "problem", role: "alert" }, say("train.file_again")));
        set({ recipe: choiceOf(job, changes, variant ?? undefined) });
        this.begin();
      },
    }, inLanguage(remedy)) : null);
  }
}
