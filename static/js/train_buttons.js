// The run in focus: how far it is, and what can be done with it. What cannot be done now says why.

import { Refusal } from "./api.js";
import { make } from "./dom.js";
import { chooseRun } from "./session.js";
import { shown, state } from "./store.js";
import { openTab } from "./tabs.js";
import { command, focused } from "./train_jobs.js";
import { format, inLanguage, say } from "./words.js";

const RECURRENT = ["rnn", "gru", "lstm"];
const RUNS = ["running", "queued"];
const atStart = ({ index, recipe }) => index <= (recipe.origin?.step ?? 0);
const unstored = (job) => (atStart(job) && !RUNS.includes(job.status) ? "train.step_first" : "train.nothing_stored");
// what it does, the sign on it as paths of 14 × 14, and why it cannot be done now (null: it can)
const BUTTONS = {
  pause: ["M3 2h3v10H3zM8 2h3v10H8z", ({ status }) => (RUNS.includes(status) ? null : "train.not_running")],
  go: ["M3 1.5v11l9.5-5.5z", ({ status }) => (RUNS.includes(status) ? "train.runs_already" : status === "done" ? "train.at_end" : null)],
  step: ["M2 2v10l7-5zM10 2h2.4v10H10z", ({ status, index, steps }) => (index >= steps ? "train.at_end" : status === "paused" ? null : "train.pause_first")],
  stop: ["M2.5 2.5h9v9h-9z", ({ status }) => ([...RUNS, "paused"].includes(status) ? null : "train.not_running")],
  rewind: ["M1.5 2h2.4v10H1.5zM12.5 2v10L5 7z", (job) => (atStart(job) ? "train.at_start" : null)],
  fork: ["M6 13V8.4L2.3 4.2l1.6-1.4L7 6.2l3.1-3.4 1.6 1.4L8 8.4V13z", (job) => (job.forkable?.length ? null : unstored(job))],
};

export class Transport {
  constructor(parent, { onFork }) {
    this.title = make("h3", {});
    this.status = make("span", { class: "train-status", role: "status" });
    this.bar = make("i");
    this.problem = make("p", { class: "problem", role: "alert", hidden: true });
    this.buttons = Object.fromEntries(Object.entries(BUTTONS).map(([name, [sign]]) => [name, make("button", {
      type: "button", class: "small transport", "data-do": name,
      onclick: () => (this.refused(name) ? this.say(say(this.refused(name))) : name === "fork" ? onFork() : this.do(name)),
    }, make("svg", { class: "sign", viewBox: "0 0 14 14", "aria-hidden": "true" }, make("path", { d: sign })), make("span", { class: "word" }, say(`train.do.${name}`)))]));
    this.look = make("button", { type: "button", class: "small look-inside", onclick: () => this.lookInside() }, say("train.look_inside"));
    this.element = make("div", { class: "train-head" },
      make("div", { class: "train-title" }, this.title, this.status),
      make("div", { class: "train-bar", role: "progressbar", "aria-label": say("train.progress") }, this.bar),
      make("div", { class: "train-buttons", role: "toolbar", "aria-label": say("train.toolbar") }, ...Object.values(this.buttons), this.look), this.problem);
    parent.append(this.element);
  }

  refused(name) {
    return BUTTONS[name][1](focused().job);
  }

  async do(name) {
    this.problem.hidden = true;
    try {
      await command(state.trained, name);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.say(error.message);
    }
  }

  say(sentence) {
    this.problem.textContent = sentence;
    this.problem.hidden = false;
  }

  async lookInside() {
    const { job } = focused();
    if (job.stored === null) return this.say(say(unstored(job)));
    await chooseRun(job.key);
    if (!shown.problem) openTab(RECURRENT.includes(job.family) ? "gates" : "attention");
    else this.say(shown.problem);
  }

  draw() {
    const one = focused();
    this.element.hidden = !one;
    if (!one) return;
    const { job } = one;
    if (this.of !== `${job.key} ${job.status}`) this.problem.hidden = true;
    this.of = `${job.key} ${job.status}`;
    this.title.textContent = inLanguage(job.title);
    this.status.className = `train-status ${job.status}`;
    this.status.textContent = statusWords(job).join(" · ");
    const share = job.steps ? job.index / job.steps : 0;
    this.bar.style.width = `${100 * share}%`;
    this.bar.parentElement.setAttribute("aria-valuenow", Math.round(100 * share));
    for (const [name, button] of Object.entries(this.buttons)) {
      const why = this.refused(name);
      button.setAttribute("aria-disabled", String(Boolean(why)));
      button.title = say(why ?? (name === "rewind" && job.status === "done" ? "train.hint.rewind_done" : `train.hint.${name}`));
    }
    this.look.setAttribute("aria-disabled", String(job.stored === null));
    this.look.title = job.stored === null ? say(unstored(job)) : say("train.look_hint", { step: job.stored });
    if (job.problem && !job.noticed.length) this.say(inLanguage(job.problem));
  }
}

function statusWords({ status, index, steps, seconds_left: left, tokens_per_s: speed, place, accuracy, sharing }) {
  const words = [say(`train.status.${status}`), say("step_of", { step: format(index, ","), last: format(steps, ",") })];
  if (place) words.push(say("train.place", { place }));
  if (status === "running" && left !== null && left !== undefined) words.push(say(left < 90 ? "train.seconds_left" : "train.minutes_left", { s: Math.max(1, Math.round(left)), m: Math.round(left / 60) }));
  if (status === "running" && speed) words.push(say("train.speed", { n: Math.round(speed) }));
  if (sharing && RUNS.includes(status) && sharing.runs > sharing.workers) words.push(say("train.sharing", sharing));
  if (accuracy !== null && accuracy !== undefined && ["done", "stopped"].includes(status)) words.push(say("held_out_share", { share: accuracy }));
  return words;
}
