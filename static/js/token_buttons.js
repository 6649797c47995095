// Tokens in a row that choose a position (app/components/token_buttons.py). Gradio's radio has no colour for a single choice,
// its highlighted text cannot be walked with the keyboard, and both ask the server.

import { make } from "./dom.js";
import { evaluate } from "./live/expressions.js";
import { onAny, set, state } from "./store.js";
import { loadWords } from "./words.js";

export async function tokenButtons(element, props, watch) {
  await loadWords();
  const row = make("div", { class: `tokens ${props.classes}`, role: "group", onkeydown: (event) => nextButton(event)?.click() });
  element.querySelector(".view").append(row);
  const say = (words, more = {}) => evaluate(words, { arrays: {}, state: { ...state, ...more } });
  let buttons = [];
  const show = () => {
    const { tokens = [], marks = [], label, lead, tip, key, also, parents } = props.value ?? {};
    row.hidden = !tokens.length;
    if (label) row.setAttribute("aria-label", say(label));
    buttons = tokens.map((token, at) => make(key && !parents ? "button" : "span", { class: `said ${marks[at] ?? ""}`,
      ...(key && !parents && { type: "button", title: say(tip, { at }), onclick: () => set({ ...also, [key]: at }) }) }, token));
    row.replaceChildren(...(lead ? [make("small", {}, say(lead))] : []), ...buttons);
    mark();
  };
  const mark = () => {
    const { key, also = {}, shown, parents } = props.value ?? {};
    if (parents) return showPath(parents, state[key]);
    const chosen = key && Object.entries(also).every(([other, value]) => state[other] === value) ? Math.min(state[key], buttons.length - 1) : -1;
    buttons.forEach((button, at) => {
      button.hidden = shown && at >= state[shown];
      if (key) button.setAttribute("aria-pressed", String(at === chosen));
      if (key) button.tabIndex = at === Math.max(chosen, 0) ? 0 : -1;
    });
  };
  const showPath = (parents, chosen) => {
    const path = new Set();
    for (let at = chosen; at >= 0 && at < parents.length; at = parents[at]) path.add(at);
    row.hidden = !path.size;
    buttons.forEach((token, at) => { token.hidden = !path.has(at); });
  };
  onAny((changed) => {
    const { key, also = {}, shown } = props.value ?? {};
    if (changed.includes("language")) show();
    else if (changed.some((one) => one === key || one === shown || one in also)) mark();
  });
  watch("value", show);
  show();
}

// One stop of the tab key for a row of buttons; arrow keys go from one to the next.
function nextButton(event) {
  const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key], all = [...event.currentTarget.querySelectorAll("button:not([hidden])")], at = all.indexOf(event.target);
  if (!move || at < 0) return null;
  event.preventDefault();
  event.stopPropagation();
  const next = all[Math.max(0, Math.min(all.length - 1, at + move))];
  next.focus();
  return next;
}
