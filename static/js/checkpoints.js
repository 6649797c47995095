// Checkpoints in the run picker, and the card that tells what one costs before it is loaded.

import { askJson, getRuns, onWait, Refusal } from "./api.js";
import { make } from "./dom.js";
import { sentences } from "./sentences.js";
import { show, shown } from "./store.js";
import { inLanguage, say, sayInto } from "./words.js";

export const ANOTHER = "checkpoint:?"; // no run: opens the form
const POLL_MS = 250;

export const isCheckpoint = (name) => name.startsWith("checkpoint:");

// While one that had made way for others comes back, whatever was asked of it waits.
onWait((sentence) => show({ problem: sentence }));

// the options of the run picker: runs, and below them checkpoints
export function runOptions(runs) {
  const option = ({ name, title }) => make("option", { value: name }, inLanguage(title));
  return [
    ...runs.filter(({ checkpoint }) => !checkpoint).map(option),
    make("optgroup", { label: say("checkpoint.group") }, ...runs.filter(({ checkpoint }) => checkpoint).map(option),
      make("option", { value: ANOTHER }, say("checkpoint.another_one"))),
  ];
}

// Checkpoints may have come or gone; runs trained in this browser stay.
async function refresh() {
  const offered = await getRuns(), names = new Set(offered.map(({ name }) => name));
  show({ runs: [...offered, ...shown.runs.filter(({ name, own }) => own && !names.has(name))] });
}

export class Loader {
  // onReady(name): it is in memory; onLeave(): the card was closed without
  constructor(parent, { onReady, onLeave = () => {} }) {
    Object.assign(this, { onReady, onLeave, asked: 0 });
    this.element = make("div", { class: "loader", hidden: true, role: "group", "aria-label": say("checkpoint.group") });
    parent.append(this.element);
  }

  hide() {
    this.asked++;
    this.element.hidden = true;
  }

  leave() {
    this.hide();
    this.onLeave();
  }

  // a name to be typed: of a folder below the root, or of a model on the hub
  ask() {
    const mine = ++this.asked;
    const box = make("input", { type: "text", maxlength: 200, placeholder: "org/name", spellcheck: "false", autocomplete: "off", "aria-label": say("checkpoint.name") });
    const form = make("form", { onsubmit: (event) => { event.preventDefault(); if (box.value.trim()) this.offer(box.value.trim()); } },
      make("p", {}, say("checkpoint.ask")), box,
      make("div", { class: "loader-buttons" }, make("button", { type: "submit", class: "small" }, say("checkpoint.look_up")), this.leaving()));
    this.draw(mine, form);
    box.focus();
  }

  // what it costs, and a button to load it; one that is in memory already is ready at once
  async offer(name) {
    const mine = ++this.asked;
    await this.told(mine, name, async () => {
      const about = await askJson("checkpoints/about", { name });
      if (mine === this.asked) await this.arrive(mine, about);
    });
  }

  async load(about, mine) {
    await this.told(mine, about.name, async () => {
      let now = await askJson("checkpoints/load", { name: about.name });
      while (mine === this.asked && now.status === "loading") {
        this.drawProgress(mine, now);
        await new Promise((done) => setTimeout(done, POLL_MS));
        now = await askJson("checkpoints/about", { name: about.name });
      }
      if (mine === this.asked) await this.arrive(mine, now);
    });
  }

  async arrive(mine, about) {
    if (about.status === "loading") return this.load(about, mine);
    if (about.status !== "ready") return this.drawOffer(mine, about);
    this.hide();
    await refresh();
    this.onReady(about.name);
  }

  async told(mine, name, work) {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.draw(mine, make("p", { class: "problem", role: "alert" }, error.message), make("div", { class: "loader-buttons" }, this.leaving()));
    }
  }

  drawOffer(mine, about) {
    const words = { ...about, megabytes: about.bytes / 1e6, download: about.download / 1e6, budget: about.budget / 1e9 }, away = about.source === "hub";
    const facts = make("p"), load = make("button", { type: "button", class: "small load", onclick: () => this.load(about, mine) }, say(away ? "checkpoint.download" : "checkpoint.load"));
    sayInto(facts, sentences(away && say("checkpoint.from_hub", words), say("checkpoint.costs", words), !away && say(about.seconds < 1 ? "checkpoint.quick" : "checkpoint.seconds", words)));
    const from = about.source === "package" ? make("small", {}, say("checkpoint.package", { package: about.package })) : null;
    const notes = (about.notes ?? []).map((note) => make("small", {}, inLanguage(note)));
    const problem = about.problem ? make("p", { class: "problem", role: "alert" }, inLanguage(about.problem)) : null;
    this.draw(mine, make("b", { class: "loader-title" }, about.title), facts, from, ...notes, problem, make("div", { class: "loader-buttons" }, load, this.leaving()));
    load.focus();
  }

  drawProgress(mine, { name, title, done }) {
    if (this.bar?.isConnected && this.barOf === name) {
      this.bar.value = done;
      return;
    }
    this.bar = make("progress", { max: 1, value: done, "aria-label": say("checkpoint.loading", { title }) });
    this.barOf = name;
    const stop = () => askJson("checkpoints/stop", { name });
    this.draw(mine, make("p", {}, say("checkpoint.loading", { title })), this.bar,
      make("div", { class: "loader-buttons" }, make("button", { type: "button", class: "small", onclick: stop }, say("checkpoint.stop"))));
  }

  draw(mine, ...parts) {
    if (mine !== this.asked) return;
    this.element.hidden = false;
    this.element.replaceChildren(...parts.filter(Boolean));
  }

  leaving = () => make("button", { type: "button", class: "small", onclick: () => this.leave() }, say("checkpoint.leave"));
}
