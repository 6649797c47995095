// One problem of the task as it is set and answered, and where whoever knows the rule would look.

import { make } from "./dom.js";
import { visibleToken } from "./train_words.js";
import { language, say } from "./words.js";

const MOST = 3; // pairs that are spelled out

export function exampleOf({ source: given, answer, alignment }) {
  const source = given.map(visibleToken), said = answer[language].map(visibleToken);
  const problem = source.map((token) => make("span", { class: "token" }, token));
  const light = (places, on) => places.forEach((i) => problem[i]?.classList.toggle("hot", on));
  const answered = said.map((token, i) => {
    const places = alignment?.[i] ?? [];
    const looks = { onpointerenter: () => light(places, true), onpointerleave: () => light(places, false), onfocus: () => light(places, true), onblur: () => light(places, false) };
    return places.length
      ? make("button", { type: "button", class: "token answer-token", title: looksAt(token, source, places), ...looks }, token)
      : make("span", { class: "token answer-token" }, token);
  });
  const where = alignment && sentence(source, said, alignment);
  return make("div", { class: "example" },
    source.length ? make("div", { class: "example-row" }, make("small", {}, say("train.problem")), make("div", { class: "tokens" }, ...problem)) : null,
    make("div", { class: "example-row" }, make("small", {}, say("train.answer")), make("div", { class: "tokens" }, ...answered)),
    where ? make("p", { class: "example-where" }, where) : null);
}

const looksAt = (token, source, places) => say("train.looks_at", { token, places: listed(source, places) });

const listed = (source, places) => {
  const some = places.length > 6 ? [...places.slice(0, 5), null, places.at(-1)] : places;
  return some.map((i) => (i === null ? "…" : `${source[i] ?? "</s>"} (${i + 1})`)).join(say("train.comma"));
};

function sentence(source, answer, alignment) {
  const all = alignment.map((places, i) => [answer[i], places]).filter(([token, places]) => token !== undefined && places.length);
  if (!all.length) return null;
  if (all.every(([, places]) => places.length === source.length) && source.length > 1) return say("train.looks_everywhere");
  const pairs = all.slice(0, MOST).map(([token, places]) => looksAt(token, source, places));
  return say(all.length > MOST ? "train.ideal_more" : "train.ideal", { pairs: pairs.join(say("train.semicolon")), more: all.length - MOST });
}
