// The same few held-out problems at every moment of a training: what the model says, what would be right.

import { make } from "./dom.js";
import { save } from "./live/exports.js";
import { inLanguage, say, sayInto } from "./words.js";

const MOST = 40; // tokens of a problem that are written out

export class Problems {
  constructor(parent) {
    this.table = make("table", {}, make("thead", {}, make("tr", {}, ...["", say("train.problem"), say("it_says"), say("train.right")].map((text) => make("th", { scope: "col" }, text)))));
    this.body = make("tbody");
    this.table.append(this.body);
    this.caption = make("p", { class: "caption", "aria-live": "polite" });
    const keep = make("button", { type: "button", class: "small", title: say("keep", { kind: "CSV" }), onclick: () => save(`innerview-problems-${this.sight.key}.csv`, new Blob([this.csv()], { type: "text/csv" })) }, "CSV");
    this.element = make("figure", { class: "figure train-problems" }, make("div", { class: "figure-head" }, make("h3", {}, say("train.problems"))), make("div", { class: "figure-body" }, this.table), this.caption, make("div", { class: "keep" }, keep));
    parent.append(this.element);
  }

  draw(sight) {
    const before = this.sight?.key === sight?.key ? this.sight : null;
    this.sight = sight;
    this.element.hidden = !sight?.problems.length;
    if (this.element.hidden) return;
    this.body.replaceChildren(...sight.problems.map((problem, i) => row(problem, before?.problems[i])));
    const right = sight.problems.filter(({ ok }) => ok).length, all = sight.problems.length;
    sayInto(this.caption, say(right === all ? "train.all_right" : right ? "train.some_right" : "train.none_right", { right, all, step: sight.step }));
  }

  csv() {
    const quote = (text) => `"${String(text).replaceAll('"', '""')}"`;
    const rows = this.sight.problems.map(({ tokens, said, right, ok }) => [...[tokens, said.map(inLanguage), right.map(inLanguage)].map((part) => quote(part.join(" "))), ok].join(","));
    return [`problem,said,right,ok`, ...rows].join("\n") + "\n";
  }
}

function row({ tokens, said, right, hits, ok }, before) {
  const turned = before && before.ok !== ok ? "turned" : "";
  const given = said.map(inLanguage), wanted = right.map(inLanguage), long = tokens.length > MOST;
  const marks = given.map((text, i) => make("span", { class: `said ${hits[i] ? "right" : "wrong"}` }, text));
  return make("tr", { class: `${ok ? "ok" : "not"} ${turned}` },
    make("td", { class: "mark", title: say(ok ? "train.is_right" : "train.is_wrong") }, ok ? "✓" : "✗"),
    make("td", { class: "problem-text", title: long ? tokens.join(" ") : null }, (long ? [...tokens.slice(0, MOST - 1), "…"] : tokens).join(" ")),
    make("td", { class: "said-text" }, ...(marks.length ? marks : [make("small", {}, "–")])),
    make("td", { class: "right-text" }, wanted.join(" ")));
}
